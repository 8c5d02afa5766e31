package whatif

import (
	"slices"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// TestSegmentFrees has short histories, and what they show of empty_cache and the limit.
// Sizes are in MiB.
func TestSegmentFrees(t *testing.T) {
	const (
		segmentAlloc = spec.ActionSegmentAlloc
		segmentFree  = spec.ActionSegmentFree
		alloc        = spec.ActionAlloc
		oom          = spec.ActionOOM
		freed        = spec.ActionFreeCompleted
	)
	bounds := func(least, most uint64) LimitBounds { return LimitBounds{Least: least, Most: most} }
	type entry struct {
		action spec.Action
		mib    uint64
		free   uint64 // on the device, of an oom entry
	}
	split, collecting := defaultConfig(), defaultConfig()
	split.MaxSplitSize = 64 * spec.MiB
	collecting.GarbageCollectionThreshold = 0.5
	for _, c := range []struct {
		what    string
		config  spec.Config
		trace   []entry
		emptied []int
		limit   LimitBounds // in MiB; Most is the first size that was refused
	}{
		{"no segment is freed", defaultConfig(), []entry{{segmentAlloc, 20, 0}, {alloc, 20, 0}}, nil, bounds(20, 0)},
		{"at the end", defaultConfig(), []entry{{segmentAlloc, 20, 0}, {alloc, 20, 0}, {segmentFree, 20, 0}}, []int{2}, bounds(20, 0)},
		{"another entry follows", defaultConfig(), []entry{{segmentAlloc, 20, 0}, {segmentFree, 20, 0}, {alloc, 20, 0}}, []int{1}, bounds(20, 0)},
		{"more than ever before is reserved", defaultConfig(), []entry{{segmentAlloc, 20, 0}, {segmentFree, 20, 0}, {segmentAlloc, 30, 0}}, nil, bounds(30, 50)},
		{"events are waited for first", defaultConfig(), []entry{{segmentAlloc, 20, 0}, {freed, 20, 0}, {segmentFree, 20, 0}, {segmentAlloc, 30, 0}}, nil, bounds(30, 50)},
		{"less than before is reserved", defaultConfig(), []entry{{segmentAlloc, 90, 0}, {segmentFree, 90, 0}, {segmentAlloc, 20, 0}, {segmentFree, 20, 0}, {segmentAlloc, 30, 0}}, []int{3}, bounds(90, 110)},
		{"as much as before is reserved", defaultConfig(), []entry{{segmentAlloc, 50, 0}, {segmentFree, 50, 0}, {alloc, 1, 0}, {segmentAlloc, 20, 0}, {segmentFree, 20, 0}, {segmentAlloc, 30, 0}}, []int{1, 4}, bounds(50, 0)},
		{"an OOM follows", defaultConfig(), []entry{{segmentAlloc, 20, 0}, {segmentFree, 20, 0}, {oom, 40, 900}}, nil, bounds(20, 40)},
		{"the smallest refused size counts", defaultConfig(), []entry{{segmentAlloc, 20, 0}, {oom, 40, 900}, {oom, 30, 900}, {oom, 50, 900}}, nil, bounds(20, 50)},
		{"the device is full", defaultConfig(), []entry{{segmentAlloc, 20, 0}, {oom, 40, 10}}, nil, bounds(30, 30)},
		{"oversize blocks are released", split, []entry{{segmentAlloc, 70, 0}, {segmentAlloc, 20, 0}, {segmentFree, 70, 0}, {segmentAlloc, 80, 0}}, nil, bounds(100, 170)},
		{"old segments are garbage collected", collecting, []entry{{segmentAlloc, 20, 0}, {segmentFree, 20, 0}, {segmentAlloc, 20, 0}}, nil, bounds(20, 40)},
	} {
		var trace []snapshot.TraceEntry
		for _, e := range c.trace {
			trace = append(trace, snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: e.action, Size: e.mib * spec.MiB, Addr: spec.Ptr(e.free * spec.MiB)}})
		}
		got := inferSegmentFrees(trace, nil, c.config, nil)
		var emptied []int
		for i := range trace {
			if doubtful, isEmptied := got.emptied[i]; isEmptied && !doubtful {
				emptied = append(emptied, i)
			}
		}
		got.limit = bounds(got.limit.Least, got.limit.Most)
		want := bounds(c.limit.Least*spec.MiB, c.limit.Most*spec.MiB)
		if want.Refused() && !want.Known() {
			want.Most-- // the largest limit under which it is refused
		}
		if !slices.Equal(emptied, c.emptied) || got.limit != want {
			t.Errorf("%s: emptied before %v, not %v; the limit is in %v, not %v", c.what, emptied, c.emptied, got.limit, want)
		}
	}
}

