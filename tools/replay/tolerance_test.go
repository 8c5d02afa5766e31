package replay

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

func event(action spec.Action, addr spec.Ptr) spec.TraceEntry {
	return spec.TraceEntry{Action: action, Addr: addr, Size: 512}
}

// TestEventTolerance says of pairs of lists of trace entries whether they count as equal.
func TestEventTolerance(t *testing.T) {
	var (
		freed1, freed2 = event(spec.ActionFreeCompleted, 1), event(spec.ActionFreeCompleted, 2)
		alloc1, alloc2 = event(spec.ActionAlloc, 1), event(spec.ActionAlloc, 2)
		asked          = event(spec.ActionFreeRequested, 1)
		oom, otherOOM  = event(spec.ActionOOM, 1000), event(spec.ActionOOM, 2000)
		snapshot       = event(spec.ActionSnapshot, 0)
	)
	type events = []spec.TraceEntry
	for _, c := range []struct {
		what      string
		exclusive bool
		kind      trace.OpKind
		a, b      events
		equal     bool
	}{
		{"nothing", false, trace.OpMalloc, nil, events{}, true},
		{"frees next to each other", false, trace.OpMalloc, events{freed1, freed2, alloc1}, events{freed2, freed1, alloc1}, true},
		{"frees in two runs", false, trace.OpMalloc, events{alloc1, freed1, freed2, asked, freed2, freed1}, events{alloc1, freed2, freed1, asked, freed1, freed2}, true},
		{"frees across another event", false, trace.OpMalloc, events{freed1, alloc1, freed2}, events{freed2, alloc1, freed1}, false},
		{"a free left out", false, trace.OpMalloc, events{freed1, freed1}, events{freed1}, false},
		{"other events", false, trace.OpMalloc, events{alloc1, alloc2}, events{alloc2, alloc1}, false},
		{"other events of a capture", false, trace.OpMalloc, events{alloc1, alloc2}, events{alloc2, alloc1}, false},
		{"any events of a restore", false, trace.OpRestore, events{asked, freed1, alloc1, freed2}, events{freed2, alloc1, freed1, asked}, true},
		{"other events of a restore", false, trace.OpRestore, events{alloc1, alloc2}, events{alloc2, alloc1}, true},
		{"an event of a restore left out", false, trace.OpRestore, events{asked, alloc1}, events{asked}, false},
		{"any events of a checkpoint", false, trace.OpCheckpoint, events{alloc1, alloc2}, events{alloc2, alloc1}, false},
		{"free memory", false, trace.OpMalloc, events{oom}, events{otherOOM}, true},
		{"free memory that nobody shared", true, trace.OpMalloc, events{oom}, events{otherOOM}, false},
		{"an address that is one", false, trace.OpMalloc, events{alloc1}, events{alloc2}, false},
		{"a snapshot", false, trace.OpMalloc, events{alloc1}, events{snapshot, alloc1, snapshot}, true},
	} {
		tol := toleranceOf(&trace.Header{Exclusive: c.exclusive})
		before := append(events(nil), c.b...)
		if equal := slices.Equal(tol.events(c.kind, c.a), tol.events(c.kind, c.b)); equal != c.equal {
			t.Errorf("%s: equal is %v", c.what, equal)
		}
		if diff := cmp.Diff(before, c.b); diff != "" && len(before) > 0 {
			t.Errorf("%s: the events were changed:\n%s", c.what, diff)
		}
	}
}

// TestLayoutTolerance: only behind a capture or a restore may the
// requested size of a block differ, and only that of an inactive one.
func TestLayoutTolerance(t *testing.T) {
	layout := func(free, used, freeSize uint64) []spec.Segment {
		return []spec.Segment{{Address: 1, TotalSize: 2048, Blocks: []spec.Block{
			{Address: 1, Size: freeSize, RequestedSize: free, State: spec.Inactive},
			{Address: 1 + spec.Ptr(freeSize), Size: 512, RequestedSize: used, State: spec.ActivePendingFree},
		}}}
	}
	for _, c := range []struct {
		met   trace.OpKind
		what  string
		got   []spec.Segment
		equal bool
	}{
		{trace.OpMalloc, "a free block's request", layout(8, 5, 512), false},
		{trace.OpFree, "a free block's request", layout(8, 5, 512), false},
		{trace.OpPoolBegin, "a free block's request", layout(8, 5, 512), false},
		{trace.OpCaptureBegin, "a free block's request", layout(8, 5, 512), true},
		{trace.OpRestore, "a free block's request", layout(8, 5, 512), true},
		{trace.OpCaptureBegin, "a used block's request", layout(7, 6, 512), false},
		{trace.OpRestore, "a free block's size", layout(7, 5, 1024), false},
	} {
		tol, recorded := toleranceOf(&trace.Header{}), layout(7, 5, 512)
		tol.meet(c.met)
		if equal := compareLayouts(tol.layout(recorded), tol.layout(c.got)) == nil; equal != c.equal {
			t.Errorf("%s, %s: equal is %v", c.met, c.what, equal)
		}
		if diff := cmp.Diff(layout(7, 5, 512), recorded); diff != "" {
			t.Errorf("%s, %s: the layout was changed:\n%s", c.met, c.what, diff)
		}
	}
}

// TestOrderTolerance: from the first operation on in which blocks became free in another order
// than recorded, what was requested of free blocks may differ.
func TestOrderTolerance(t *testing.T) {
	a, b := event(spec.ActionFreeCompleted, 1), event(spec.ActionFreeCompleted, 2)
	alloc := event(spec.ActionAlloc, 1)
	for _, c := range []struct {
		want, got []spec.TraceEntry
		granted   bool
	}{
		{[]spec.TraceEntry{a, b, alloc}, []spec.TraceEntry{a, b, alloc}, false},
		{[]spec.TraceEntry{a, b, alloc}, []spec.TraceEntry{b, a, alloc}, true},
		{[]spec.TraceEntry{a, alloc}, []spec.TraceEntry{a, alloc}, false},
	} {
		tol := toleranceOf(&trace.Header{})
		if tol.meetOrder(c.want, c.got); tol.staleRequested != c.granted {
			t.Errorf("%v for %v: granted is %v", c.got, c.want, tol.staleRequested)
		}
	}
}

// TestHistoryTolerance: which final statistics are about the past.
func TestHistoryTolerance(t *testing.T) {
	for key, history := range map[string]bool{
		"allocation.all.current":        false,
		"allocation.all.peak":           true,
		"allocated_bytes.all.allocated": true,
		"reserved_bytes.all.freed":      true,
		"allocated_bytes.all.current":   false,
		"num_ooms":                      false,
		"max_split_size":                false,
	} {
		if isHistory(key) != history {
			t.Errorf("%s: history is %v", key, !history)
		}
	}
	for kind, granted := range map[trace.OpKind]bool{
		trace.OpMalloc: false, trace.OpPoolBegin: false, trace.OpCaptureBegin: true, trace.OpCheckpoint: false, trace.OpRestore: true,
	} {
		tol := toleranceOf(&trace.Header{})
		if tol.meet(kind); tol.finalHistory != granted {
			t.Errorf("%s: granted is %v", kind, !granted)
		}
	}
}
