package compare

import (
	"gaugeblock/conformance/perform"
	"gaugeblock/internal/memlimit"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// smallestLimit bisects, to 2 MiB, between the most that is requested at one time and what the
// allocator holds if it may have all: nil if it fails there, too.
func smallestLimit(w *history.Workload, factory perform.Factory, name string, most uint64) (*uint64, error) {
	const step = 2 * spec.MiB
	low, high := w.PeakRequested()/step, (most+step-1)/step // fails, and does not
	for serves := false; ; {
		middle := (low + high) / 2
		if !serves {
			middle = high
		}
		r, err := requests(w, factory, name, middle*step, true)
		if err != nil {
			return nil, err
		}
		switch fails := r.Failed > 0 || r.Error != ""; {
		case fails && !serves:
			return nil, nil
		case fails:
			low = middle
		default:
			serves, high = true, middle
		}
		if high-low <= 1 {
			limit := high * step
			return &limit, nil
		}
	}
}

// smallestLimitOfPyTorch is the one that whatif finds, in bytes.
func (c *Candidate) smallestLimitOfPyTorch(w *history.Workload, memory *memlimit.Budget) (*uint64, error) {
	o := c.conditions(w, 0)
	limit, err := play.SmallestLimit(w, o.Settings, o.Assumptions, o.Reading, memory)
	return &limit, err
}
