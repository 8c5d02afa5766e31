package graphtree

// A Function is what is to be recorded: the same work on the same shapes at every call.
// Its address is its identity.
type Function struct {
	Name string // for reports
	Mode Mode

	// Static lists the inputs that have the same address at every call, such as a
	// model's parameters. They are used in place. All others are copied into the pool
	// at each call, except outputs of earlier functions on the path, which are there
	// already.
	Static []int

	// Body does the work. It is called to warm up, and once for each recording, when
	// what it launches is captured and not run. It must do the same each time, and
	// nothing that a capture forbids.
	//
	// It takes over its inputs. What it has neither released nor returned when it
	// returns, inputs and what it made, is then released. It may return inputs, and the
	// same tensor more than once.
	Body func(w *Work, inputs []*Tensor) (outputs []*Tensor, err error)
}

// Mode is the pass that a function belongs to. It decides whether a new invocation may
// reuse the memory of earlier outputs; see generation.go.
type Mode int

const (
	// Inference: no backward pass will use what the function leaves.
	Inference Mode = iota
	// Forward: a backward pass will use what the function leaves.
	Forward
	// Backward: the backward pass.
	Backward
)

func (f *Function) isStatic(input int) bool {
	for _, i := range f.Static {
		if i == input {
			return true
		}
	}
	return false
}
