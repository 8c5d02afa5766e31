package explore

import (
	"runtime"
	"slices"

	"gaugeblock/model/digest"
)

// exploration is one run of Explore.
type exploration[S any] struct {
	specification Specification[S]
	options       Options[S]
	workers       int
	labels        []string

	parts   []*set  // of the known states
	parents []int32 // by state: the state that it was first reached from, or initial
	graph   Graph   // without edges unless keepsEdges
	from    int     // the state whose edges are being added
	edges   []Edge  // the edges of from
	sums    []digest.Sum
	marks   [][]mark // by LeadsTo, by state
	failure *failure // the first one
	result  Result[S]
}

// failure is a state that breaks an invariant, or a step that breaks a property.
type failure struct {
	property string
	state    int
	label    int // of the step; -1 for a state
}

// Explore explores all reachable states. It stops at the first property of a state or a
// step that fails.
func Explore[S any](specification Specification[S], options Options[S]) Result[S] {
	e := &exploration[S]{
		specification: specification, options: options,
		workers: options.Workers, labels: specification.Labels(),
		marks: make([][]mark, len(options.LeadsTo)),
	}
	if e.workers <= 0 {
		e.workers = runtime.GOMAXPROCS(0)
	}
	for range e.workers {
		e.parts = append(e.parts, newSet(options.Compact))
	}
	level := e.begin()
	first := 0
	for len(level) > 0 && e.goesOn() {
		e.result.Depth++
		known := e.result.States
		level, first = e.level(level, first), known
	}
	return e.finish()
}

// begin adds the initial states.
func (e *exploration[S]) begin() (level []S) {
	chunks := make([]chunk[S], 1)
	for _, s := range e.specification.Initial() {
		chunks[0].addSuccessor(e, s, initial, 0)
	}
	e.insert(chunks)
	level = e.numberStates(chunks)
	e.visit(level, 0)
	return level
}

// keepsEdges reports whether the edges are kept: digests and liveness need them too.
func (e *exploration[S]) keepsEdges() bool {
	return e.options.Edges || e.options.Text != nil || len(e.options.LeadsTo) > 0
}

// addEdge counts an edge, and keeps it if needed. A repeated edge is ignored.
func (e *exploration[S]) addEdge(from, label, to int) {
	if from != e.from {
		e.from, e.edges = from, e.edges[:0]
	}
	edge := Edge{uint32(label), uint32(to)}
	if slices.Contains(e.edges, edge) {
		return
	}
	e.edges = append(e.edges, edge)
	e.result.Edges++
	if e.keepsEdges() {
		e.graph.endAll(from)
		e.graph.edges = append(e.graph.edges, edge)
	}
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

// recordState keeps what is needed of a state after it is dropped. text is a buffer.
func (e *exploration[S]) recordState(text []byte, s S, number int) []byte {
	if e.options.Text != nil {
		text = e.options.Text(text, s)
		e.sums[number] = digest.Text(text)
	}
	for i := range e.marks {
		e.marks[i][number] = e.options.LeadsTo[i].mark(s)
	}
	return text
}

func (e *exploration[S]) finish() Result[S] {
	e.graph.endAll(e.result.States)
	switch {
	case e.failure != nil:
		e.result.Violation = e.violation(e.failure)
	case e.result.Stopped:
		return e.result // liveness and the digests are about all states
	default:
		e.result.Violation = e.checkLiveness()
	}
	if e.options.Edges {
		e.result.Graph = &e.graph
	}
	if e.options.Text != nil && e.failure == nil {
		e.result.StateDigest = digest.Of(e.sums)
		e.result.EdgeDigest = digest.Of(e.edgeSums())
	}
	return e.result
}

func (e *exploration[S]) edgeSums() []digest.Sum {
	labels := make([]digest.Sum, len(e.labels))
	for i, l := range e.labels {
		labels[i] = digest.Text([]byte(l))
	}
	sums := make([]digest.Sum, e.result.Edges)
	parallel(e.workers, (e.result.States+chunkStates-1)/chunkStates, func(chunk int) {
		for from := chunk * chunkStates; from < min((chunk+1)*chunkStates, e.result.States); from++ {
			begin := e.graph.begin(from)
			for i, edge := range e.graph.From(from) {
				sums[begin+i] = digest.Edge(e.sums[from], labels[edge.Label], e.sums[edge.To])
			}
		}
	})
	return sums
}
