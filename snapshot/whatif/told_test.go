package whatif

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/snapshot"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// What is said of comparisons, of which each has one property.

func TestCauses(t *testing.T) {
	failed := &OutOfMemory{Requested: 20 * spec.MiB, LargestFreeBlock: 20 * spec.MiB}
	for _, test := range []struct {
		what string
		now  Prediction
		want Cause
	}{
		{"no prediction was made", Prediction{Err: errors.New("no")}, UnknownCause},
		{"nothing fails", Prediction{}, NoCause},
		{"a block of the size of the request is free", Prediction{Outcome: Outcome{FirstOOM: failed}}, Shortage},
		{"a request of a pool", Prediction{Outcome: Outcome{FirstOOM: &OutOfMemory{InPool: true}}}, PoolCause},
	} {
		c := &Comparison{Workload: &Workload{}, Predictions: []Prediction{test.now}, readings: []Reading{{}}}
		if got := c.Cause(); got != test.want {
			t.Errorf("%s: %v, want %v", test.what, got, test.want)
		}
		if why := c.why(); test.want == Shortage && !strings.Contains(why, "made again, the request succeeds") {
			t.Errorf("%s: %s", test.what, why)
		}
	}
}

func TestLimitNotes(t *testing.T) {
	for _, test := range []struct {
		bounds LimitBounds
		want   string
	}{
		{LimitBounds{Kind: DeviceLimit, Least: 100, Most: 100}, "Limit: the device was full at 100 bytes (100 bytes) of this process, by the record. --device-memory"},
		{LimitBounds{Kind: DeviceLimit, Least: 100, Most: 100, Moved: true}, "other processes' memory moved the bound"},
		{LimitBounds{Kind: DeviceLimit}, "Limit: none."},
	} {
		c := &Comparison{Workload: &Workload{Limit: test.bounds}, readings: []Reading{{}}}
		if got := c.LimitNote(); !strings.Contains(got, test.want) {
			t.Errorf("%+v: %s", test.bounds, got)
		}
	}
}

func TestExportedVariable(t *testing.T) {
	for _, test := range []struct {
		version snapshot.Version
		want    string
	}{
		{snapshot.Version{Least: 9, Most: 11}, "export PYTORCH_ALLOC_CONF=a:1"},
		{snapshot.Version{Least: 0, Most: 8}, "export PYTORCH_CUDA_ALLOC_CONF=a:1"},
		{snapshot.Version{Least: 8, Most: 9}, "export PYTORCH_ALLOC_CONF=a:1 PYTORCH_CUDA_ALLOC_CONF=a:1"},
	} {
		if got := exportFor(test.version, "a:1"); got != test.want {
			t.Errorf("%v: %s", test.version, got)
		}
	}
	if got := exportFor(snapshot.Version{Least: 9, Most: 11}, "a:[1]"); got != "export PYTORCH_ALLOC_CONF='a:[1]'" {
		t.Error(got)
	}
}

// TestSlotsAreTaken: an address that was chosen is not chosen again while it is allocated.
func TestSlotsAreTaken(t *testing.T) {
	s := &scatter{fakegpu.Ascending(0), 7, map[uint64]bool{}}
	first := s.Place(2 * spec.MiB)
	s.state = 7
	if second := s.Place(2 * spec.MiB); second == first {
		t.Errorf("%v is allocated twice", first)
	}
	s.Vacate(first, 2*spec.MiB)
	s.state = 7
	if again := s.Place(2 * spec.MiB); again != first {
		t.Errorf("%v is free, and %v was chosen", first, again)
	}
}

