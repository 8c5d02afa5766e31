package whatif

import (
	"gaugeblock/spec"
	"gaugeblock/tools/replay"
)

// The smallest limit on reserved memory under which a run has no OOM. Reserved memory is
// a multiple of 2 MiB, so only multiples are tried. Bisection assumes that a larger limit
// is never worse. That is not strictly so: under a smaller limit cached segments are
// freed earlier, and the segments allocated afterwards may fit better. The result is a
// limit without an OOM, next to one with an OOM.

const (
	limitStep       = 2 * spec.MiB    // of the search, in bytes
	largestSearched = totalMemory / 2 // no device has more
)

// searchLimits finds the smallest limit of all settings, with every plausible driver.
func (c *comparing) searchLimits() {
	type found struct {
		runJob
		limit uint64
		err   error
	}
	canRun := func(p *Prediction) bool { return p.Err == nil && p.Fraction == 0 }
	replay.InOrder(c.jobs(plausibleDrivers, 0, canRun), c.options.Jobs, func(j runJob) found {
		limit, err := smallestLimit(c.Workload, j.prediction.Settings, j.assumptions, c.readings[0])
		return found{j, limit, err}
	}, func(f found) {
		p := f.prediction
		switch {
		case f.err != nil:
			p.SmallestLimit, p.limitErr = nil, f.err
		case p.limitErr == nil:
			if p.SmallestLimit == nil {
				p.SmallestLimit = &Range{}
			}
			p.SmallestLimit.include(f.limit)
		}
		c.advance(1)
	})
}

// smallestLimit bisects between a limit below PeakRequested and one without an OOM. The
// limit is that of the device if the reading has one of the device only.
func smallestLimit(w *Workload, settings string, a Assumptions, r Reading) (uint64, error) {
	hasRoom := func(steps uint64) (bool, error) {
		limited := Reading{EmptyCache: r.EmptyCache}
		if r.Device > 0 && r.Fraction == 0 {
			limited.Device = steps * limitStep
		} else {
			limited.Fraction = steps * limitStep
		}
		o, err := Run(w, RunOptions{Settings: settings, Reading: limited, Assumptions: a, StopAtOOM: true})
		return o.FirstOOM == nil || steps*limitStep >= largestSearched, err
	}
	if w.Unrecorded.PoolFailures > 0 { // which may fail under any limit
		return 0, nil
	}
	o, err := Run(w, RunOptions{Settings: settings, Reading: Reading{EmptyCache: r.EmptyCache}, Assumptions: a})
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
	requested := make([]uint64, w.Allocations)
	live := make([]bool, w.Allocations)
	now, peak := uint64(0), uint64(0)
	set := func(id int32, isLive bool) {
		switch {
		case isLive && !live[id]:
			now += requested[id]
			peak = max(peak, now)
		case !isLive && live[id]:
			now -= requested[id]
		}
		live[id] = isLive
	}
	id := int32(0)
	for i := range w.InitialSegments {
		for _, b := range w.InitialSegments[i].Blocks {
			if b.State != spec.Inactive {
				requested[id] = b.RequestedSize
				set(id, true)
				id++
			}
		}
	}
	for i := range w.Requests {
		switch q := &w.Requests[i]; q.Kind {
		case Malloc:
			requested[q.ID] = q.Bytes
			set(q.ID, true)
		case Free:
			set(q.ID, false)
		case Other: // a restore of a pool frees allocations, and makes freed ones live again
			for _, id := range w.ops[q.ID].freed {
				set(id, false)
			}
			for _, id := range w.ops[q.ID].live {
				set(id, true)
			}
		}
	}
	return peak
}
