package compare

import (
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// Programs whose requests depend on failures. A program may take "out of memory" for an
// answer: a convolution library asks for a workspace, and for a smaller one when that
// fails; a training loop tries a smaller batch. What such a program requests after a
// failure, or without one that was recorded, is not in the record.

// passesFailure reports whether a run succeeds with a request that failed in the recorded
// run. Up to there the program did the same.
func (c *comparing) passesFailure(p *Prediction, o *play.Outcome) bool {
	stopped := o.FirstOOM != nil && o.Missed && !c.Workload.GoesOnAfterFailures() // before it came to that
	return (o.Passed || c.unrounded(p)) && !stopped
}

// unrounded reports whether the size of a request that failed is not known under these
// settings. The history has it rounded, and with roundup_power2_divisions that is much.
func (c *comparing) unrounded(p *Prediction) bool {
	recorded := c.Workload.Settings.Config.Divisions
	if c.Workload.Unrecorded.OOMs == 0 || recorded == [spec.NumDivisions]uint64{} {
		return false
	}
	return p.Settings.Config.Divisions != recorded
}

// failsOptional reports whether a request fails in a run that did not fail in the recorded
// run, and without whose memory the program goes on.
func (c *comparing) failsOptional(o *play.Outcome) bool {
	switch {
	case !o.Missed:
		return false
	case c.Workload.GoesOnAfterFailures():
		return true
	}
	return c.Workload.Optional(o.FirstOOM.Request)
}
