package compare

import (
	"cmp"
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
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
func (c *Comparison) Failing() *play.OutOfMemory {
	now := c.Current()
	switch {
	case now == nil || now.FirstOOM == nil:
		return nil
	case now.LastOOM != nil && c.Workload.EndsInFailure():
		return now.LastOOM
	}
	return now.FirstOOM
}

// Cause says why the run is out of memory under the present settings and limit.
func (c *Comparison) Cause() Cause {
	now, oom := c.Current(), c.Failing()
	switch {
	case now != nil && now.Recorded && !c.Verification.Exact() && c.Workload.Unrecorded.OOMs > 0:
		return UnknownCause // the failure is not understood
	case now != nil && now.Err != nil:
		return UnknownCause
	case oom == nil:
		return NoCause
	case c.asksForMoreThanThereIs(oom):
		return Shortage
	case oom.InPool && c.Workload.Unrecorded.PoolFailures > 0: // which pool it was is not recorded
		return PoolCause
	case oom.LargestFreeBlock >= oom.Requested:
		return Shortage // when the request was made other streams still used that block
	}
	if c.PeakExceedsLimit() {
		return Shortage
	}
	low, high := c.LimitRange()
	if b := c.Workload.Limit; b.Moved && !c.Given && c.CauseUnder(oom, max(b.Most, now.PeakReserved)) != c.CauseUnder(oom, low) {
		return OtherProcess
	}
	if c.Recommended() != now {
		return c.CauseUnder(oom, high)
	}
	return c.CauseUnder(oom, low)
}

// asksForMoreThanThereIs reports whether a request alone is larger than what a full device had for
// the allocator, in whatever pool it is.
func (c *Comparison) asksForMoreThanThereIs(oom *play.OutOfMemory) bool {
	_, high := c.LimitRange()
	b := c.Workload.Limit
	return !c.Given && b.Kind == history.DeviceLimit && !b.Moved && oom.Requested > high
}

// PeakExceedsLimit reports whether the program requests more at one time than any of the
// limits that are assumed. It can run at most with expandable segments under a memory
// fraction, which reserved memory then can pass (see beyondLimit).
func (c *Comparison) PeakExceedsLimit() bool {
	_, high := c.LimitRange()
	return high > 0 && !(c.Workload.Limit.Moved && !c.Given) && c.Workload.PeakRequested() > high
}

// CauseUnder is the cause if the limit was bytes.
func (c *Comparison) CauseUnder(oom *play.OutOfMemory, limit uint64) Cause {
	needed := c.Workload.Settings.SegmentSize(oom.Requested)
	room := limit - min(limit, oom.Reserved)
	switch {
	case oom.OwnFree+room >= min(needed, ReservedFor(oom.Requested)):
		return Fragmentation
	case oom.OwnFree+oom.PrivateFree+room >= min(needed, ReservedFor(oom.Requested)):
		return PoolCause
	}
	return Shortage
}

// ReservedFor is the least reserved memory that a request takes, in bytes.
func ReservedFor(bytes uint64) uint64 {
	return (bytes + sizeOfRoundedLimit - 1) / sizeOfRoundedLimit * sizeOfRoundedLimit
}

// LimitRange are the smallest and the largest limit that are assumed, 0 if there is none, by
// the likeliest reading of doubtful frees.
func (c *Comparison) LimitRange() (low, high uint64) {
	if b := c.Workload.Limit; !c.Given && b.Kind == history.DeviceLimit {
		return b.Least, b.Most
	}
	first := c.LimitReading()
	for _, r := range c.Readings {
		if b := r.Bytes(); b > 0 && !r.Drift && r.EmptyCache == first.EmptyCache {
			if low == 0 {
				low = b
			}
			low, high = min(low, b), max(high, b)
		}
	}
	return low, high
}

// Holder is memory that was allocated at one call site, before the history, or in one size where
// the history has no call stacks.
type Holder struct {
	Entry *snapshot.TraceEntry // an allocation of the call site; nil without call stacks
	Start bool                 // allocated before the history
	Bytes uint64
	Count int
}

// LargestHolders are those with most of the memory that is allocated after so many requests, in
// requested bytes.
func LargestHolders(w *history.Workload, requests, most int) []Holder {
	t := holderTable{workload: w, at: map[any]*Holder{}, atContext: map[*snapshot.Context]*Holder{}}
	holderOf := make([]*Holder, w.Allocations)
	w.Walk(requests, func(request int, id int32, bytes uint64, live bool) {
		h := holderOf[id]
		switch {
		case request >= 0 && w.Requests[request].Kind == history.FailedMalloc:
			return
		case !live:
			h.Bytes -= bytes
			h.Count--
			return
		case h == nil:
			h = t.find(request, bytes)
			holderOf[id] = h
		}
		h.Bytes += bytes
		h.Count++
	})
	list := slices.DeleteFunc(t.list, func(h *Holder) bool { return h.Count == 0 })
	slices.SortStableFunc(list, func(a, b *Holder) int { return cmp.Compare(b.Bytes, a.Bytes) })
	var largest []Holder
	for _, h := range list[:min(most, len(list))] {
		largest = append(largest, *h)
	}
	return largest
}

// holderTable finds the holder of an allocation.
type holderTable struct {
	workload  *history.Workload
	list      []*Holder       // by their first allocation
	at        map[any]*Holder // by the frame, or else the size; nil: the start
	atContext map[*snapshot.Context]*Holder
}

func (t *holderTable) find(request int, bytes uint64) *Holder {
	if request < 0 {
		return t.add(nil, Holder{Start: true})
	}
	e := t.workload.Entry(&t.workload.Requests[request])
	if known := t.atContext[e.Context]; known != nil {
		return known
	}
	frame, found := history.FrameOf(e)
	if !found {
		return t.add(bytes, Holder{})
	}
	t.atContext[e.Context] = t.add(frame, Holder{Entry: e})
	return t.atContext[e.Context]
}

func (t *holderTable) add(key any, h Holder) *Holder {
	if t.at[key] == nil {
		t.at[key] = &h
		t.list = append(t.list, &h)
	}
	return t.at[key]
}