func defaultConfig() spec.Config { return spec.DefaultConfig(spec.DefaultGeometry()) }

// TestStacksOfSegments: whether freed segments have the call stacks of their allocation. Unmapped pages have none to compare.
func TestStacksOfSegments(t *testing.T) {
	own, other := snapshot.Frames{{Name: "own"}}, snapshot.Frames{{Name: "other"}}
	for _, test := range []struct {
		action spec.Action
		frames snapshot.Frames
		want   bool
	}{
		{spec.ActionSegmentFree, own, true}, {spec.ActionSegmentFree, other, false}, {spec.ActionSegmentUnmap, other, true}, {spec.ActionFreeCompleted, other, true},
	} {
		f := &segmentFreeReader{allocatedBy: map[spec.Ptr]snapshot.Frames{0x1000: own}}
		f.trace = []snapshot.TraceEntry{{TraceEntry: spec.TraceEntry{Action: test.action, Addr: 0x1000}, Context: &snapshot.Context{Frames: test.frames}}}
		if got := f.stacksOfSegments(0, 2); got != test.want {
			t.Errorf("%v with %v: %v", test.action, test.frames, got)
		}
	}
}

// TestFreesAtEndOfTrace: a trace can end with segments that a request freed, without the entry of the request.
func TestFreesAtEndOfTrace(t *testing.T) {
	var trace []snapshot.TraceEntry
	for _, a := range []spec.Action{spec.ActionSegmentAlloc, spec.ActionSegmentFree} {
		trace = append(trace, snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: a, Size: 20 * spec.MiB}})
	}
	if got := inferSegmentFrees(trace, nil, defaultConfig(), map[int]bool{1: false}); len(got.emptied) != 0 || len(got.refusals) != 1 || got.refusals[0].entry != 2 {
		t.Errorf("%+v", got)
	}
}

// TestRefusedAfterGranted: more was granted than refused. A full device moves; a memory fraction that was shown by an
// entry stays one.
func TestRefusedAfterGranted(t *testing.T) {
	for _, test := range []struct {
		what     string
		fraction bool
		want     LimitKind
	}{{"nothing tells the kind", false, DeviceLimit}, {"a memory fraction refused", true, FractionLimit}} {
		f := &segmentFreeReader{segmentFrees: segmentFrees{peak: 900}, leastFraction: 800, sure: upperBounds{device: 500, fraction: 600}, fraction: test.fraction}
		f.concludeKind()
		most := uint64(900)
		if test.fraction {
			most = 800
		}
		if b := f.limit; b.Kind != test.want || !b.Moved || b.Most != most {
			t.Errorf("%s: %+v", test.what, b)
		}
	}
}

// TestDoubtfulFreesNearLimit: doubtful frees bound a memory fraction by what a memory fraction is compared with, which is
// not what a device is asked for.
func TestDoubtfulFreesNearLimit(t *testing.T) {
	for _, test := range []struct {
		kind        LimitKind
		doubt       upperBounds
		doubtful    int
		most, bound uint64
	}{
		{FractionLimit, upperBounds{device: 2000, fraction: 850}, 0, 850, 850},
		{FractionLimit, upperBounds{device: 850, fraction: 2000}, 1, 900, 900},
		{DeviceLimit, upperBounds{device: 850, fraction: 2000}, 0, 900, 900},
		{DeviceLimit, upperBounds{device: 2000, fraction: 850}, 1, 900, 900},
	} {
		f := &segmentFreeReader{segmentFrees: segmentFrees{doubtful: 1, emptied: map[int]bool{3: true}}, doubt: test.doubt}
		f.limit = LimitBounds{Kind: test.kind, Least: 800, Most: 900, ofFraction: [2]uint64{800, 900}}
		f.dropDoubt()
		if f.doubtful != test.doubtful || f.limit.Most != test.most || f.limit.ofFraction[1] != test.bound {
			t.Errorf("%+v: %d doubtful, %+v", test, f.doubtful, f.limit)
		}
	}
}
