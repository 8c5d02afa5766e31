package explore

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"gaugeblock/model/digest"
)

// exploration is one run of Explore.
type exploration[S any] struct {
	specification Specification[S]
	options       Options[S]
	resources     Resources
	workers       int
	labels        []string
	decoders      []func(key []byte) S // by worker
	chunks        []chunk              // of a batch

	known    known
	numbers  *keySet // the same as known, if states have numbers there
	store    store
	first    int       // the number of the first state of the level
	last     int       // the number of the first state of the next level
	done     int       // states of the level that are expanded
	saved    time.Time // the last checkpoint
	finished bool      // all states are expanded, or a property failed

	graph   Graph // without edges unless keepsEdges
	sums    []digest.Sum
	marks   [][]mark // by LeadsTo, by state
	failure *failure // the first one
	result  Result[S]
}

// failure is a state that breaks an invariant, or a step that breaks a property.
type failure struct {
	Property string `json:"property"`
	State    int    `json:"state"`
	Step     int    `json:"step"` // in the order of Next; none for a state
}

const none = -1

// earlier is the failure with the shorter counterexample, of two of states of one level: that
// of a state before that of a step. Otherwise it is the first.
func earlier(a, b *failure) *failure {
	if a == nil || b != nil && a.Step != none && b.Step == none {
		return b
	}
	return a
}

// Explore explores all reachable states. It stops at the first property of a state or a
// step that fails.
func Explore[S any](specification Specification[S], options Options[S]) Result[S] {
	r, err := ExploreWith(specification, options, Resources{})
	if err != nil {
		panic(err) // there is no limit and no file
	}
	return r
}

func newExploration[S any](specification Specification[S], options Options[S], resources Resources) *exploration[S] {
	e := &exploration[S]{
		specification: specification, options: options, resources: resources,
		workers: options.Workers, labels: specification.Labels(),
		marks:  make([][]mark, len(options.LeadsTo)),
		chunks: make([]chunk, (batchStates+chunkStates-1)/chunkStates),
	}
	if e.workers <= 0 {
		e.workers = runtime.GOMAXPROCS(0)
	}
	for range e.workers {
		e.decoders = append(e.decoders, specification.Decoder())
	}
	if (options.Compact || resources.Dir != "") && !e.keepsEdges() {
		e.known = &compactSet{}
	} else {
		e.numbers = newKeySet()
		e.known = e.numbers
	}
	return e
}

// begin adds the initial states.
func (e *exploration[S]) begin() error {
	chunks := e.chunks[:1]
	chunks[0].clear()
	for i, s := range e.specification.Initial() {
		e.add(&chunks[0], s, 0, i, none)
	}
	e.insert(chunks)
	if err := e.commit(chunks, none); err != nil {
		return err
	}
	if err := e.advance(); err != nil {
		return err
	}
	return e.save(false)
}

// run explores level after level.
func (e *exploration[S]) run() error {
	var b batch
	for e.goesOn() {
		if err := e.checkMemory(); err != nil {
			return errors.Join(err, e.save(false))
		}
		if err := e.store.read(&b); err != nil {
			return err
		}
		if b.len() > 0 {
			if err := e.batch(&b); err != nil {
				return err
			}
			continue
		}
		if err := e.nextLevel(); err != nil {
			return err
		}
	}
	e.finished = !e.result.Stopped
	if err := e.save(e.finished); err != nil {
		return err
	}
	return e.finish()
}

// goesOn reports whether there are more states to expand, or to check: when a step has
// failed, a state of the same level may break an invariant, which is a shorter
// counterexample.
func (e *exploration[S]) goesOn() bool {
	return !e.finished && !e.result.Stopped && (e.failure == nil || e.failure.Step != none)
}

// nextLevel ends a level, and begins the next unless it is empty.
func (e *exploration[S]) nextLevel() error {
	if e.first+e.done != e.last {
		return &CheckpointError{e.resources.Dir, fmt.Sprintf("level %d has %d states, and %d were found", e.result.Depth, e.done, e.last-e.first)}
	}
	e.finished = e.failure != nil || e.result.States == e.first+e.done
	if e.finished {
		return nil
	}
	return e.advance()
}

// advance begins the next level.
func (e *exploration[S]) advance() error {
	e.first, e.last, e.done = e.first+e.done, e.result.States, 0
	e.result.Depth++
	return e.store.advance()
}

// batch expands states of the level.
func (e *exploration[S]) batch(b *batch) error {
	first := e.first + e.done
	chunks := e.expand(b, first) // without successors if a step has failed
	e.insert(chunks)
	if err := e.commit(chunks, first); err != nil {
		return err
	}
	e.done += b.len()
	if e.options.Progress != nil {
		e.options.Progress(e.result)
	}
	e.result.Stopped = e.options.Stopped != nil && e.options.Stopped()
	if time.Since(e.saved) < e.resources.Every {
		return nil
	}
	return e.save(false)
}

