package history

import (
	"maps"
	"slices"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// TestFreesSmall: whether a page, or a segment of a small pool, is among the freed segments.
func TestFreesSmall(t *testing.T) {
	f := &segmentFreeReader{}
	for _, e := range []spec.TraceEntry{
		{Action: spec.ActionSegmentFree, Size: 20 * spec.MiB}, {Action: spec.ActionSegmentFree, Size: 2 * spec.MiB}, {Action: spec.ActionSegmentUnmap, Size: 20 * spec.MiB}, {Action: spec.ActionAlloc, Size: 512},
	} {
		f.trace = append(f.trace, snapshot.TraceEntry{TraceEntry: e, Context: &snapshot.Context{}})
	}
	for _, test := range []struct {
		first, end int
		want       bool
	}{{0, 1, false}, {1, 2, true}, {0, 2, true}, {2, 3, true}, {3, 4, false}, {0, 0, false}} {
		if got := f.freesSmall(test.first, test.end); got != test.want {
			t.Errorf("%d to %d: %v", test.first, test.end, got)
		}
	}
}

// TestWanted: pages are mapped for the segment of their request, of which the fraction is compared with the whole before the first pages.
func TestWanted(t *testing.T) {
	const mapped, fixed, alloc = spec.ActionSegmentMap, spec.ActionSegmentAlloc, spec.ActionAlloc
	for _, test := range []struct {
		trace []spec.Action // of 2 MiB each
		bytes uint64        // for the last page or segment, in MiB
		known bool
	}{
		{[]spec.Action{fixed, alloc}, 2, true}, {[]spec.Action{mapped, alloc}, 20, true}, {[]spec.Action{alloc, mapped, alloc}, 20, true}, {[]spec.Action{mapped, mapped, alloc}, 2, false},
		{[]spec.Action{alloc, mapped, mapped, alloc}, 2, false}, {[]spec.Action{mapped, spec.ActionOOM}, 2, false}, {[]spec.Action{mapped}, 2, false},
	} {
		f := &segmentFreeReader{settings: DefaultSettings()}
		last := 0
		for i, a := range test.trace {
			f.trace = append(f.trace, snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: a, Size: 2 * spec.MiB}, Context: NoContext})
			if a == mapped || a == fixed {
				last = i
			}
		}
		if bytes, known := f.wanted(last); bytes != test.bytes*spec.MiB || known != test.known {
			t.Errorf("%v: %d MiB, %v", test.trace, bytes/spec.MiB, known)
		}
	}
}

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
		got := inferSegmentFrees(trace, nil, SettingsOf(c.config), nil)
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

// TestStacksOfSegments: whether freed segments have the call stacks of their allocation. Unmapped
// pages have none to compare.
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

// TestFreesAtEndOfTrace: a trace can end with segments that a request freed, without the entry of
// the request.
func TestFreesAtEndOfTrace(t *testing.T) {
	var trace []snapshot.TraceEntry
	for _, a := range []spec.Action{spec.ActionSegmentAlloc, spec.ActionSegmentFree} {
		trace = append(trace, snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: a, Size: 20 * spec.MiB}})
	}
	if got := inferSegmentFrees(trace, nil, SettingsOf(defaultConfig()), map[int]bool{1: false}); len(got.emptied) != 0 || len(got.refusals) != 1 || got.refusals[0].entry != 2 {
		t.Errorf("%+v", got)
	}
}

