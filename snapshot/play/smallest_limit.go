package play

import (
	"gaugeblock/internal/memlimit"
	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
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

// SmallestLimit bisects between a limit below PeakRequested and one without an OOM. The
// limit is that of the device if the reading has one of the device only.
func SmallestLimit(w *history.Workload, s history.Settings, a Assumptions, r history.Reading, memory *memlimit.Budget) (uint64, error) {
	hasRoom := func(steps uint64) (bool, error) {
		limited := history.Reading{EmptyCache: r.EmptyCache}
		if r.Device > 0 && r.Fraction == 0 {
			limited.Device = steps * limitStep
		} else {
			limited.Fraction = steps * limitStep
		}
		o, err := Run(w, RunOptions{Settings: s, Reading: limited, Assumptions: a, StopAtOOM: true, Memory: memory})
		return o.FirstOOM == nil || steps*limitStep >= largestSearched, err
	}
	if w.Unrecorded.PoolFailures > 0 { // which may fail under any limit
		return 0, nil
	}
	o, err := Run(w, RunOptions{Settings: s, Reading: history.Reading{EmptyCache: r.EmptyCache}, Assumptions: a, Memory: memory})
	if err != nil {
		return 0, err
	}
	low := (max(w.PeakRequested(), 1) - 1) / limitStep
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
