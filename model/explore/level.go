package explore

import "bytes"

// A batch is a number of consecutive states of a level that are expanded together, in
// chunks. Both sizes are constant, so that no result depends on the number of workers.
const (
	batchStates = 1 << 13
	chunkStates = 1 << 6
)

// initial is the from of an initial state.
const initial = -1

// A successor is a step from a state of a batch, or an initial state.
type successor[S any] struct {
	from        int32 // the number of the state, or initial
	label       int
	state       S
	fingerprint fingerprint
	key         [2]int // its bounds in the chunk's keys

	place  uint32 // in its part of the set
	isNew  bool
	broken int // 1 + the index of the first StepProperty that it breaks; 0: none
}

// A chunk is the successors of some states.
type chunk[S any] struct {
	successors []successor[S]
	keys       []byte
}

// level expands the states of a level and returns the next level. first is the number of
// the first state.
func (e *exploration[S]) level(states []S, first int) (next []S) {
	for begin := 0; begin < len(states) && e.goesOn(); begin += batchStates {
		batch := states[begin:min(begin+batchStates, len(states))]
		chunks := e.expand(batch, first+begin)
		e.insert(chunks)
		known := e.result.States
		newStates := e.numberStates(chunks)
		e.visit(newStates, known)
		next = append(next, newStates...)
		if e.options.Progress != nil {
			e.options.Progress(e.result)
		}
		e.result.Stopped = e.options.Stopped != nil && e.options.Stopped()
	}
	return next
}

// goesOn reports whether there is a reason to expand more states.
func (e *exploration[S]) goesOn() bool { return e.failure == nil && !e.result.Stopped }

// expand computes the successors of a batch.
func (e *exploration[S]) expand(batch []S, first int) []chunk[S] {
	chunks := make([]chunk[S], (len(batch)+chunkStates-1)/chunkStates)
	parallel(e.workers, len(chunks), func(i int) {
		p := &chunks[i]
		begin := i * chunkStates
		for j, s := range batch[begin:min(begin+chunkStates, len(batch))] {
			e.specification.Next(s, func(label int, next S) {
				p.addSuccessor(e, next, int32(first+begin+j), label)
				p.successors[len(p.successors)-1].broken = e.brokenStepProperty(s, label, next)
			})
		}
	})
	return chunks
}

func (p *chunk[S]) addSuccessor(e *exploration[S], s S, from int32, label int) {
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

// insert marks the new successors. Every part of the set visits all of them in order, so
// that the first of several with the same key is new.
func (e *exploration[S]) insert(chunks []chunk[S]) {
	parallel(e.workers, len(e.parts), func(part int) {
		for i := range chunks {
			p := &chunks[i]
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

// numberStates numbers the new states and adds the edges, sequentially.
func (e *exploration[S]) numberStates(chunks []chunk[S]) (newStates []S) {
	for i := range chunks {
		for j := range chunks[i].successors {
			c := &chunks[i].successors[j]
			numbers := e.parts[e.part(c.fingerprint)].numbers
			e.result.Generated++
			if c.isNew {
				numbers[c.place] = uint32(e.result.States)
				e.result.States++
				e.parents = append(e.parents, c.from)
				newStates = append(newStates, c.state)
			}
			if c.from == initial {
				continue
			}
			e.addEdge(int(c.from), c.label, int(numbers[c.place]))
			if c.broken > 0 && e.failure == nil {
				e.failure = &failure{e.options.Steps[c.broken-1].Name, int(c.from), c.label}
			}
		}
	}
	return newStates
}

// visit checks and records new states. first is the number of the first one.
func (e *exploration[S]) visit(newStates []S, first int) {
	broken := make([]int, len(newStates)) // 1 + the index of the invariant; 0: none
	e.growPerState(first + len(newStates))
	parallel(e.workers, (len(newStates)+chunkStates-1)/chunkStates, func(chunk int) {
		var text []byte
		for i := chunk * chunkStates; i < min((chunk+1)*chunkStates, len(newStates)); i++ {
			broken[i] = e.brokenInvariant(newStates[i])
			text = e.recordState(text[:0], newStates[i], first+i)
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