// TestCompletionsAtTheEnd: a completed free that is not in the record, which ends with others.
func TestCompletionsAtTheEnd(t *testing.T) {
	completed := spec.TraceEntry{Action: spec.ActionFreeCompleted, Addr: 0x200}
	v := &verifier{w: &Workload{trace: []snapshot.TraceEntry{{TraceEntry: completed}}}, completed: map[int]bool{}}
	other := completed
	other.Addr = 0x400
	if at := v.nextEntry(&other); at != 0 || v.next != 1 {
		t.Errorf("entry %d is compared, the next is %d", at, v.next)
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
	got := inferSegmentFrees(entries, nil, defaultConfig(), nil).refusals
	if len(got) != 2 || got[0].allowed != 50*spec.MiB-1 || got[1].allowed != 70*spec.MiB-1 {
		t.Errorf("%+v", got)
	}
}

// TestJoinedStreams: a request on another stream of a thread that captures may be one of the capture.
func TestJoinedStreams(t *testing.T) {
	const log = `{"format":"allocator-trace","version":2,"total_memory":1073741824,"streams":[0,16,32]}
{"op":"pool_begin","pool":[1,0],"by":"capture","stream":1}
{"op":"malloc","id":1,"size":512,"stream":1,"addr":4194304,"events":[["segment_alloc",4194304,2097152,16],["alloc",4194304,512,16]]}
{"op":"malloc","id":2,"size":512,"stream":2,"addr":8388608,"events":[["segment_alloc",8388608,2097152,32],["alloc",8388608,512,32]]}
{"op":"malloc","id":4,"size":512,"stream":1,"addr":4194816,"events":[["alloc",4194816,512,16]]}
{"op":"malloc","id":5,"size":512,"stream":2,"thread":3,"addr":8389632,"events":[["alloc",8389632,512,32]]}
{"op":"pool_end","pool":[1,0]}
{"op":"malloc","id":3,"size":512,"stream":2,"addr":8389120,"events":[["alloc",8389120,512,32]]}
{"end":true}
`
	reader, err := trace.NewReader(strings.NewReader(log), "log")
	if err != nil {
		t.Fatal(err)
	}
	w, err := FromTrace(reader, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if w.Unrecorded.UnknownPools != 1 || w.Mallocs != 5 {
		t.Errorf("%d of %d requests may be of the capture", w.Unrecorded.UnknownPools, w.Mallocs)
	}
}

// TestOptionalInAnyRun: a request that fails in one of the runs is told, also if it does not in the first.
func TestOptionalInAnyRun(t *testing.T) {
	w := &Workload{Requests: []Request{{Kind: FailedMalloc}, {Kind: Malloc}}}
	w.Unrecorded.OOMs = 1
	missed := Outcome{Missed: true, FirstOOM: &OutOfMemory{Request: 1}}
	for _, second := range []Outcome{{}, missed} {
		c := &comparing{Comparison: Comparison{Workload: w, readings: []Reading{{}}}}
		p := &Prediction{}
		c.findReasons(p, runs{{runJob: runJob{assumptions: measuredDriver}}, {runJob: runJob{assumptions: packedStart}, outcome: second}})
		if told := slices.Contains(p.InexactReasons, OptionalRequests); told != second.Missed {
			t.Errorf("a request fails %v: told %v: %v", second.Missed, told, p.InexactReasons)
		}
	}
}

// TestReasons: the reason why settings help is that of what they change.
func TestReasons(t *testing.T) {
	for _, test := range []struct{ settings, want string }{
		{"expandable_segments:True", "expandable segments map memory page by page"},
		{"max_split_size_mb:64", "blocks of 64.00 MiB and more are not split"},
		{"roundup_power2_divisions:4", "rounded to fewer different sizes"},
		{"garbage_collection_threshold:0.6", "have not been used for long are freed"},
		{"large_segment_size_mb:32", "segments have another size"},
	} {
		if got := reason(&Prediction{Settings: test.settings}, &Prediction{}); !strings.Contains(got, test.want) {
			t.Errorf("%s: %q", test.settings, got)
		}
	}
}

// TestUndoneFrees: which entries contradict the state after them, by what is at their address then.
func TestUndoneFrees(t *testing.T) {
	nothing, allocated, pending := []activeBlock(nil), []activeBlock{{size: 512}}, []activeBlock{{size: 512, pendingFree: true}}
	for _, test := range []struct {
		what       string
		action     spec.Action
		after      []activeBlock
		skipped    []spec.Action
		consistent bool
	}{
		{"allocated", spec.ActionAlloc, allocated, nil, true},
		{"allocated, and it is not there", spec.ActionAlloc, nothing, nil, false},
		{"allocated, and it has been freed", spec.ActionAlloc, pending, nil, false},
		{"free completed", spec.ActionFreeCompleted, nothing, nil, true},
		{"free completed, and it is there", spec.ActionFreeCompleted, allocated, nil, false},
		{"free completed, and the free is pending", spec.ActionFreeCompleted, pending, nil, false},
		{"free requested", spec.ActionFreeRequested, pending, nil, true},
		{"free requested, and it is allocated", spec.ActionFreeRequested, allocated, nil, false},
		{"free requested, and it is not there", spec.ActionFreeRequested, nothing, nil, false},
		{"free requested, without completions", spec.ActionFreeRequested, nothing, []spec.Action{spec.ActionFreeCompleted}, true},
		{"free requested, without completions, and it is allocated", spec.ActionFreeRequested, allocated, []spec.Action{spec.ActionFreeCompleted}, false},
	} {
		s := &allocatorState{skipped: test.skipped}
		for _, b := range test.after {
			s.active.Set(0x1000, b)
		}
		consistent := s.undo(&snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: test.action, Addr: 0x1000, Size: 512}})
		if consistent != test.consistent {
			t.Errorf("%s: consistent is %v, not %v", test.what, consistent, test.consistent)
		}
	}
}