// TestRefusedAfterGranted: more was granted than refused. A full device moves; a memory fraction
// that was shown by an entry stays one.
func TestRefusedAfterGranted(t *testing.T) {
	for _, test := range []struct {
		what     string
		fraction bool
		want     LimitKind
	}{{"nothing tells the kind", false, DeviceLimit}, {"a memory fraction refused", true, FractionLimit}} {
		f := &segmentFreeReader{segmentFrees: segmentFrees{peak: 900}, leastFraction: 800, sure: UpperBounds{Device: 500, Fraction: 600}, fraction: test.fraction}
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

// TestDoubtfulFreesNearLimit: doubtful frees bound a memory fraction by what a memory fraction is
// compared with, which is not what a device is asked for.
func TestDoubtfulFreesNearLimit(t *testing.T) {
	for _, test := range []struct {
		kind        LimitKind
		doubt       UpperBounds
		moved       bool
		doubtful    int
		most, bound uint64
	}{
		{FractionLimit, UpperBounds{Device: 2000, Fraction: 850}, false, 0, 850, 850},
		{FractionLimit, UpperBounds{Device: 850, Fraction: 2000}, false, 1, 900, 900},
		{DeviceLimit, UpperBounds{Device: 850, Fraction: 2000}, false, 0, 900, 900},
		{DeviceLimit, UpperBounds{Device: 2000, Fraction: 850}, false, 1, 900, 900},
		{DeviceLimit, UpperBounds{Device: 900, Fraction: 2000}, false, 0, 900, 900}, // one part in eight above
		{DeviceLimit, UpperBounds{Device: 901, Fraction: 2000}, false, 1, 900, 900},
		{DeviceLimit, UpperBounds{Device: 800, Fraction: 2000}, false, 0, 900, 900},
		{DeviceLimit, UpperBounds{Device: 799, Fraction: 2000}, false, 1, 900, 900}, // below what was reserved
		{DeviceLimit, UpperBounds{Device: 850, Fraction: 2000}, true, 1, 900, 900},  // a limit that has moved
		{UnknownLimit, UpperBounds{Device: 850, Fraction: 850}, false, 1, 900, 900},
		{NoLimit, UpperBounds{Device: 850, Fraction: 850}, false, 1, 900, 900},
	} {
		f := &segmentFreeReader{segmentFrees: segmentFrees{doubtful: 1, emptied: map[int]bool{3: true}}, doubt: test.doubt}
		f.limit = LimitBounds{Kind: test.kind, Least: 800, Most: 900, OfFraction: [2]uint64{800, 900}, Moved: test.moved}
		f.dropDoubt()
		if f.doubtful != test.doubtful || f.limit.Most != test.most || f.limit.OfFraction[1] != test.bound {
			t.Errorf("%+v: %d doubtful, %+v", test, f.doubtful, f.limit)
		}
	}
}

// TestDoubtfulFrees: whether frees of segments are certain to be those of empty_cache, or of a
// refused request, or garbage. An out of memory behind them is one refusal, not two.
func TestDoubtfulFrees(t *testing.T) {
	const (
		segmentAlloc = spec.ActionSegmentAlloc
		segmentFree  = spec.ActionSegmentFree
		alloc        = spec.ActionAlloc
		oom          = spec.ActionOOM
	)
	type entry struct {
		action spec.Action
		mib    uint64
		stack  string // "": not recorded
	}
	collecting, expandable := defaultConfig(), defaultConfig()
	expandable.ExpandableSegments = true
	collecting.GarbageCollectionThreshold = 0.2
	for _, test := range []struct {
		what     string
		config   spec.Config
		trace    []entry
		emptied  map[int]bool // the value is true if the frees are doubtful
		refusals []int        // their entries
		doubtful int          // of the refusals
		open     bool
		below    [2]uint64 // MiB that a full device, and a memory fraction, had not; 0: nothing tells
		doubt    [2]uint64 // the same if the doubtful frees were those of refused requests
	}{
		{"before an OOM", defaultConfig(), []entry{{segmentAlloc, 20, ""}, {segmentFree, 20, ""}, {oom, 40, ""}}, map[int]bool{1: true}, []int{2}, 0, false, [2]uint64{0, 40}, [2]uint64{0, 0}},
		{"before an OOM, and it is the request that frees", defaultConfig(), []entry{{segmentAlloc, 20, "a"}, {segmentFree, 20, "b"}, {oom, 40, "b"}}, map[int]bool{}, []int{2}, 0, false, [2]uint64{0, 40}, [2]uint64{0, 0}},
		{"before an OOM, by something else", defaultConfig(), []entry{{segmentAlloc, 20, "a"}, {segmentFree, 20, "c"}, {oom, 40, "b"}}, map[int]bool{1: false}, []int{2}, 0, false, [2]uint64{0, 40}, [2]uint64{0, 0}},
		{"before an OOM, with the stack of the segment, which the request has as well", defaultConfig(), []entry{{segmentAlloc, 20, "a"}, {segmentFree, 20, "a"}, {oom, 40, "a"}}, map[int]bool{1: true}, []int{2}, 0, false, [2]uint64{0, 40}, [2]uint64{0, 0}},
		{"before a segment", defaultConfig(), []entry{{segmentAlloc, 20, ""}, {segmentFree, 20, ""}, {segmentAlloc, 40, ""}, {alloc, 40, ""}}, map[int]bool{1: true}, []int{3}, 1, false, [2]uint64{60, 60}, [2]uint64{60, 60}},
		{"before a segment, and it is the request that frees", defaultConfig(), []entry{{segmentAlloc, 20, "a"}, {segmentFree, 20, "b"}, {segmentAlloc, 40, "b"}, {alloc, 40, "b"}}, map[int]bool{}, []int{3}, 0, false, [2]uint64{60, 60}, [2]uint64{0, 0}},
		{"before a segment, and the request has no stack", defaultConfig(), []entry{{segmentAlloc, 20, "a"}, {alloc, 20, "a"}, {segmentFree, 20, "b"}, {segmentAlloc, 40, ""}, {alloc, 40, ""}}, map[int]bool{2: true}, []int{4}, 1, false, [2]uint64{60, 60}, [2]uint64{60, 60}},
		{"before pages, of which a memory fraction is compared with the request", expandable, []entry{{spec.ActionSegmentMap, 20, ""}, {spec.ActionSegmentUnmap, 20, ""}, {spec.ActionSegmentMap, 20, ""}, {alloc, 15, ""}},
			map[int]bool{1: true}, []int{3}, 1, false, [2]uint64{40, 36}, [2]uint64{40, 36}},
		{"by empty_cache", defaultConfig(), []entry{{segmentAlloc, 20, "a"}, {segmentFree, 20, "empty_cache"}, {oom, 40, "empty_cache"}}, map[int]bool{1: false}, []int{2}, 0, false, [2]uint64{0, 40}, [2]uint64{0, 0}},
		{"garbage", collecting, []entry{{segmentAlloc, 90, ""}, {segmentFree, 90, ""}, {alloc, 1, ""}, {segmentAlloc, 20, ""}, {segmentFree, 20, ""}, {segmentAlloc, 30, ""}, {alloc, 30, ""}},
			map[int]bool{1: false, 4: true}, nil, 0, false, [2]uint64{100, 100}, [2]uint64{0, 0}},
		{"garbage, by its stack", collecting, []entry{{segmentAlloc, 90, "a"}, {segmentFree, 90, "b"}, {alloc, 1, "c"}, {segmentAlloc, 20, "a"}, {segmentFree, 20, "b"}, {segmentAlloc, 30, "b"}, {alloc, 30, "b"}},
			map[int]bool{1: false}, nil, 0, false, [2]uint64{100, 100}, [2]uint64{0, 0}},
		{"a small segment is no garbage", collecting, []entry{{segmentAlloc, 90, ""}, {segmentFree, 90, ""}, {alloc, 1, ""}, {segmentAlloc, 2, ""}, {segmentFree, 2, ""}, {segmentAlloc, 30, ""}, {alloc, 30, ""}},
			map[int]bool{1: false, 4: false}, nil, 0, false, [2]uint64{0, 0}, [2]uint64{0, 0}},
		{"garbage, or of a refused request", collecting, []entry{{segmentAlloc, 20, ""}, {segmentFree, 20, ""}, {segmentAlloc, 40, ""}, {alloc, 40, ""}}, map[int]bool{1: true}, []int{3}, 1, true, [2]uint64{100, 100}, [2]uint64{100, 100}},
	} {
		var trace []snapshot.TraceEntry
		for _, e := range test.trace {
			context := &snapshot.Context{}
			if e.stack != "" {
				context.Frames = snapshot.Frames{{Filename: "a.py", Line: 1, Name: e.stack}}
			}
			trace = append(trace, snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: e.action, Size: e.mib * spec.MiB}, Context: context})
		}
		got := inferSegmentFrees(trace, nil, SettingsOf(test.config), nil)
		var refusals []int
		for _, r := range got.refusals {
			refusals = append(refusals, r.entry)
		}
		if !maps.Equal(got.emptied, test.emptied) || !slices.Equal(refusals, test.refusals) || got.doubtful != test.doubtful || got.retriesOpen != test.open {
			t.Errorf("%s: emptied %v, refused %v, %d of them doubtful, open %v", test.what, got.emptied, refusals, got.doubtful, got.retriesOpen)
		}
		below := func(device, fraction uint64) [2]uint64 {
			return [2]uint64{(device + 1) / spec.MiB, (fraction + 1) / spec.MiB}
		}
		if b := got.limit; below(b.OfDevice[1], b.OfFraction[1]) != test.below || below(b.Doubtful.Device, b.Doubtful.Fraction) != test.doubt || b.ByGarbage != (len(refusals) == 0 && test.below[1] > 0) {
			t.Errorf("%s: %+v", test.what, b)
		}
	}
}

