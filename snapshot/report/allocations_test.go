package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// TestAllocations: each allocation has its begin, end and bytes; those that hold least together
// are one sum.
func TestAllocations(t *testing.T) {
	entry := func(action spec.Action, addr, size uint64) snapshot.TraceEntry {
		return snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: action, Addr: spec.Ptr(addr), Size: size}, Context: &snapshot.Context{}}
	}
	trace := []snapshot.TraceEntry{
		entry(spec.ActionAlloc, 1<<20, 1024), entry(spec.ActionAlloc, 2<<20, 4096), entry(spec.ActionFreeRequested, 1<<20, 1024),
		entry(spec.ActionFreeCompleted, 1<<20, 1024), entry(spec.ActionAlloc, 1<<20, 512), entry(spec.ActionAlloc, 3<<20, 512), entry(spec.ActionFreeRequested, 3<<20, 512),
	}
	b := &builder{trace: trace, start: []spec.Segment{{Blocks: []spec.Block{{Address: 4 << 20, Size: 2048, State: spec.ActiveAllocated}, {Address: 5 << 20, Size: 512}}}}, data: &Data{Stacks: newStacks(1)}}
	b.limits.allocations = 3
	got := b.allocations(2)
	want := Allocations{
		List:   []Allocation{{-1, 7, 2048, noStack}, {0, 2, 1024, noStack}, {1, 7, 4096, noStack}},
		Others: 2, Rest: []uint64{0, 0, 1024, 512},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	b.limits.allocations = 100
	if all := b.allocations(2); all.Others != 0 || len(all.List) != 5 || cmp.Diff([]uint64{0, 0, 0, 0}, all.Rest) != "" {
		t.Errorf("%+v", all)
	}
}

// TestAllocationsOfRun: what the allocations of a recorded run hold together is what is allocated.
func TestAllocationsOfRun(t *testing.T) {
	d := build(t, open(t, "../tell/testdata/snapshots/gpt_oom7.default.limit.pickle.gz"))
	at := d.layout("peak").Entry
	sum := d.Allocations.Rest[at/d.Timeline.EntriesPerBucket]
	for _, a := range d.Allocations.List {
		if a[allocationBegin] <= int64(at) && int64(at) < a[allocationEnd] {
			sum += uint64(a[allocationSize])
		}
	}
	if least := d.Summary.PeakAllocated - d.Summary.PeakAllocated/50; sum < least || sum > d.Summary.PeakAllocated+d.Summary.PeakAllocated/50 || len(d.Allocations.List) != maxAllocations || d.Allocations.Others == 0 {
		t.Errorf("%d bytes of %d, %d allocations and %d others", sum, d.Summary.PeakAllocated, len(d.Allocations.List), d.Allocations.Others)
	}
}
