package trace

import "gaugeblock/spec"

// What a trace says of CUDA graph trees: the functions that its calls name, and
// what a recorder saw after each call. graphtree explains the words.

// TreeFunction is a function as a trace describes it: what it does to memory, in
// order. The temporaries that it allocates are numbered by its steps; what is left
// of them at the end, and is not returned, is freed.
type TreeFunction struct {
	Inputs       int      // how many a call passes
	InputSizes   []uint64 // bytes of each, where recorded
	Static       bool     // one more input, before the others, that does not move
	Steps        []TreeStep
	Outputs      []TreeResult
	DropInputsAt int // the step before which it lets its inputs go
	Mode         string
}

// TreeStep allocates or frees a temporary.
type TreeStep struct {
	Free  bool
	Temp  int
	Bytes uint64 // of an allocation
}

// TreeResult is where an output comes from.
type TreeResult struct {
	Kind  string // ResultNew, ResultSame, ResultInput
	Index int    // which temporary or input; the static one is not counted
}

// What TreeResult.Kind can say.
const (
	ResultNew   = "new"   // a temporary
	ResultSame  = "same"  // one that is returned as another output as well
	ResultInput = "input" // an input
)

// TreeModes are what TreeFunction.Mode can say.
var TreeModes = []string{"inference", "forward", "backward"}

// TreeExpectation is what a recorder saw after a call.
type TreeExpectation struct {
	Outputs     []spec.Ptr
	State       string // NONE, WARMUP, RECORDING, EXECUTION
	Node        int    // the node of the call, negative for a warm-up
	Path        []int  // the nodes from the root to that one
	Fails       int    // calls so far for which no recorded child fitted
	Checkpoints int    // how often the pool was set back so far
	Roots       []int  // how many recordings each root function has, sorted
	// Pool is the segments of the tree's pool, by address; of each only the
	// address, the size, Large and the blocks are known.
	Pool []spec.Segment
}