// TestKindsOfLimits: which limit the refusals tell of, and its bounds. As much may be refused as
// was granted before, without another process.
func TestKindsOfLimits(t *testing.T) {
	for _, test := range []struct {
		what string
		f    segmentFreeReader
		want LimitBounds
	}{
		{"nothing was refused", segmentFreeReader{}, LimitBounds{Kind: NoLimit, Least: 700}},
		{"something was", segmentFreeReader{sure: UpperBounds{Device: 800, Fraction: 820}}, LimitBounds{Kind: UnknownLimit, Least: 700, Most: 800}},
		{"perhaps something was", segmentFreeReader{doubt: UpperBounds{Device: 800, Fraction: 820}}, LimitBounds{Kind: UnknownLimit, Least: 700, Most: 800}},
		{"by a memory fraction", segmentFreeReader{fraction: true, sure: UpperBounds{Device: 800, Fraction: 820}}, LimitBounds{Kind: FractionLimit, Least: 600, Most: 820, Inferred: true}},
		{"by a memory fraction that is known", segmentFreeReader{fraction: true, sure: UpperBounds{Device: 700, Fraction: 600}}, LimitBounds{Kind: FractionLimit, Least: 600, Most: 600, Inferred: true}},
		{"garbage was collected", segmentFreeReader{collected: true, sure: UpperBounds{Device: 800, Fraction: 820}}, LimitBounds{Kind: FractionLimit, Least: 600, Most: 820, ByGarbage: true}},
		{"by a full device", segmentFreeReader{full: true, leastOfDevice: 750, mostOfDevice: 750, sure: UpperBounds{Device: 800, Fraction: 820}}, LimitBounds{Kind: DeviceLimit, Least: 750, Most: 750}},
		{"by a full device, twice", segmentFreeReader{full: true, leastOfDevice: 750, mostOfDevice: 760, sure: UpperBounds{Device: 800, Fraction: 820}}, LimitBounds{Kind: DeviceLimit, Least: 750, Most: 760, Moved: true}},
		{"by a full device, that had more before", segmentFreeReader{full: true, leastOfDevice: 650, mostOfDevice: 650, sure: UpperBounds{Device: 660, Fraction: 820}}, LimitBounds{Kind: DeviceLimit, Least: 650, Most: 650, Moved: true}},
		{"as much as was granted, by either", segmentFreeReader{sure: UpperBounds{Device: 700, Fraction: 720}}, LimitBounds{Kind: UnknownLimit, Least: 700, Most: 700}},
		{"less than was granted, but not of a fraction", segmentFreeReader{sure: UpperBounds{Device: 500, Fraction: 620}}, LimitBounds{Kind: UnknownLimit, Least: 600, Most: 620}},
		{"as much as was granted of a fraction, and less of a device", segmentFreeReader{sure: UpperBounds{Device: 500, Fraction: 600}}, LimitBounds{Kind: UnknownLimit, Least: 600, Most: 600}},
		{"less than was granted, if it was refused", segmentFreeReader{doubt: UpperBounds{Device: 500, Fraction: 510}}, LimitBounds{Kind: UnknownLimit, Least: 500, Most: 700}},
		{"less than was granted", segmentFreeReader{sure: UpperBounds{Device: 500, Fraction: 510}}, LimitBounds{Kind: DeviceLimit, Least: 500, Most: 700, Moved: true}},
	} {
		f := test.f
		f.peak, f.leastFraction = 700, 600
		f.concludeKind()
		got := f.limit
		device := [2]uint64{700, max(f.sure.Device, f.doubt.Device)}
		if f.full {
			device = [2]uint64{f.leastOfDevice, f.mostOfDevice}
		}
		if got.OfDevice != device || got.OfFraction != [2]uint64{600, max(f.sure.Fraction, f.doubt.Fraction)} || got.Doubtful != f.doubt {
			t.Errorf("%s: %+v of a device, %+v of a memory fraction, %+v if doubtful frees were refused requests", test.what, got.OfDevice, got.OfFraction, got.Doubtful)
		}
		got.OfFraction, got.OfDevice, got.Doubtful = test.want.OfFraction, test.want.OfDevice, test.want.Doubtful
		if got != test.want {
			t.Errorf("%s: %+v, not %+v", test.what, got, test.want)
		}
	}
}

