package explore

import "slices"

// A Specification is a state machine that can be explored. Its methods must be safe for
// concurrent calls.
type Specification[S any] interface {
	// Labels are all labels that steps can have: actions with their arguments, as TLC
	// writes them.
	Labels() []string

	// Initial are the initial states.
	Initial() []S

	// Next yields the steps of a state, always in the same order: the number of a label
	// and the next state. It may yield the same step twice.
	Next(s S, yield func(label int, next S))

	// Key appends the state's key.
	Key(to []byte, s S) []byte

	// Decoder returns a function that makes a state from its key. The state, and all that
	// follow from it, are valid until the function is called again. Different decoders
	// can be used at the same time.
	Decoder() func(key []byte) S
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

// Options are the properties to check, and how. The zero value checks nothing.
type Options[S any] struct {
	Workers int  // 0: the number of processors
	Compact bool // keep only fingerprints of states, unless Edges, Text or LeadsTo need more
	Edges   bool // set Result.Graph

	// Symmetry, if not nil, appends the key that stands for all states that are symmetric
	// to a state.
	Symmetry func(to []byte, s S) []byte

	Invariants []Invariant[S]
	Steps      []StepProperty[S]
	LeadsTo    []LeadsTo[S]

	// Text, if not nil, appends the canonical text of a state, of which the digests are
	// computed.
	Text func(to []byte, s S) []byte

	// Progress, if not nil, is called after each batch.
	Progress func(Result[S])
	// Stopped, if not nil, is asked after each batch. If it reports true, the exploration
	// ends there: Result.Stopped.
	Stopped func() bool
}

// Checked lists the names of the properties that can fail, each once.
func (o *Options[S]) Checked() (names []string) {
	for _, p := range o.Invariants {
		if p.ByConstruction == "" {
			names = append(names, p.Name)
		}
	}
	for _, p := range o.Steps {
		names = append(names, p.Name)
	}
	for _, p := range o.LeadsTo {
		names = append(names, p.Name)
	}
	return slices.Compact(names) // one LeadsTo for each address or thread
}

// ByConstruction lists the invariants that cannot fail.
func (o *Options[S]) ByConstruction() []Invariant[S] {
	return slices.DeleteFunc(slices.Clone(o.Invariants), func(p Invariant[S]) bool { return p.ByConstruction == "" })
}

// Result is the result of an exploration.
type Result[S any] struct {
	States    int  // distinct
	Edges     int  // distinct, with their labels
	Generated int  // initial states and steps, with repetitions
	Depth     int  // levels
	Stopped   bool // some states were not explored, because Options.Stopped said so

	// StateSum is the sum of the fingerprints of the states, EdgeSum that of hashes of
	// the edges.
	StateSum, EdgeSum Sum

	StateDigest, EdgeDigest string // if Options.Text is set

	Violation *Violation[S] // the first; nil if no property failed
	Graph     *Graph        // if Options.Edges is set
}

// A Violation is a property that failed, with a counterexample.
type Violation[S any] struct {
	Property string
	Trace    []Step[S]
	// Loop is the index in Trace of the state that the trace returns to after its end,
	// for a run that never ends. It is -1 if there is no loop.
	Loop int
}

// A Step is a state and the label of the step to it.
type Step[S any] struct {
	Label string // empty for an initial state
	State S
}
