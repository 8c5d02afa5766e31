package compare

import (
	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
)

// leastReserved is what a run under a limit reserves at least at its peak, wherever its memory is:
// what is allocated at the peak, or, if a request fails, as much as makes it fail. Blocks are not
// smaller than their rounded sizes, which depend on nothing else.
func (c *comparing) leastReserved(p *Prediction) uint64 {
	l := lowerBound{prediction: p, limit: c.leastLimit(), sizes: make([]uint64, c.Workload.Allocations), least: unbounded}
	w, id := c.Workload, int32(0)
	for i := range w.InitialSegments {
		for _, b := range w.InitialSegments[i].Blocks {
			if b.State != spec.Inactive {
				l.allocate(id, min(b.RequestedSize, b.Size))
				id++
			}
		}
	}
	for i := range w.Requests {
		l.request(w, &w.Requests[i])
	}
	return min(l.least, l.peak)
}

// leastLimit is the smallest limit that is assumed.
func (c *comparing) leastLimit() uint64 {
	least := uint64(unbounded)
	for _, r := range c.Readings {
		if b := r.Bytes(); b > 0 {
			least = min(least, b)
		}
	}
	return least
}

// lowerBound adds up what is allocated.
type lowerBound struct {
	prediction *Prediction
	limit      uint64
	sizes      []uint64 // of what is allocated, by ID
	now, peak  uint64
	least      uint64 // if some request is the first one that fails
}

func (l *lowerBound) request(w *history.Workload, q *history.Request) {
	switch q.Kind {
	case history.Malloc:
		l.least = min(l.least, max(l.peak, l.limit-min(l.limit, l.needed(q.Bytes))))
		l.allocate(q.ID, q.Bytes)
	case history.FailedMalloc: // where it does not fail the program may do something else
		l.least = min(l.least, l.peak)
	case history.Free:
		l.free(q.ID)
	case history.Other:
		for _, id := range w.Operations[q.ID].Freed {
			l.free(id)
		}
	}
}

func (l *lowerBound) allocate(id int32, bytes uint64) {
	l.sizes[id] = l.prediction.Settings.RoundedSize(bytes)
	l.now += l.sizes[id]
	l.peak = max(l.peak, l.now)
}

func (l *lowerBound) free(id int32) {
	l.now -= l.sizes[id]
	l.sizes[id] = 0
}

// needed is how much a request takes of the device at most, if no free block serves it.
func (l *lowerBound) needed(bytes uint64) uint64 {
	s := l.prediction.Settings
	segment := s.SegmentSize(bytes)
	if page := s.Config.LargeSegmentSize; s.Config.ExpandableSegments {
		return (segment + page - 1) / page * page
	}
	return segment
}