// TestRefusedSize: a request was refused under the largest limit that did not do for it.
func TestRefusedSize(t *testing.T) {
	var entries []snapshot.TraceEntry
	for _, e := range []spec.TraceEntry{
		{Action: spec.ActionSegmentAlloc, Size: 20 * spec.MiB}, {Action: spec.ActionSegmentFree, Size: 20 * spec.MiB},
		{Action: spec.ActionSegmentAlloc, Size: 30 * spec.MiB}, {Action: spec.ActionOOM, Size: 40 * spec.MiB, Addr: spec.Ptr(900 * spec.MiB)},
	} {
		entries = append(entries, snapshot.TraceEntry{TraceEntry: e})
	}
	got := inferSegmentFrees(entries, nil, SettingsOf(defaultConfig()), nil).refusals
	if len(got) != 2 || got[0].allowed != 50*spec.MiB-1 || got[1].allowed != 70*spec.MiB-1 {
		t.Errorf("%+v", got)
	}
}

// TestAllocatedPeak: blocks of the start count, requests are rounded, and a block ends with the request
// to free it.
func TestAllocatedPeak(t *testing.T) {
	entry := func(a spec.Action, at spec.Ptr, size uint64) snapshot.TraceEntry {
		return snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: a, Addr: at, Size: size}}
	}
	start := []spec.Segment{{Blocks: []spec.Block{{Address: 1 << 20, Size: 1024, State: spec.ActiveAllocated}, {Address: 2 << 20, Size: 4096}}}}
	trace := []snapshot.TraceEntry{
		entry(spec.ActionAlloc, 3<<20, 513), entry(spec.ActionFreeRequested, 1<<20, 1000), entry(spec.ActionAlloc, 4<<20, 1),
		entry(spec.ActionFreeRequested, 9<<20, 1), entry(spec.ActionFreeCompleted, 3<<20, 513), entry(spec.ActionAlloc, 5<<20, 600),
	}
	if got := AllocatedPeak(trace, start, DefaultSettings()); got != 1024+512+1024 {
		t.Errorf("%d bytes", got)
	}
}
