package explore

import "bytes"

// A batch is a run of states of one level that are expanded together, in small
// pieces of work. Both sizes are constant: what is found may not depend on who
// looks.
const (
	batchStates = 1 << 13
	chunkStates = 1 << 6
)

// A successor is a step from a state of a batch.
type successor[S any] struct {
	from        int // in the level
	label       int
	state       S
	fingerprint fingerprint
	key         [2]int // where in its piece's keys

	place  uint32 // in its part of the set
	isNew  bool
	broken int // 1 + the first StepProperty that it breaks; 0: none
}

// A piece is the successors of some states.
type chunk[S any] struct {
	successors []successor[S]
	keys       []byte
}

// level expands the states of a level, of which the first has the number first, and
// returns the next one.
func (e *exploration[S]) level(states []S, first int) (next []S) {
	for begin := 0; begin < len(states) && e.failure == nil; begin += batchStates {
		batch := states[begin:min(begin+batchStates, len(states))]
		pieces := e.expand(batch, first+begin)
		e.insert(pieces)
		known := e.result.States
		fresh := e.numberStates(pieces)
		e.visit(fresh, known)
		next = append(next, fresh...)
		if e.options.Progress != nil {
			e.options.Progress(e.result)
		}
	}
	return next
}

// expand computes the successors of a batch.
func (e *exploration[S]) expand(batch []S, first int) []chunk[S] {
	pieces := make([]chunk[S], (len(batch)+chunkStates-1)/chunkStates)
	parallel(e.workers, len(pieces), func(i int) {
		p := &pieces[i]
		begin := i * chunkStates
		for j, s := range batch[begin:min(begin+chunkStates, len(batch))] {
			e.specification.Next(s, func(label int, next S) {
				p.addSuccessor(e, next, first+begin+j, label)
				p.successors[len(p.successors)-1].broken = e.brokenStepProperty(s, label, next)
			})
		}
	})
	return pieces
}

func (p *chunk[S]) addSuccessor(e *exploration[S], s S, from, label int) {
	begin := len(p.keys)
	p.keys = e.key(p.keys, s)
	p.successors = append(p.successors, successor[S]{
		from: from, label: label, state: s,
		fingerprint: fingerprintOf(p.keys[begin:]), key: [2]int{begin, len(p.keys)},
	})
}

// key appends the key of a state, or, with symmetry, the least of its class.
func (e *exploration[S]) key(to []byte, s S) []byte {
	begin := len(to)
	to = e.specification.Key(to, s)
	if e.options.Symmetry == nil {
		return to
	}
	e.options.Symmetry(s, func(variant S) {
		end := len(to)
		to = e.specification.Key(to, variant)
		if bytes.Compare(to[end:], to[begin:end]) < 0 {
			to = append(to[:begin], to[end:]...)
		} else {
			to = to[:end]
		}
	})
	return to
}

func (e *exploration[S]) brokenStepProperty(from S, label int, to S) int {
	for i := range e.options.Steps {
		if !e.options.Steps[i].Holds(from, label, to) {
			return i + 1
		}
	}
	return 0
}

// insert finds out which successors are new. Every part of the set goes through all
// of them in order, so of several with one key it is the first that is new.
func (e *exploration[S]) insert(pieces []chunk[S]) {
	parallel(e.workers, len(e.parts), func(part int) {
		for i := range pieces {
			p := &pieces[i]
			for j := range p.successors {
				c := &p.successors[j]
				if e.part(c.fingerprint) == part {
					c.place, c.isNew = e.parts[part].add(c.fingerprint, p.keys[c.key[0]:c.key[1]])
				}
			}
		}
	})
}

func (e *exploration[S]) part(print fingerprint) int {
	return int(print[0] % uint64(len(e.parts)))
}

// number gives the new states their numbers, and notes the edges. It is the one
// thing that is done in order.
func (e *exploration[S]) numberStates(pieces []chunk[S]) (fresh []S) {
	for i := range pieces {
		for j := range pieces[i].successors {
			c := &pieces[i].successors[j]
			numbers := e.parts[e.part(c.fingerprint)].numbers
			if c.isNew {
				numbers[c.place] = uint32(e.result.States)
				e.result.States++
				e.parents = append(e.parents, uint32(c.from))
				fresh = append(fresh, c.state)
			}
			e.result.Generated++
			e.addEdge(c.from, c.label, int(numbers[c.place]))
			if c.broken > 0 && e.failure == nil {
				e.failure = &failure{e.options.Steps[c.broken-1].Name, c.from, c.label}
			}
		}
	}
	return fresh
}

// visit looks at new states, of which the first has the number first.
func (e *exploration[S]) visit(fresh []S, first int) {
	broken := make([]int, len(fresh)) // 1 + the invariant
	e.growPerState(first + len(fresh))
	parallel(e.workers, (len(fresh)+chunkStates-1)/chunkStates, func(piece int) {
		var text []byte
		for i := piece * chunkStates; i < min((piece+1)*chunkStates, len(fresh)); i++ {
			broken[i] = e.brokenInvariant(fresh[i])
			text = e.recordState(text[:0], fresh[i], first+i)
		}
	})
	for i, b := range broken {
		if b > 0 && e.failure == nil {
			e.failure = &failure{e.options.Invariants[b-1].Name, first + i, -1}
		}
	}
}

func (e *exploration[S]) brokenInvariant(s S) int {
	for i := range e.options.Invariants {
		if holds := e.options.Invariants[i].Holds; holds != nil && !holds(s) {
			return i + 1
		}
	}
	return 0
}
