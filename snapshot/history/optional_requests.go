package history

// What a record shows of requests that fail: whether the program goes on after them, and
// which requests it can do without.

// GoesOnAfterFailures reports whether the recorded program requested memory after a
// request of it had failed.
func (w *Workload) GoesOnAfterFailures() bool {
	failed := false
	for i := range w.Requests {
		k := w.Requests[i].Kind
		if failed && (k == Malloc || k == FailedMalloc) {
			return true
		}
		failed = failed || k == FailedMalloc
	}
	return false
}

// Optional reports whether a request is for a workspace: its memory is freed before the
// next request is made, or its call stack is that of a convolution.
func (w *Workload) Optional(i int) bool {
	q := &w.Requests[i]
	if framesOf(w.Entry(q)).Calls(convolutions...) {
		return true
	}
	for _, next := range w.Requests[i+1:] {
		switch next.Kind {
		case Malloc, FailedMalloc:
			return false
		case Free:
			if next.ID == q.ID {
				return true
			}
		}
	}
	return false
}

// convolutions are functions, of Python and C++, that ask for workspaces.
var convolutions = []string{
	"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "_conv_forward", "convolution",
	"convolution_backward", "_convolution", "cudnn_convolution", "cudnn_convolution_transpose", "raw_cudnn_convolution_forward_out",
	"raw_cudnn_convolution_backward_input_out", "raw_cudnn_convolution_backward_weight_out", "cudnn_convolution_add_relu", "_cudnn_rnn",
}
