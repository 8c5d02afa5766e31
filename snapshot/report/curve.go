package report

import "gaugeblock/spec"

// A history of a million entries has a thousand times more steps than a page has
// pixels. It is cut into buckets of equally many entries, and each keeps the lowest and
// the highest value that there was in it: a peak of a single entry is as high on the
// page as it was.

// maxBuckets is how many buckets a curve has at most.
const maxBuckets = 1500

// Curve is how much memory was given out, and held from the driver, over time. Each
// list has an element for each bucket.
type Curve struct {
	Entries      int      `json:"entries"` // in a bucket; the last may have fewer
	Micros       []int64  `json:"micros"`  // when it begins; empty: not known
	AllocatedLow []uint64 `json:"allocatedLow"`
	Allocated    []uint64 `json:"allocated"` // the highest
	ReservedLow  []uint64 `json:"reservedLow"`
	Reserved     []uint64 `json:"reserved"`
	Failed       []int    `json:"failed"`   // requests that failed
	Returned     []uint64 `json:"returned"` // bytes returned to the driver
}

// newCurve begins a curve of so many entries.
func newCurve(entries int) Curve {
	return Curve{Entries: max(1, (entries+maxBuckets-1)/maxBuckets)}
}

// add draws what an entry came to. Entries are counted from 0 and come in order.
func (c *Curve) add(entry int, micros int64, p *picture) {
	if entry%c.Entries == 0 {
		c.Micros = append(c.Micros, micros)
		c.AllocatedLow = append(c.AllocatedLow, p.allocated)
		c.Allocated = append(c.Allocated, p.allocated)
		c.ReservedLow = append(c.ReservedLow, p.reserved)
		c.Reserved = append(c.Reserved, p.reserved)
		c.Failed = append(c.Failed, 0)
		c.Returned = append(c.Returned, 0)
	}
	last := len(c.Allocated) - 1
	c.AllocatedLow[last] = min(c.AllocatedLow[last], p.allocated)
	c.Allocated[last] = max(c.Allocated[last], p.allocated)
	c.ReservedLow[last] = min(c.ReservedLow[last], p.reserved)
	c.Reserved[last] = max(c.Reserved[last], p.reserved)
}

// mark notes what stands out in the bucket that was added to last.
func (c *Curve) mark(e *spec.TraceEntry) {
	last := len(c.Failed) - 1
	switch e.Action {
	case spec.ActionOOM:
		c.Failed[last]++
	case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
		c.Returned[last] += e.Size
	}
}
