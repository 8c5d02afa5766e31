package whatif

import (
	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

// Programs whose requests depend on failures. A program may take "out of memory" for an
// answer: a convolution library asks for a workspace, and for a smaller one when that
// fails; a training loop tries a smaller batch. What such a program requests after a
// failure, or without one that was recorded, is not in the record.

// passesFailure reports whether a run succeeds with a request that failed in the recorded
// run. Up to there the program did the same.
func (c *comparing) passesFailure(p *Prediction, o *Outcome) bool {
	stopped := o.FirstOOM != nil && o.Missed && !c.Workload.goesOnAfterFailures() // before it came to that
	return (o.Passed || c.unrounded(p)) && !stopped
}

// unrounded reports whether the size of a request that failed is not known under these
// settings. The history has it rounded, and with roundup_power2_divisions that is much.
func (c *comparing) unrounded(p *Prediction) bool {
	recorded := c.Workload.Config.Divisions
	if c.Workload.Unrecorded.OOMs == 0 || recorded == [spec.NumDivisions]uint64{} {
		return false
	}
	other, err := settings.Parse(p.Settings, spec.DefaultGeometry())
	return err != nil || other.Divisions != recorded
}

// firstFailure is the first request that failed in the recorded run, -1 if none did.
func (w *Workload) firstFailure() int {
	if w.Unrecorded.OOMs == 0 {
		return -1
	}
	for i := range w.Requests {
		if w.Requests[i].Kind == FailedMalloc {
			return i
		}
	}
	return -1
}

// failsOptional reports whether a request fails in a run that did not fail in the recorded
// run, and without whose memory the program goes on.
func (c *comparing) failsOptional(o *Outcome) bool {
	switch {
	case !o.Missed:
		return false
	case c.Workload.goesOnAfterFailures():
		return true
	}
	return c.Workload.optional(o.FirstOOM.Request)
}

// goesOnAfterFailures reports whether the recorded program requested memory after a
// request of it had failed.
func (w *Workload) goesOnAfterFailures() bool {
	first := w.firstFailure()
	if first < 0 {
		return false
	}
	for i := first + 1; i < len(w.Requests); i++ {
		if k := w.Requests[i].Kind; k == Malloc || k == FailedMalloc {
			return true
		}
	}
	return false
}

// optional reports whether a request is for a workspace: its memory is freed before the
// next request is made, or its call stack is that of a convolution.
func (w *Workload) optional(i int) bool {
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
