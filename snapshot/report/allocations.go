package report

import (
	"cmp"
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// maxAllocations is how many single allocations a page shows.
const maxAllocations = 4000

// Allocations are the single allocations of the timeline: those that hold the most memory for the
// longest time. The page stacks them, in order of their beginning, above what the others hold.
type Allocations struct {
	List   []Allocation `json:"list"`   // in order of Begin
	Others int          `json:"others"` // how many are not in List
	Rest   []uint64     `json:"rest"`   // bytes of these, by bucket: the most at one time
}

// Allocation is [begin, end, size, stack]. It is allocated after the entry begin (-1: before the
// history), and not any more after the entry end (the number of entries: until the end).
type Allocation [4]int64

const (
	allocationBegin = iota
	allocationEnd
	allocationSize
)

func (a *Allocation) weight() int64 {
	return a[allocationSize] * (a[allocationEnd] - a[allocationBegin])
}

// allocations finds them.
func (b *builder) allocations(entriesPerBucket int) Allocations {
	type found struct {
		Allocation
		frames snapshot.Frames
	}
	var all []found
	at := map[spec.Ptr]int{} // live allocations
	for i := range b.start {
		for _, block := range b.start[i].Blocks {
			if block.State == spec.ActiveAllocated {
				frames, _ := block.Context.(snapshot.Frames)
				at[block.Address] = len(all)
				all = append(all, found{Allocation{-1, int64(len(b.trace)), int64(block.Size)}, frames})
			}
		}
	}
	for i := range b.trace {
		switch e := &b.trace[i]; e.Action {
		case spec.ActionAlloc:
			at[e.Addr] = len(all)
			all = append(all, found{Allocation{int64(i), int64(len(b.trace)), int64(b.settings.RoundedSize(e.Size))}, e.Context.Frames})
		case spec.ActionFreeRequested, spec.ActionFreeCompleted:
			if k, live := at[e.Addr]; live {
				all[k].Allocation[allocationEnd] = int64(i)
				delete(at, e.Addr)
			}
		}
	}
	byWeight := make([]int, len(all))
	for i := range byWeight {
		byWeight[i] = i
	}
	slices.SortStableFunc(byWeight, func(i, j int) int { return cmp.Compare(all[j].weight(), all[i].weight()) })
	shown := slices.Clone(byWeight[:min(len(byWeight), b.limits.allocations)])
	slices.Sort(shown)
	result := Allocations{List: []Allocation{}, Others: len(all) - len(shown)}
	for _, i := range shown {
		a := all[i].Allocation
		a[3] = int64(b.data.Stacks.add(all[i].frames))
		result.List = append(result.List, a)
	}
	var others []Allocation
	for _, i := range byWeight[len(shown):] {
		others = append(others, all[i].Allocation)
	}
	result.Rest = mostByBucket(others, len(b.trace), entriesPerBucket)
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
