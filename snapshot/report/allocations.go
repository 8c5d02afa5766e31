package report

import (
	"cmp"
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
}

// lives finds the allocations of a history. Start are the segments at its start, rounded is how
// many bytes the block of a request has.
func lives(start []spec.Segment, trace []snapshot.TraceEntry, rounded func(uint64) uint64) (all []life) {
	at, entries := map[spec.Ptr]int{}, int64(len(trace))
	for i := range start {
		for _, block := range start[i].Blocks {
			if block.State == spec.ActiveAllocated {
				frames, _ := block.Context.(snapshot.Frames)
				at[block.Address] = len(all)
				all = append(all, life{Allocation{-1, entries, int64(block.Size)}, frames, 0})
			}
		}
	}
	for i := range trace {
		switch e := &trace[i]; e.Action {
		case spec.ActionAlloc:
			at[e.Addr] = len(all)
			all = append(all, life{Allocation{int64(i), entries, int64(rounded(e.Size))}, e.Context.Frames, 0})
		case spec.ActionFreeRequested, spec.ActionFreeCompleted:
			if k, live := at[e.Addr]; live {
				all[k].Allocation[allocationEnd] = int64(i)
				delete(at, e.Addr)
			}
		}
	}
	return all
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
	for _, r := range b.recorder.Ranges {
		frames := atStart[spec.Ptr(r[stateAddress])]
		if r[stateBegin] >= 0 {
			frames = b.trace[r[stateBegin]].Context.Frames
		}
		all = append(all, life{Allocation{r[stateBegin], r[stateEnd], r[stateBytes]}, frames, int(r[stateKind])})
	}
	shown := b.polygons(all, len(b.trace), b.limits.polygons)
	if len(b.recorder.Kinds) < 2 {
		shown.Kinds = nil
	}
	return shown
}

// polygons chooses at most so many of a history with a number of entries.
func (b *builder) polygons(all []life, entries, most int) Allocations {
	byWeight := make([]int, len(all))
	for i := range byWeight {
		byWeight[i] = i
	}
	slices.SortStableFunc(byWeight, func(i, j int) int { return cmp.Compare(all[j].weight(), all[i].weight()) })
	shown := slices.Clone(byWeight[:min(len(byWeight), most)])
	slices.Sort(shown)
	result := Allocations{
		Entries: entries, EntriesPerBucket: entriesPerBucket(entries, b.limits.buckets),
		List: []Allocation{}, Others: len(all) - len(shown), Kinds: []int{},
	}
	for _, i := range shown {
		a := all[i].Allocation
		a[allocationStack] = int64(b.data.Stacks.add(all[i].frames))
		result.List, result.Kinds = append(result.List, a), append(result.Kinds, all[i].kind)
	}
	var others []Allocation
	for _, i := range byWeight[len(shown):] {
		others = append(others, all[i].Allocation)
	}
	result.Rest = mostByBucket(others, entries, result.EntriesPerBucket)
	return result
}

// mostByBucket is the most that allocations hold at one time of each bucket, in bytes.
func mostByBucket(list []Allocation, entries, entriesPerBucket int) []uint64 {
	change := make([]int64, entries+2) // at the entry before, from -1 on
	for _, a := range list {
		change[a[allocationBegin]+1] += a[allocationSize]
		change[a[allocationEnd]+1] -= a[allocationSize]
	}
	most, now := []uint64{}, change[0]
	for i := range entries {
		now += change[i+1]
		if i%entriesPerBucket == 0 {
			most = append(most, uint64(now))
		}
		most[len(most)-1] = max(most[len(most)-1], uint64(now))
	}
	return most
}
