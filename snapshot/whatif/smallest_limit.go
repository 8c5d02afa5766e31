package whatif

import (
	"gaugeblock/spec"
	"gaugeblock/tests/replay"
)

// The smallest limit on reserved memory under which a run has no OOM. Reserved memory is
// a multiple of 2 MiB, so only multiples are tried. Bisection assumes that a larger limit
// is never worse. That is not strictly so: under a smaller limit cached segments are
// freed earlier, and the segments allocated afterwards may fit better. The result is a
// limit without an OOM, next to one with an OOM.

// limitStep is the step of the search, in bytes.
const limitStep = 2 * spec.MiB

// searchLimits finds the smallest limit of all settings, with every plausible driver.
func (c *comparing) searchLimits() error {
	type found struct {
		runJob
		limit uint64
		err   error
	}
	var failure error
	replay.InOrder(c.jobs(plausibleDrivers, func(*Prediction) bool { return true }), c.options.Jobs, func(j runJob) found {
		limit, err := smallestLimit(c.Workload, j.prediction.Settings, j.assumptions)
		return found{j, limit, err}
	}, func(f found) {
		if f.err != nil {
			failure = f.err
		}
		if f.prediction.SmallestLimit == nil {
			f.prediction.SmallestLimit = &Range{}
		}
		f.prediction.SmallestLimit.include(f.limit)
		c.advance(1)
	})
	return failure
}

// smallestLimit bisects between a limit below PeakRequested and one without an OOM.
func smallestLimit(w *Workload, settings string, a Assumptions) (uint64, error) {
	hasRoom := func(steps uint64) (bool, error) {
		o, err := Run(w, RunOptions{Settings: settings, Limit: steps * limitStep, Assumptions: a, StopAtOOM: true})
		return o.FirstOOM == nil, err
	}
	o, err := Run(w, RunOptions{Settings: settings, Assumptions: a})
	if err != nil {
		return 0, err
	}
	low := (max(w.peakRequested(), 1) - 1) / limitStep
	high := max(o.PeakReserved/limitStep, low+1)
	for {
		enough, err := hasRoom(high)
		if err != nil {
			return 0, err
		}
		if enough {
			break
		}
		low, high = high, high+max(high/8, 1)
	}
	for high-low > 1 {
		middle := (low + high) / 2
		enough, err := hasRoom(middle)
		if err != nil {
			return 0, err
		}
		if enough {
			high = middle
		} else {
			low = middle
		}
	}
	return high * limitStep, nil
}

// peakRequested is the peak of requested_bytes: the largest sum of the requested sizes
// of allocations that are live at one time. No allocator can do with a smaller limit.
func (w *Workload) peakRequested() uint64 {
	bytes := make([]uint64, w.Allocations)
	now := uint64(0)
	id := 0
	for i := range w.InitialSegments {
		for _, b := range w.InitialSegments[i].Blocks {
			if b.State != spec.Inactive {
				bytes[id] = b.RequestedSize
				now += b.RequestedSize
				id++
			}
		}
	}
	peak := now
	for i := range w.Requests {
		switch q := &w.Requests[i]; q.Kind {
		case Malloc:
			bytes[q.ID] = q.Bytes
			now += q.Bytes
			peak = max(peak, now)
		case Free:
			now -= bytes[q.ID]
		}
	}
	return peak
}
