package report

import (
	"cmp"
	"container/heap"
	"iter"
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// The limits of the timelines in which each allocation, segment or block of the host is a polygon.
const (
	maxAllocations = 4000
	maxPolygons    = 1000 // of segments, and of the host
)

// Allocations are the single allocations of the timeline: those that hold the most memory for the
// longest time. The page stacks them, in order of their beginning, above what the others hold.
type Allocations struct {
	Entries          int          `json:"entries"` // of the history
	EntriesPerBucket int          `json:"entriesPerBucket"`
	List             []Allocation `json:"list"`            // in order of Begin
	Others           int          `json:"others"`          // how many are not in List
	Rest             []uint64     `json:"rest"`            // bytes of these, by bucket: the most at one time
	Kinds            []int        `json:"kinds,omitempty"` // of segments: indexes into States.Kinds
}

// Allocation is [begin, end, size, stack]. It is allocated after the entry begin (-1: before the
// history), and not any more after the entry end (the number of entries: until the end).
type Allocation [4]int64

const (
	allocationBegin = iota
	allocationEnd
	allocationSize
	allocationStack
)

func (a *Allocation) weight() int64 {
	return a[allocationSize] * (a[allocationEnd] - a[allocationBegin])
}

// A life is an Allocation, and the code that made it.
type life struct {
	Allocation
	frames snapshot.Frames
	kind   int
	number int // in order of their begin
}

// lives yields the allocations of a history, in order of their end. Start are the segments at its
// start, rounded is how many bytes the block of a request has.
func lives(start []spec.Segment, trace []snapshot.TraceEntry, rounded func(uint64) uint64) iter.Seq[life] {
	return func(yield func(life) bool) {
		at, entries, made := map[spec.Ptr]life{}, int64(len(trace)), 0
		begin := func(addr spec.Ptr, entry int64, bytes uint64, frames snapshot.Frames) {
			at[addr] = life{Allocation{entry, entries, int64(bytes)}, frames, 0, made}
			made++
		}
		for i := range start {
			for _, block := range start[i].Blocks {
				if frames, _ := block.Context.(snapshot.Frames); block.State == spec.ActiveAllocated {
					begin(block.Address, -1, block.Size, frames)
				}
			}
		}
		for i := range trace {
			switch e := &trace[i]; e.Action {
			case spec.ActionAlloc:
				if before, live := at[e.Addr]; live && !yield(before) { // the history contradicts itself
					return
				}
				begin(e.Addr, int64(i), rounded(e.Size), e.Context.Frames)
			case spec.ActionFreeRequested, spec.ActionFreeCompleted:
				if l, live := at[e.Addr]; live {
					l.Allocation[allocationEnd] = int64(i)
					delete(at, e.Addr)
					if !yield(l) {
						return
					}
				}
			}
		}
		for _, l := range at {
			if !yield(l) {
				return
			}
		}
	}
}

// allocations are those of the device.
func (b *builder) allocations() Allocations {
	shown := b.polygons(lives(b.start, b.trace, b.settings.RoundedSize), len(b.trace), b.limits.allocations)
	shown.Kinds = nil
	return shown
}

// segmentsOverTime are the segments as if they were allocations: those that were reserved.
func (b *builder) segmentsOverTime() Allocations {
	atStart := map[spec.Ptr]snapshot.Frames{}
	for i := range b.start {
		atStart[b.start[i].Address], _ = b.start[i].Context.(snapshot.Frames)
	}
	var all []life
	for i, r := range b.recorder.Ranges {
		frames := atStart[spec.Ptr(r[stateAddress])]
		if r[stateBegin] >= 0 {
			frames = b.trace[r[stateBegin]].Context.Frames
		}
		all = append(all, life{Allocation{r[stateBegin], r[stateEnd], r[stateBytes]}, frames, int(r[stateKind]), i})
	}
	shown := b.polygons(slices.Values(all), len(b.trace), b.limits.polygons)
	if len(b.recorder.Kinds) < 2 {
		shown.Kinds = nil
	}
	return shown
}

// lightest is a heap of lives, the one that holds least first.
type lightest []life

func (h lightest) Len() int      { return len(h) }
func (h lightest) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h lightest) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].weight(), h[j].weight()), cmp.Compare(h[j].number, h[i].number)) < 0
}
func (h *lightest) Push(x any) { *h = append(*h, x.(life)) }
func (h *lightest) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// polygons chooses at most so many of a history with a number of entries. A history may have
// millions, so the others are added up at once.
func (b *builder) polygons(all iter.Seq[life], entries, most int) Allocations {
	others := newHeights(entries)
	result := Allocations{Entries: entries, EntriesPerBucket: entriesPerBucket(entries, b.limits.buckets), List: []Allocation{}, Kinds: []int{}}
	var shown lightest
	for l := range all {
		if heap.Push(&shown, l); len(shown) > most {
			lost := heap.Pop(&shown).(life)
			others.add(&lost.Allocation)
			result.Others++
		}
	}
	slices.SortFunc(shown, func(x, y life) int { return cmp.Compare(x.number, y.number) })
	for _, l := range shown {
		l.Allocation[allocationStack] = int64(b.data.Stacks.add(l.frames))
		result.List, result.Kinds = append(result.List, l.Allocation), append(result.Kinds, l.kind)
	}
	result.Rest = others.mostByBucket(result.EntriesPerBucket)
	return result
}

// heights are how many bytes allocations hold together: the change at the entry before, from -1 on.
type heights []int64

func newHeights(entries int) heights { return make(heights, entries+2) }

func (h heights) add(a *Allocation) {
	h[a[allocationBegin]+1] += a[allocationSize]
	h[a[allocationEnd]+1] -= a[allocationSize]
}

// mostByBucket is the most at one time of each bucket.
func (h heights) mostByBucket(entriesPerBucket int) []uint64 {
	most, now := []uint64{}, h[0]
	for i := range len(h) - 2 {
		now += h[i+1]
		if i%entriesPerBucket == 0 {
			most = append(most, uint64(now))
		}
		most[len(most)-1] = max(most[len(most)-1], uint64(now))
	}
	return most
}
