package whatif

import (
	"gaugeblock/spec"
	"gaugeblock/tests/replay"
)

// The smallest limit that a setting survives. Everything that is held is a multiple
// of 2 MiB, so no limit between two multiples means anything. Whether a limit is
// survived is, strictly, not monotone: with less room memory is returned earlier, and
// what is obtained after that can fit better. Bisection finds a limit that is
// survived and next to one that is not.

// limitStep is what limits are multiples of, in bytes.
const limitStep = 2 * spec.MiB

// searchAll finds the smallest limit of every setting, under every credible model.
func (t *trial) searchAll() error {
	least := t.History.leastPeak()
	type found struct {
		job
		limit uint64
		err   error
	}
	var failure error
	replay.InOrder(t.jobs(credible, func(*Row) bool { return true }), t.options.Jobs, func(j job) found {
		limit, err := smallestLimit(t.History, t.Rows[j.row].Settings, j.model, least)
		return found{j, limit, err}
	}, func(f found) {
		if f.err != nil {
			failure = f.err
		}
		r := &t.Rows[f.row]
		if r.Smallest == nil {
			r.Smallest = &Range{}
		}
		r.Smallest.include(f.limit)
		t.advance(1)
	})
	return failure
}

// smallestLimit bisects between what is certainly too little and what is enough.
func smallestLimit(h *History, settings string, m Model, tooLittle uint64) (uint64, error) {
	survives := func(steps uint64) (bool, error) {
		o, err := Run(h, Setup{Settings: settings, Limit: steps * limitStep, Model: m, Stop: true})
		return o.First == nil, err
	}
	o, err := Run(h, Setup{Settings: settings, Model: m})
	if err != nil {
		return 0, err
	}
	low := tooLittle / limitStep
	high := max(o.PeakReserved/limitStep, low+1)
	for {
		enough, err := survives(high)
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
		enough, err := survives(middle)
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

// leastPeak is what no allocator can do without: the most bytes that were asked for
// and given out at one time. Less than that, a limit is certainly too small.
func (h *History) leastPeak() uint64 {
	bytes := make([]uint64, h.Allocations)
	now := uint64(0)
	held := h.Held
	for i := range h.Start {
		for _, b := range h.Start[i].Blocks {
			if b.State != spec.Inactive {
				bytes[held[0]] = b.RequestedSize
				now += b.RequestedSize
				held = held[1:]
			}
		}
	}
	most := now
	for i := range h.Requests {
		switch q := &h.Requests[i]; q.Kind {
		case Malloc:
			bytes[q.ID] = q.Bytes
			now += q.Bytes
			most = max(most, now)
		case Free:
			now -= bytes[q.ID]
		}
	}
	return max(most, 1) - 1
}