// insert finds the successors that are new states. Every part visits its successors in
// order, so that the first of several with the same key is new.
func (e *exploration[S]) insert(chunks []chunk) {
	parallel(e.workers, e.workers, func(_, group int) {
		for i := range chunks {
			c := &chunks[i]
			for j := range c.successors {
				if s := &c.successors[j]; s.fingerprint.part()%e.workers == group {
					s.isNew = e.known.add(s.fingerprint, c.class(s))
				}
			}
		}
	})
}

// commit counts the successors of the states from a number on, and adds the new states to
// the next level, sequentially.
func (e *exploration[S]) commit(chunks []chunk, first int) error {
	for i := range chunks {
		c := &chunks[i]
		for j := range c.successors {
			s := &c.successors[j]
			if err := e.commitState(c, s, first); err != nil {
				return err
			}
			if s.label != none && !s.isRepeated {
				e.addEdge(c, s, first)
			}
		}
		e.result.EdgeSum = e.result.EdgeSum.Add(c.edges)
		e.failure = earlier(e.failure, c.failure)
	}
	return nil
}

// commitState counts a successor, and adds its state if that is new.
func (e *exploration[S]) commitState(c *chunk, s *successor, first int) error {
	e.result.Generated++
	if !s.isNew {
		return nil
	}
	by := arrival{from: initial, step: uint16(s.step)}
	if s.label != none {
		by.from = uint32(first + int(s.from))
	}
	return e.addState(c.key(s), c.class(s), s.fingerprint, by)
}

// addState numbers a new state.
func (e *exploration[S]) addState(key, class []byte, print fingerprint, by arrival) error {
	if e.result.States == maxStates {
		return &LimitError{States: e.result.States, Reason: "there are more than 2^32 states"}
	}
	if e.numbers != nil {
		*e.numbers.number(print, class) = uint32(e.result.States)
	}
	e.result.States++
	e.result.StateSum = e.result.StateSum.Add(Sum(print))
	return e.store.add(key, print, by)
}

// addEdge counts an edge, and keeps it if needed.
func (e *exploration[S]) addEdge(c *chunk, s *successor, first int) {
	e.result.Edges++
	if e.keepsEdges() {
		e.graph.endAll(first + int(s.from))
		to := *e.numbers.number(s.fingerprint, c.class(s))
		e.graph.edges = append(e.graph.edges, Edge{uint32(s.label), to})
	}
}

// keepsEdges reports whether the edges are kept: digests and liveness need them too.
func (e *exploration[S]) keepsEdges() bool {
	return e.options.Edges || e.options.Text != nil || len(e.options.LeadsTo) > 0
}

// growPerState extends the slices that are indexed by state.
func (e *exploration[S]) growPerState(states int) {
	if e.options.Text != nil {
		e.sums = append(e.sums, make([]digest.Sum, states-len(e.sums))...)
	}
	for i := range e.marks {
		e.marks[i] = append(e.marks[i], make([]mark, states-len(e.marks[i]))...)
	}
}

// recordState keeps what is needed of a state after it is dropped.
func (e *exploration[S]) recordState(c *chunk, s S, number int) {
	if e.options.Text != nil {
		c.text = e.options.Text(c.text[:0], s)
		e.sums[number] = digest.Text(c.text)
	}
	for i := range e.marks {
		e.marks[i][number] = e.options.LeadsTo[i].mark(s)
	}
}

func (e *exploration[S]) finish() (err error) {
	if e.keepsEdges() {
		e.graph.endAll(e.result.States)
	}
	switch {
	case e.failure != nil:
		e.result.Violation, err = e.violation(e.failure)
	case e.result.Stopped:
		return nil // liveness and the digests are about all states
	default:
		e.result.Violation, err = e.checkLiveness()
	}
	if e.options.Edges {
		e.result.Graph = &e.graph
	}
	if e.options.Text != nil && e.failure == nil {
		e.result.StateDigest = digest.Of(e.sums)
		e.result.EdgeDigest = digest.Of(e.edgeSums())
	}
	return err
}

func (e *exploration[S]) edgeSums() []digest.Sum {
	labels := make([]digest.Sum, len(e.labels))
	for i, l := range e.labels {
		labels[i] = digest.Text([]byte(l))
	}
	sums := make([]digest.Sum, e.result.Edges)
	parallel(e.workers, (e.result.States+chunkStates-1)/chunkStates, func(_, chunk int) {
		for from := chunk * chunkStates; from < min((chunk+1)*chunkStates, e.result.States); from++ {
			begin := e.graph.begin(from)
			for i, edge := range e.graph.From(from) {
				sums[begin+i] = digest.Edge(e.sums[from], labels[edge.Label], e.sums[edge.To])
			}
		}
	})
	return sums
}