// TestFragmentationText: what is free is enough for the request, by itself or with what a limit leaves. Of two possible
// limits the one is told under which that is so.
func TestFragmentationText(t *testing.T) {
	const free = "Cause: fragmentation. 40.00 MiB is reserved but free"
	for _, test := range []struct {
		requested, reserved uint64 // in MiB
		limits              []uint64
		want                string
	}{
		{40, 90, []uint64{100}, free + ", enough for the request in one piece; but no free block is larger than 25.00 MiB."},
		{30, 100, []uint64{100}, free + ", enough for the request in one piece; but no free block is larger than 25.00 MiB."},
		{50, 85, []uint64{100}, free + ", and a limit of 100.00 MiB leaves 15.00 MiB more: 55.00 MiB together, enough for the request in one piece; but no free block is larger than 25.00 MiB."},
		{50, 85, []uint64{90, 110}, free + ", and a limit of 110.00 MiB leaves 25.00 MiB more: 65.00 MiB together, enough for the request in one piece; but no free block is larger than 25.00 MiB."},
		{50, 85, []uint64{95, 110}, free + ", and a limit of 95.00 MiB leaves 10.00 MiB more: 50.00 MiB together, enough for the request in one piece; but no free block is larger than 25.00 MiB."},
	} {
		c := &Comparison{Workload: &Workload{Config: defaultConfig(), Limit: LimitBounds{Kind: FractionLimit}}}
		for _, mib := range test.limits {
			c.readings = append(c.readings, Reading{Limits: Limits{Fraction: mib * spec.MiB}})
		}
		oom := &OutOfMemory{Requested: test.requested * spec.MiB, Reserved: test.reserved * spec.MiB, OwnFree: 40 * spec.MiB, LargestFreeBlock: 25 * spec.MiB}
		if got := c.fragmentation(oom); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// TestInconsistentEntries: how many entries contradict others is told, each counted once.
func TestInconsistentEntries(t *testing.T) {
	entry := func(a spec.Action, at spec.Ptr) snapshot.TraceEntry {
		return snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: a, Addr: at, Size: 2 * spec.MiB}, Context: noContext}
	}
	const segment, allocated, requested, completed = spec.ActionSegmentAlloc, spec.ActionAlloc, spec.ActionFreeRequested, spec.ActionFreeCompleted
	const at, elsewhere = spec.Ptr(2 * spec.MiB), spec.Ptr(64 * spec.MiB)
	for _, test := range []struct {
		what  string
		trace []snapshot.TraceEntry
		want  []string
	}{
		{"none", []snapshot.TraceEntry{entry(segment, at), entry(allocated, at), entry(requested, at), entry(completed, at)}, nil},
		{"a free of what was never allocated", []snapshot.TraceEntry{entry(segment, at), entry(allocated, at), entry(requested, elsewhere), entry(requested, at), entry(completed, at)},
			[]string{"1 entry of the history contradicts others"}},
		{"two free entries more than allocations", []snapshot.TraceEntry{entry(segment, at), entry(allocated, at), entry(requested, at), entry(completed, at), entry(requested, at), entry(completed, at)},
			[]string{"2 entries of the history contradict others"}},
	} {
		f := &snapshot.File{DeviceTraces: [][]snapshot.TraceEntry{test.trace}, Segments: []spec.Segment{{
			Address: at, TotalSize: 2 * spec.MiB, PoolKind: spec.LargePool, Blocks: []spec.Block{{Address: at, Size: 2 * spec.MiB, State: spec.Inactive}},
		}}}
		w, err := FromSnapshot(f, 0)
		if err != nil {
			t.Fatal(err)
		}
		c := &comparing{Comparison: Comparison{Workload: w}}
		if got := RecordMismatch.explain(c, &Prediction{}); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q", test.what, got)
		}
	}
}
