package graphtree

// A Function is what is to be turned into graphs: the same work on the same
// shapes at every call. It is known by its address.
type Function struct {
	Name string // for reports
	Mode Mode

	// Static lists the inputs that stay where they are from call to call, such as
	// a model's parameters. They are used in place. All others are copied into the
	// pool at each call, except those that lie there already, being outputs of
	// earlier functions on the path.
	Static []int

	// Body does the work. It may be called any number of times: to warm up, and
	// once for each recording, when what it launches is captured and not run. It
	// must do the same each time, and nothing that a capture forbids.
	//
	// It owns its inputs. What it has neither released nor returned when it
	// returns, inputs and what it made, is then released. It may return inputs,
	// and the same tensor more than once.
	Body func(w *Work, inputs []*Tensor) (outputs []*Tensor, err error)
}

// Mode says what a function is a part of, which decides whether a new invocation
// may reuse the memory of earlier outputs; see generation.go.
type Mode int

const (
	// Inference: nothing will come back to what the function leaves.
	Inference Mode = iota
	// Forward: a backward pass will use what the function leaves.
	Forward
	// Backward: the pass that does.
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
