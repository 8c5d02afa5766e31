package explore

import "slices"

// A Specification is what can be explored. Its methods are called by several
// goroutines at a time.
type Specification[S any] interface {
	// Labels are those that steps can have: actions with their arguments, as
	// TLC writes them.
	Labels() []string

	// Initial are the states to begin with.
	Initial() []S

	// Next tells all that can happen in a state, always in the same order: the
	// number of a label and the state that follows. What happens in two ways is
	// told twice.
	Next(s S, yield func(label int, next S))

	// Key appends the state's key.
	Key(to []byte, s S) []byte
}

// An Invariant must be true in every state.
type Invariant[S any] struct {
	Name  string
	Holds func(s S) bool // may be nil if ByConstruction is set; otherwise it is checked

	// ByConstruction, unless it is empty, says why no state that the specification can
	// describe breaks the invariant. Exploring it shows nothing.
	ByConstruction string
}

// A StepProperty must be true of every step.
type StepProperty[S any] struct {
	Name  string
	Holds func(from S, label int, to S) bool
}

// Options say what is looked for, and how. The zero value is fine.
type Options[S any] struct {
	Workers  int  // 0: as many as there are processors
	Compact  bool // remember hashes of keys only
	Edges    bool // keep the graph: for Result.Graph
	Symmetry func(s S, yield func(variant S))

	Invariants []Invariant[S]
	Steps      []StepProperty[S]
	LeadsTo    []LeadsTo[S]

	// Text, if there is one, appends what digest.State takes. It is what digests
	// are made of.
	Text func(to []byte, s S) []byte

	// Progress, if there is one, is told from time to time.
	Progress func(Result[S])
}

// Checked lists the names of the properties that can fail, each once.
func (o *Options[S]) Checked() (names []string) {
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, p := range o.Invariants {
		if p.ByConstruction == "" {
			add(p.Name)
		}
	}
	for _, p := range o.Steps {
		add(p.Name)
	}
	for _, p := range o.LeadsTo {
		add(p.Name)
	}
	return names
}

// ByConstruction lists the invariants that cannot fail.
func (o *Options[S]) ByConstruction() []Invariant[S] {
	return slices.DeleteFunc(slices.Clone(o.Invariants), func(p Invariant[S]) bool { return p.ByConstruction == "" })
}

// Result is the result of an exploration.
type Result[S any] struct {
	States    int // distinct
	Edges     int // distinct, with their labels
	Generated int // initial states and steps, with repetitions
	Depth     int // levels

	StateDigest, EdgeDigest string // if there was a Text

	Violation *Violation[S] // the first; nil: all is well
	Graph     *Graph        // if Edges
}

// A Violation is a way to something that should not be.
type Violation[S any] struct {
	Property string
	Trace    []Step[S]
	// Loop is where the trace goes on from when it has come to its end, for ever:
	// an index into Trace. It is -1 if the trace just ends.
	Loop int
}

// A Step is a state and how it was come by.
type Step[S any] struct {
	Label string // empty: an initial state
	State S
}
