package report

import (
	"strings"
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
	b.limits.buckets = 4
	got := b.allocations()
	want := Allocations{
		Entries: 7, EntriesPerBucket: 2,
		List:   []Allocation{{-1, 7, 2048, noStack}, {0, 2, 1024, noStack}, {1, 7, 4096, noStack}},
		Others: 2, Rest: []uint64{0, 0, 1024, 512},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	b.limits.allocations = 100
	if all := b.allocations(); all.Others != 0 || len(all.List) != 5 || cmp.Diff([]uint64{0, 0, 0, 0}, all.Rest) != "" {
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

// TestSegmentsOverTime: what the segments hold together is what is reserved, after every entry, and
// each has the kind that it has in the layout.
func TestSegmentsOverTime(t *testing.T) {
	const runs = "../tell/testdata/snapshots/"
	for _, name := range []string{runs + "gpt_oom7.default.limit.pickle.gz", runs + "gpt_cut.default.nolimit.pickle.gz", runs + "two_streams.default.nolimit.pickle.gz", "testdata/small.json"} {
		f := open(t, name)
		d := build(t, f)
		over := d.SegmentsOverTime
		if over.Others > 0 {
			t.Fatalf("%s: %d segments are not listed", name, over.Others)
		}
		together := newHeights(over.Entries)
		for i := range over.List {
			together.add(&over.List[i])
		}
		if diff := cmp.Diff(d.Timeline.ReservedMax, together.mostByBucket(over.EntriesPerBucket)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		streams := map[string]bool{}
		for i := range over.List {
			if over.Kinds != nil {
				streams[d.States.Kinds[over.Kinds[i]].Stream] = true
			}
			if over.List[i][allocationBegin] >= 0 && over.List[i][allocationStack] >= 0 != (len(f.DeviceTraces[0][over.List[i][allocationBegin]].Context.Frames) > 0) {
				t.Errorf("%s: segment %d has another call stack", name, i)
			}
		}
		if strings.Contains(name, "two_streams") && len(streams) != 2 {
			t.Errorf("%s: %d streams", name, len(streams))
		}
	}
}
