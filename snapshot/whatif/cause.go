package whatif

import (
	"fmt"
	"slices"
	"strconv"

	"gaugeblock/model"
	"gaugeblock/spec"
)

// Cause says why a run was out of memory.
type Cause string

// The causes.
const (
	NoCause            Cause = "none"          // no request failed
	Fragmentation      Cause = "fragmentation" // the limit had room, but no free block was large enough
	Shortage           Cause = "shortage"      // allocated memory and the request together exceed the limit
	PoolCause          Cause = "pool"          // the free memory was in another pool
	OtherProcess       Cause = "other_process" // other processes' memory on the device grew
	UnknownCause       Cause = "unknown"
	sizeOfRoundedLimit       = 2 * spec.MiB
)

// Failing is the request that failed under the present settings and limit: that which
// ended the recorded run, or the first one. It is nil if none failed.
func (c *Comparison) Failing() *OutOfMemory {
	now := c.current()
	switch {
	case now == nil || now.FirstOOM == nil:
		return nil
	case now.LastOOM != nil && c.Workload.endsInFailure():
		return now.LastOOM
	}
	return now.FirstOOM
}

// endsInFailure reports whether the recorded program requested no memory after the last
// request that failed.
func (w *Workload) endsInFailure() bool {
	for _, q := range slices.Backward(w.Requests) {
		switch q.Kind {
		case Malloc:
			return false
		case FailedMalloc:
			return true
		}
	}
	return false
}

// Cause says why the run is out of memory under the present settings and limit.
func (c *Comparison) Cause() Cause {
	now, oom := c.current(), c.Failing()
	switch {
	case now != nil && now.Recorded && !c.Verification.Exact() && c.Workload.Unrecorded.OOMs > 0:
		return UnknownCause // the failure is not understood
	case now != nil && now.Err != nil:
		return UnknownCause
	case oom == nil:
		return NoCause
	case oom.InPool:
		return PoolCause
	case oom.LargestFreeBlock >= oom.Requested:
		return Shortage // when the request was made other streams still used that block
	}
	if c.peakExceedsLimit() {
		return Shortage
	}
	low, high := c.limitRange()
	if b := c.Workload.Limit; b.Moved && !c.given && c.causeUnder(oom, max(b.Most, now.PeakReserved)) != c.causeUnder(oom, low) {
		return OtherProcess
	}
	cause := c.causeUnder(oom, low)
	if atMost := c.causeUnder(oom, high); atMost != cause && c.Recommended() != nil && c.Recommended() != now {
		return atMost
	}
	return cause
}

// peakExceedsLimit reports whether the program requests more at one time than any of the
// limits that are assumed. It can run at most with expandable segments under a memory
// fraction, which reserved memory then can pass (see beyondLimit).
func (c *Comparison) peakExceedsLimit() bool {
	_, high := c.limitRange()
	return high > 0 && !(c.Workload.Limit.Moved && !c.given) && c.Workload.peakRequested() > high
}

// causeUnder is the cause if the limit was so many bytes.
func (c *Comparison) causeUnder(oom *OutOfMemory, limit uint64) Cause {
	needed := c.Workload.segmentFor(oom.Requested)
	room := limit - min(limit, oom.Reserved)
	switch {
	case oom.OwnFree+room >= min(needed, roundedUp(oom.Requested)):
		return Fragmentation
	case oom.OwnFree+oom.PrivateFree+room >= min(needed, roundedUp(oom.Requested)):
		return PoolCause
	}
	return Shortage
}

// segmentFor is the size of the segment that a request needs with the recorded settings.
func (w *Workload) segmentFor(requested uint64) uint64 {
	g := spec.DefaultGeometry()
	return model.SegmentSize(model.Round(max(requested, 1), w.Config, g), w.Config, g)
}

// roundedUp is the least reserved memory that a request of so many bytes takes.
func roundedUp(bytes uint64) uint64 {
	return (bytes + sizeOfRoundedLimit - 1) / sizeOfRoundedLimit * sizeOfRoundedLimit
}

// limitRange are the smallest and the largest limit that are assumed, 0 if there is none, by
// the likeliest reading of doubtful frees.
func (c *Comparison) limitRange() (low, high uint64) {
	if b := c.Workload.Limit; !c.given && b.Kind == DeviceLimit {
		return b.Least, b.Most
	}
	first := c.limitReading()
	if c.given {
		return first.Bytes(), first.Bytes()
	}
	for _, r := range c.readings {
		if b := r.Bytes(); b > 0 && !r.drift && r.EmptyCache == first.EmptyCache {
			if low == 0 {
				low = b
			}
			low, high = min(low, b), max(high, b)
		}
	}
	return low, high
}

// holder is memory that was allocated at one call site, or in one size where the history
// has no call stacks.
type holder struct {
	site  string // "" without call stacks
	bytes uint64
	count int
}

// largestHolders are the call sites with most of the memory that is allocated when a
// request is made.
func (w *Workload) largestHolders(request, most int) []holder {
	sites := map[string]*holder{}
	siteOf := make([]*holder, w.Allocations)
	size := make([]uint64, w.Allocations)
	add := func(id int32, bytes uint64, site string) {
		key := site
		if site == "" {
			key = strconv.FormatUint(bytes, 10)
		}
		h := sites[key]
		if h == nil {
			h = &holder{site: site}
			sites[key] = h
		}
		h.bytes += bytes
		h.count++
		siteOf[id], size[id] = h, bytes
	}
	id := int32(0)
	for i := range w.InitialSegments {
		for _, b := range w.InitialSegments[i].Blocks {
			if b.State != spec.Inactive {
				add(id, b.Size, "")
				id++
			}
		}
	}
	for i := range w.Requests[:request] {
		switch q := &w.Requests[i]; {
		case q.Kind == Malloc:
			add(q.ID, q.Bytes, site(w.Entry(q)))
		case q.Kind == Free && siteOf[q.ID] != nil:
			siteOf[q.ID].bytes -= size[q.ID]
			siteOf[q.ID].count--
			siteOf[q.ID] = nil
		}
	}
	var list []holder
	for _, h := range sites {
		if h.count > 0 {
			list = append(list, *h)
		}
	}
	slices.SortFunc(list, func(a, b holder) int {
		if a.bytes != b.bytes {
			return int(int64(b.bytes - a.bytes))
		}
		if a.site < b.site {
			return -1
		}
		return 1
	})
	return list[:min(most, len(list))]
}

func (h *holder) text() string {
	if h.site == "" {
		return fmt.Sprintf("%s in %s of %s each", spec.FormatSize(h.bytes), counted(h.count, "allocation"), spec.FormatSize(h.bytes/uint64(h.count)))
	}
	return fmt.Sprintf("%s in %s by %s", spec.FormatSize(h.bytes), counted(h.count, "allocation"), h.site)
}
