package whatif

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/snapshot"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// TestReservedMerges: a range of an expandable segment merges with those on both sides.
func TestReservedMerges(t *testing.T) {
	r := func(at spec.Ptr, bytes uint64) reservedRange {
		return reservedRange{Range: spec.Range{Ptr: at, Bytes: bytes}, stream: 7, expandable: true}
	}
	var m reservedMemory
	m.add(r(0x300, 0x100))
	m.add(r(0x100, 0x100))
	if len(m) != 2 || m[0].Ptr != 0x100 {
		t.Fatalf("%+v", m)
	}
	m.add(r(0x200, 0x100))
	if len(m) != 1 || m[0].Range != (spec.Range{Ptr: 0x100, Bytes: 0x300}) {
		t.Errorf("%+v", m)
	}
	plain := r(0x400, 0x100)
	plain.expandable = false
	if m.add(plain); len(m) != 2 {
		t.Errorf("%+v", m)
	}
	for p, want := range map[spec.Ptr]int{0xff: -1, 0x100: 0, 0x3ff: 0, 0x400: 1, 0x500: -1} {
		if got := m.rangeAt(p); got != want {
			t.Errorf("%v is in range %d, not %d", p, got, want)
		}
	}
}

// TestStreamsOfUses: a use that ends no earlier than the last one of a stream is in that stream.
func TestStreamsOfUses(t *testing.T) {
	r := &runner{}
	for _, step := range []struct {
		deadline int32
		want     int
	}{{5, 0}, {7, 0}, {6, 1}, {7, 0}, {6, 1}, {2, 2}, {9, 0}, {8, 1}} {
		if got := r.useStream(step.deadline); got != spec.Stream(firstUseStream+step.want) {
			t.Errorf("the use until %d is in stream %d, not %d", step.deadline, got-firstUseStream, step.want)
		}
	}
}

// TestRequestText: PyTorch's message has the size of the segment, which is told if a request failed in the record.
func TestRequestText(t *testing.T) {
	oom := &OutOfMemory{Requested: 5 * spec.MiB}
	for _, test := range []struct {
		recorded bool
		ooms     int
		bytes    uint64
		want     string
	}{
		{true, 1, 5 * spec.MiB, `5.00 MiB ("Tried to allocate 20.00 MiB" in PyTorch's message, which has the size of the segment)`},
		{false, 1, 5 * spec.MiB, "5.00 MiB"}, {true, 0, 5 * spec.MiB, "5.00 MiB"}, {true, 1, 20 * spec.MiB, "20.00 MiB"},
	} {
		c := &Comparison{Workload: &Workload{Config: defaultConfig()}}
		c.Workload.Unrecorded.OOMs = test.ooms
		oom.Requested = test.bytes
		if got := c.requestText(&Prediction{Recorded: test.recorded}, oom); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
	if hair(1) != "1 byte" || hair(spec.MiB-1) != "1048575 bytes" || hair(spec.MiB) != "1024.00 KiB" {
		t.Errorf("%s, %s", hair(spec.MiB-1), hair(spec.MiB))
	}
}

// TestRecordFigures: what the entries themselves say of segments and failures counts from 0.
func TestRecordFigures(t *testing.T) {
	w := &Workload{}
	for _, a := range []spec.Action{spec.ActionSegmentAlloc, spec.ActionSegmentMap, spec.ActionAlloc, spec.ActionSegmentUnmap, spec.ActionSegmentFree, spec.ActionSegmentFree, spec.ActionOOM} {
		w.trace = append(w.trace, snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: a, Size: 1}})
	}
	s := Statistics{DeviceAllocs: 90, DeviceFrees: 90, OOMs: 90}
	if w.recordFigures(&s); s.DeviceAllocs != 2 || s.DeviceFrees != 3 || s.OOMs != 1 {
		t.Errorf("%+v", s)
	}
}

// TestLikelyEmptied: the cache was freed once, and nothing else tells of a limit.
func TestLikelyEmptied(t *testing.T) {
	for _, test := range []struct {
		doubtful, refusals int
		bounds             LimitBounds
		want               bool
	}{
		{1, 1, LimitBounds{Kind: UnknownLimit, Least: 700, Most: 801}, true},
		{1, 1, LimitBounds{Kind: UnknownLimit, Least: 701, Most: 801}, false},
		{2, 1, LimitBounds{Kind: UnknownLimit, Least: 700, Most: 801}, false},
		{1, 2, LimitBounds{Kind: UnknownLimit, Least: 700, Most: 801}, false},
		{1, 1, LimitBounds{Kind: DeviceLimit, Least: 700, Most: 801}, false},
	} {
		w := &Workload{Limit: test.bounds}
		w.Unrecorded.DoubtfulFrees, w.Unrecorded.Refusals = test.doubtful, test.refusals
		if got := w.likelyEmptied(); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

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

// TestDifferentSegments: requested sizes count for active blocks of a complete history.
func TestDifferentSegments(t *testing.T) {
	segment := func(state spec.BlockState, requested uint64) []spec.Segment {
		s := spec.Segment{Address: 0x1000, TotalSize: 512, Blocks: []spec.Block{{Address: 0x1000, Size: 512, RequestedSize: requested, State: state}}}
		if state != spec.Inactive {
			s.ActiveSize, s.AllocatedSize, s.RequestedSize = 512, 512, requested
		}
		return []spec.Segment{s}
	}
	for _, test := range []struct {
		what     string
		state    spec.BlockState
		complete bool
		same     bool
	}{{"active", spec.ActiveAllocated, true, false}, {"active, and the start is missing", spec.ActiveAllocated, false, true}, {"inactive", spec.Inactive, true, true}} {
		if got := differentSegments(segment(test.state, 100), segment(test.state, 200), test.complete); (got == "") != test.same {
			t.Errorf("%s: %q", test.what, got)
		}
	}
}

// TestAsGood: a failure of another request is not as good.
func TestAsGood(t *testing.T) {
	fails := func(request uint64) *Prediction {
		p := &Prediction{Runs: 1, OOMRuns: 1}
		p.FirstOOM = &OutOfMemory{Requested: request, Number: int(request)}
		return p
	}
	if !asGood(fails(5), fails(5)) || asGood(fails(5), fails(6)) {
		t.Error("which request fails does not count, or counts twice")
	}
}

// TestFractionOfPrediction: the memory fraction of a prediction is that of its runs.
func TestFractionOfPrediction(t *testing.T) {
	w := &Workload{Config: defaultConfig(), Requests: []Request{{Kind: Malloc, Bytes: 100 * spec.MiB}}, Allocations: 1}
	c := &comparing{Comparison: Comparison{Workload: w, readings: []Reading{{}}}}
	c.options.Jobs = 1
	for fraction, fails := range map[uint64]bool{0: false, 50 * spec.MiB: true, 100 * spec.MiB: false} {
		p := &Prediction{Fraction: fraction}
		got := c.run([]runJob{{prediction: p, assumptions: measuredDriver}})[p]
		if len(got) != 1 || got[0].err != nil || (got[0].outcome.FirstOOM != nil) != fails {
			t.Errorf("under %d bytes: %+v", fraction, got)
		}
	}
}

// TestNumberOfLimit: JSON has a number for the limit, except if there was likely none.
func TestNumberOfLimit(t *testing.T) {
	for _, test := range []struct {
		doubtful int
		given    bool
		want     bool
	}{{0, false, true}, {0, true, true}, {1, false, false}, {1, true, true}} {
		w := &Workload{Limit: LimitBounds{Kind: UnknownLimit, Least: 700, Most: 900}}
		w.Unrecorded.DoubtfulFrees, w.Unrecorded.Refusals = test.doubtful, 1
		c := &Comparison{Workload: w, given: test.given, readings: []Reading{{Limits: Limits{Device: 700}}}}
		if got := c.jsonLimit(); (got.Bytes != nil) != test.want || got.Range == nil {
			t.Errorf("%+v: %+v", test, got)
		}
	}
}

// TestDeletePoolFails: that a pool cannot be released is an error of the run.
func TestDeletePoolFails(t *testing.T) {
	a, err := alloc.New(newDriver(fakegpu.RealLike(0)), alloc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{alloc: a}
	op := &repeatedOp{Op: trace.Op{Pool: spec.PoolID{User: 1}}}
	if err := a.CreatePool(0, op.Pool, spec.PoolOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.deletePool(op); err != nil {
		t.Error(err)
	}
	if err := r.deletePool(op); err == nil {
		t.Error("a pool is deleted twice")
	}
}

// TestNeedsLess: expandable segments are named if they were not compared, and only where what is missing is less than a
// segment under a memory fraction.
func TestNeedsLess(t *testing.T) {
	segment := uint64(spec.DefaultConfig(spec.DefaultGeometry()).LargeSegmentSize)
	const limit = 100 * spec.MiB
	fraction, device := Limits{Fraction: limit}, Limits{Device: limit}
	for _, test := range []struct {
		limits   Limits
		over     uint64
		settings string
		want     bool
	}{
		{fraction, segment - 1, "", true}, {fraction, segment, "", false}, {device, segment - 1, "", false},
		{fraction, segment - 1, "expandable_segments:True", false}, {device, segment, "", false},
	} {
		w := &Workload{Config: defaultConfig(), Requests: []Request{{Kind: Malloc, Bytes: limit + test.over}}, Allocations: 1}
		c := &Comparison{Workload: w, readings: []Reading{{Limits: test.limits}}, given: true, Predictions: []Prediction{{Settings: test.settings}}}
		if got := c.needsLess(); strings.Contains(got, "expandable_segments") != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// TestSkippedActions: memory whose free was requested may still be in use by streams at the end; else the action that
// completes the free was not recorded.
func TestSkippedActions(t *testing.T) {
	trace := []snapshot.TraceEntry{{TraceEntry: spec.TraceEntry{Action: spec.ActionFreeRequested, Addr: 0x1000}}}
	for _, test := range []struct {
		at    spec.Ptr
		state spec.BlockState
		want  int
	}{{0x1000, spec.ActivePendingFree, 0}, {0x2000, spec.ActivePendingFree, 1}, {0x1000, spec.Inactive, 1}} {
		end := []spec.Segment{{Blocks: []spec.Block{{Address: test.at, State: test.state}}}}
		if got := skippedActions(trace, end); len(got) != test.want || test.want > 0 && got[0] != spec.ActionFreeCompleted {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// TestShownRows: of many predictions the present one is shown even if it is the last one.
func TestShownRows(t *testing.T) {
	c := &Comparison{Workload: &Workload{Config: defaultConfig()}}
	for i := range uint64(2 * mostRows) {
		p := Prediction{Settings: fmt.Sprintf("max_split_size_mb:%d", 100+i), Limit: 1}
		p.Runs, p.PeakReserved, p.PeakReservedRange = 1, (i+1)*spec.GiB, Range{Low: (i + 1) * spec.GiB, High: (i + 1) * spec.GiB}
		c.Predictions = append(c.Predictions, p)
	}
	now := &c.Predictions[len(c.Predictions)-1]
	now.Settings = ""
	shown := c.Shown(false)
	if len(shown) != mostRows || !slices.Contains(shown, now) || len(c.Shown(true)) != 2*mostRows {
		t.Errorf("%d rows are shown, that of the present settings among them: %v", len(shown), slices.Contains(shown, now))
	}
}

// TestColumnsOfNarrowTable: a narrow table leaves out one column after the other, the least important first.
func TestColumnsOfNarrowTable(t *testing.T) {
	c := &Comparison{Workload: &Workload{Config: defaultConfig()}, readings: []Reading{{}}, LimitSearch: true}
	c.Predictions = []Prediction{{Settings: "max_split_size_mb:100"}}
	columns := []string{"settings", "peak reserved", "out of memory", "smallest limit", "alloc retries", "peak allocated", "unallocated", "device allocs+frees"}
	var counts []int
	for width := 200; width > 20; width-- {
		table := c.Table(TableOptions{Width: width})
		n := 0
		for i, name := range columns {
			if strings.Contains(table, name) {
				if n++; n != i+1 {
					t.Errorf("%d wide, with %q and without a column that is more important:\n%s", width, name, table)
				}
			}
		}
		if len(counts) == 0 || counts[len(counts)-1] != n {
			counts = append(counts, n)
		}
	}
	if want := []int{8, 7, 6, 5, 4, 3, 2}; !slices.Equal(counts, want) {
		t.Errorf("the tables have %v columns, not %v", counts, want)
	}
}

// TestTakeRecorded: the prediction for the recorded settings is the whole record. What its entries themselves have is
// believed if a replay does not reproduce it.
func TestTakeRecorded(t *testing.T) {
	allocated := snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: spec.ActionSegmentAlloc, Size: 20 * spec.MiB}}
	failed := snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: spec.ActionOOM, Size: 40 * spec.MiB}}
	first, end := Statistics{PeakReserved: 1, OOMs: 1, DeviceAllocs: 5}, Statistics{PeakReserved: 2, OOMs: 2, PeakAllocated: 7, DeviceAllocs: 6}
	for _, test := range []struct {
		what   string
		exact  bool
		trace  []snapshot.TraceEntry
		want   Statistics
		failed bool
	}{
		{"reproduced", true, []snapshot.TraceEntry{allocated, failed}, end, true},
		{"not reproduced, without a failure", false, []snapshot.TraceEntry{allocated}, Statistics{PeakReserved: 20 * spec.MiB, PeakAllocated: 7, DeviceAllocs: 1}, false},
		{"not reproduced, with one failure", false, []snapshot.TraceEntry{allocated, failed}, Statistics{PeakReserved: 20 * spec.MiB, PeakAllocated: 7, DeviceAllocs: 1, OOMs: 1}, true},
	} {
		c := &comparing{Comparison: Comparison{Workload: &Workload{Config: defaultConfig(), trace: test.trace}}}
		c.recordedOutcome = Outcome{Statistics: first, AtEnd: end, FirstOOM: &OutOfMemory{}}
		if !test.exact {
			c.Verification.Differences = []string{"of another allocator"}
		}
		p := &Prediction{}
		c.takeRecorded(p)
		if p.Statistics != test.want || p.AtEnd != test.want || (p.FirstOOM != nil) != test.failed || p.PeakReservedRange.High != test.want.PeakReserved {
			t.Errorf("%s: %+v at first, %+v at the end, first failure %v, range %v", test.what, p.Statistics, p.AtEnd, p.FirstOOM, p.PeakReservedRange)
		}
	}
}

// TestBetterReplay: one that reproduces the whole record is better, else one that reproduces more of its entries. Of equals
// the first stays.
func TestBetterReplay(t *testing.T) {
	replay := func(entries int, differences ...string) *verifier {
		return &verifier{Verification: Verification{Entries: entries, Differences: differences}}
	}
	for _, test := range []struct {
		a, b *verifier
		want bool
	}{
		{replay(5, "x"), replay(4, "x"), true}, {replay(4, "x"), replay(5, "x"), false}, {replay(5, "x"), replay(5, "y"), false},
		{replay(5), replay(6, "x"), true}, {replay(6, "x"), replay(5), false}, {replay(5), replay(5), false},
	} {
		if got := better(test.a, test.b); got != test.want {
			t.Errorf("%+v is better than %+v: %v", test.a.Verification, test.b.Verification, got)
		}
	}
}

// TestEntriesOfReplay: the entries of a replay are compared with those of the record up to the first difference.
func TestEntriesOfReplay(t *testing.T) {
	type entry = spec.TraceEntry
	segment := entry{Action: spec.ActionSegmentAlloc, Addr: 0x1000, Size: 20 * spec.MiB, Stream: 7}
	freed := entry{Action: spec.ActionSegmentFree, Addr: 0x1000, Size: 20 * spec.MiB, Stream: 7}
	unmapped := entry{Action: spec.ActionSegmentUnmap, Addr: 0x1000, Size: 20 * spec.MiB, Stream: 7}
	other := func(e entry, change func(*entry)) entry {
		change(&e)
		return e
	}
	failed := entry{Action: spec.ActionOOM, Addr: 100, Size: 30 * spec.MiB}
	took := entry{Action: spec.ActionSnapshot}
	requested := entry{Action: spec.ActionFreeRequested, Addr: 0x100, Size: 512}
	completed := func(at spec.Ptr) entry { return entry{Action: spec.ActionFreeCompleted, Addr: at, Size: 512} }
	for _, test := range []struct {
		what           string
		record, replay []entry
		skipped        []spec.Action
		initial        bool // the request frees what was allocated before the history
		entries        int
		direction      int
		want           string // the first difference
	}{
		{"equal", []entry{segment, freed}, []entry{segment, freed}, nil, false, 2, 0, ""},
		{"one more", []entry{segment}, []entry{segment, freed, segment}, nil, false, 1, 0, "after the last recorded entry there is a segment_free of 20.00 MiB"},
		{"nothing was recorded", nil, []entry{segment}, nil, false, 0, 0, "after the last recorded entry there is a segment_alloc of 20.00 MiB"},
		{"the record frees more", []entry{freed, segment}, []entry{segment, segment}, nil, false, 0, 1, "entry 0 of the record is segment_free of 20.00 MiB, and its replay has segment_alloc of 20.00 MiB"},
		{"the record unmaps more", []entry{segment, unmapped}, []entry{segment, segment}, nil, false, 1, 1, "entry 1 of the record is segment_unmap of 20.00 MiB, and its replay has segment_alloc of 20.00 MiB"},
		{"the replay frees more", []entry{segment, segment}, []entry{freed, segment}, nil, false, 0, -1, "entry 0 of the record is segment_alloc of 20.00 MiB, and its replay has segment_free of 20.00 MiB"},
		{"each frees", []entry{unmapped}, []entry{freed}, nil, false, 0, 0, "entry 0 of the record is segment_unmap of 20.00 MiB, and its replay has segment_free of 20.00 MiB"},
		{"another size", []entry{segment}, []entry{other(segment, func(e *entry) { e.Size = 22 * spec.MiB })}, nil, false, 0, 0, "entry 0 of the record is segment_alloc of 20.00 MiB, and its replay has segment_alloc of 22.00 MiB"},
		{"another stream", []entry{segment}, []entry{other(segment, func(e *entry) { e.Stream = 8 })}, nil, false, 0, 0, "entry 0 of the record is segment_alloc of 20.00 MiB, and its replay has segment_alloc of 20.00 MiB on another stream"},
		{"another address", []entry{segment}, []entry{other(segment, func(e *entry) { e.Addr = 0x2000 })}, nil, false, 0, 0, "entry 0 of the record is segment_alloc of 20.00 MiB, and its replay has segment_alloc of 20.00 MiB at another address"},
		{"other free memory at an OOM", []entry{failed}, []entry{other(failed, func(e *entry) { e.Addr = 200 })}, nil, false, 1, 0, ""},
		{"snapshots", []entry{took, segment, took, freed}, []entry{segment, took, freed}, nil, false, 2, 0, ""},
		{"skipped actions", []entry{segment, freed}, []entry{segment, completed(0x100), freed}, []spec.Action{spec.ActionFreeCompleted}, false, 2, 0, ""},
		{"a free from before the history", []entry{segment, freed}, []entry{segment, requested, freed}, nil, true, 2, 0, ""},
		{"a free in the history", []entry{segment, freed}, []entry{segment, requested}, nil, false, 1, 1, "entry 1 of the record is segment_free of 20.00 MiB, and its replay has free_requested of 512 bytes"},
		{"another size of a free", []entry{completed(0x100)}, []entry{other(completed(0x100), func(e *entry) { e.Size = 1024 })}, nil, false, 1, 0, ""},
		{"frees that complete in another order", []entry{completed(0x100), completed(0x200), segment}, []entry{completed(0x200), completed(0x100), segment}, nil, false, 3, 0, ""},
		{"a free that completes later", []entry{completed(0x100), segment, completed(0x200)}, []entry{completed(0x200), segment}, nil, false, 0, 0, "entry 0 of the record is free_completed of 512 bytes, and its replay has free_completed of 512 bytes at another address"},
	} {
		w := &Workload{Config: defaultConfig()}
		w.Unrecorded.Skipped = test.skipped
		for _, e := range test.record {
			w.trace = append(w.trace, snapshot.TraceEntry{TraceEntry: e})
		}
		v := &verifier{w: w, request: &Request{Kind: Free, Initial: test.initial}, completed: map[int]bool{}}
		for _, e := range test.replay {
			v.entry(spec.HistoryEntry{TraceEntry: e})
		}
		if got := strings.Join(v.Differences, "; "); got != test.want || v.Entries != test.entries || v.direction != test.direction || v.stopped != (got != "") {
			t.Errorf("%s: %q, %d entries are reproduced, direction %d", test.what, got, v.Entries, v.direction)
		}
	}
}

// TestAddressesOfExpandableSegments: in an expandable segment all blocks have one distance from their recorded addresses.
// It is a new one for each segment, and when nothing is active in it any more.
func TestAddressesOfExpandableSegments(t *testing.T) {
	const here, far = spec.Ptr(regionBytes), spec.Ptr(3 * regionBytes)
	w := &Workload{Config: defaultConfig()}
	w.Config.ExpandableSegments = true
	v := &verifier{w: w, stopped: true, offsets: map[expandableKey]spec.Ptr{}, live: map[expandableKey]int{}, keys: map[spec.Ptr]expandableKey{}, recorded: map[spec.Ptr]spec.Ptr{}}
	for _, step := range []struct {
		what         string
		recorded, at spec.Ptr
		bytes        uint64
		stream       spec.Stream
		pool         uint8
		same         bool
	}{
		{"the first", here, 0x1000, 512, 0, 0, true},
		{"the same distance", here + 512, 0x1200, 512, 0, 0, true},
		{"another distance", here + 1024, 0x1600, 512, 0, 0, false},
		{"a large one is in another segment", here + 1<<30, 0x200000, 20 * spec.MiB, 0, 0, true},
		{"of another stream", here + 2<<30, 0x300000, 512, 7, 0, true},
		{"of another pool", here + 3<<30, 0x400000, 512, 0, 1, true},
		{"in another region", far, 0x500000, 512, 0, 0, true},
		{"and another distance there", far + 512, 0x600000, 512, 0, 0, false},
	} {
		w.trace = append(w.trace, snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Addr: step.recorded}})
		v.request = &Request{Kind: Malloc, Bytes: step.bytes, Stream: step.stream, Pool: step.pool, Entry: int32(len(w.trace) - 1)}
		before := v.SameAddress
		v.entry(spec.HistoryEntry{TraceEntry: spec.TraceEntry{Action: spec.ActionAlloc, Addr: step.at}})
		freed := v.sameAddress(&spec.TraceEntry{Action: spec.ActionFreeRequested, Addr: step.at}, step.recorded)
		if got := v.SameAddress > before; got != step.same || freed != step.same {
			t.Errorf("%s: it has the recorded address: %v, and when it is freed: %v", step.what, got, freed)
		}
	}
	for _, p := range []spec.Ptr{0x1000, 0x1200, 0x1600} {
		v.entry(spec.HistoryEntry{TraceEntry: spec.TraceEntry{Action: spec.ActionFreeCompleted, Addr: p}})
		v.request.Bytes, v.request.Pool, v.request.Entry = 512, 0, 0
		before := v.SameAddress
		v.entry(spec.HistoryEntry{TraceEntry: spec.TraceEntry{Action: spec.ActionAlloc, Addr: 0x9000 + p}})
		if got := v.SameAddress > before; got != (p == 0x1600) {
			t.Errorf("after the free of %v an allocation is where the first was: %v", p, got)
		}
		v.entry(spec.HistoryEntry{TraceEntry: spec.TraceEntry{Action: spec.ActionFreeCompleted, Addr: 0x9000 + p}})
	}
}

// TestClearlyBetter: to change settings there must be a reason under everything that the record leaves open.
func TestClearlyBetter(t *testing.T) {
	fails := func(runs int, fits uint64) Prediction { return Prediction{Runs: 4, OOMRuns: runs, fits: fits} }
	reserves := func(low, high uint64, retries int64) Prediction {
		return Prediction{Runs: 4, PeakReservedRange: Range{Low: low, High: high}, Outcome: Outcome{Statistics: Statistics{Retries: retries}}}
	}
	open := reserves(100, 100, 0)
	open.OpenEnd = true
	for _, test := range []struct {
		what   string
		p, now Prediction
		given  bool
		bounds LimitBounds
		want   bool
	}{
		{"no failure any more", fails(0, 0), fails(1, 0), false, LimitBounds{}, true},
		{"no failure any more if the limit was as large as it may have been", fails(1, 150), fails(4, 0), false, LimitBounds{Least: 100, Most: 200}, true},
		{"no failure any more if the limit was large enough, and there was one in a run", fails(1, 150), fails(1, 0), false, LimitBounds{Least: 100, Most: 200}, true},
		{"failures in all runs", fails(4, 150), fails(4, 0), false, LimitBounds{Least: 100, Most: 200}, false},
		{"failures under a limit that is given", fails(1, 150), fails(4, 0), true, LimitBounds{Least: 100, Most: 200}, false},
		{"failures under a limit that is known", fails(1, 150), fails(4, 0), false, LimitBounds{Least: 100, Most: 100}, false},
		{"failures for another reason than the limit", fails(1, 0), fails(4, 0), false, LimitBounds{Least: 100, Most: 200}, false},
		{"failures where there was none", fails(1, 150), reserves(1000, 1000, 0), false, LimitBounds{Least: 100, Most: 200}, false},
		{"less reserved", reserves(100, 500, 0), reserves(511, 600, 0), false, LimitBounds{}, true},
		{"hardly less reserved", reserves(100, 500, 0), reserves(510, 600, 0), false, LimitBounds{}, false},
		{"no bound of what is reserved", open, reserves(511, 600, 0), false, LimitBounds{}, false},
		{"less reserved, with as many retries", reserves(100, 500, 2), reserves(511, 600, 2), false, LimitBounds{}, true},
		{"less reserved, with more retries", reserves(100, 500, 3), reserves(511, 600, 2), false, LimitBounds{}, false},
	} {
		c := &Comparison{Workload: &Workload{Config: defaultConfig(), Limit: test.bounds}, given: test.given}
		if got := c.clearlyBetter(&test.p, &test.now); got != test.want {
			t.Errorf("%s: %v", test.what, got)
		}
	}
}

// TestCountedRuns: what the runs of a prediction come to.
func TestCountedRuns(t *testing.T) {
	reserved := func(bytes uint64) Outcome { return Outcome{Statistics: Statistics{PeakReserved: bytes}} }
	retried, failed, passed := reserved(100), reserved(100), reserved(100)
	retried.Retries = 1
	failed.FirstOOM = &OutOfMemory{}
	passed.Passed, passed.Parted = true, 40
	early, last := passed, reserved(100)
	early.BeforeFailure = 20
	last.AtEnd.PeakReserved = 700
	segment := uint64(defaultConfig().LargeSegmentSize)
	for _, test := range []struct {
		what     string
		settings string
		recorded bool
		limit    uint64
		runs     []Outcome
		want     Prediction
	}{
		{"without a limit", "", false, 0, []Outcome{reserved(100), reserved(300), reserved(200)}, Prediction{Runs: 3, PeakReservedRange: Range{100, 300, true}}},
		{"the first run reaches the limit", "", false, 500, []Outcome{retried, reserved(100)}, Prediction{Runs: 2, reachesLimit: true, PeakReservedRange: Range{100, 100, true}}},
		{"the last run reaches the limit", "", false, 500, []Outcome{reserved(100), retried}, Prediction{Runs: 2, reachesLimit: true, PeakReservedRange: Range{100, 100, true}}},
		{"a run fails", "", false, 500, []Outcome{reserved(100), failed, reserved(200)}, Prediction{Runs: 3, OOMRuns: 1, reachesLimit: true, PeakReservedRange: Range{100, 200, true}}},
		{"a failure of the record is passed", "", false, 0, []Outcome{passed}, Prediction{Runs: 1, OpenEnd: true, unknownEnd: true, PeakReservedRange: Range{40, 100, true}}},
		{"it is passed under a limit", "", false, 500, []Outcome{passed}, Prediction{Runs: 1, unknownEnd: true, PeakReservedRange: Range{40, 500, true}}},
		{"it is passed with expandable segments", "expandable_segments:True", false, 500, []Outcome{passed}, Prediction{Runs: 1, unknownEnd: true, PeakReservedRange: Range{40, 500 + segment, true}}},
		{"the size of a request that failed is not known", "", false, 500, []Outcome{early}, Prediction{Runs: 1, unknownEnd: true, PeakReservedRange: Range{20, 500, true}}},
		{"the program goes on after a failure", "", false, 500, []Outcome{last}, Prediction{Runs: 1, PeakReservedRange: Range{100, 700, true}}},
		{"it is passed as recorded", "", true, 500, []Outcome{passed}, Prediction{Runs: 1, PeakReservedRange: Range{100, 100, true}}},
	} {
		w := &Workload{Config: defaultConfig(), Requests: []Request{{Kind: FailedMalloc}}}
		if test.runs[0] == last { // the program goes on after a failure
			w.Requests = append(w.Requests, Request{Kind: Malloc})
		}
		w.Unrecorded.OOMs = 1
		if test.runs[0] == early { // the size of the request that failed depends on settings
			w.Config.Divisions[0] = 4
		}
		c := &comparing{Comparison: Comparison{Workload: w, readings: []Reading{{}, {Limits: Limits{Fraction: test.limit}}}}}
		p := &Prediction{Settings: test.settings, Recorded: test.recorded}
		for _, o := range test.runs {
			c.count(p, &runResult{runJob: runJob{reading: 1}, outcome: o})
		}
		if p.Runs != test.want.Runs || p.OOMRuns != test.want.OOMRuns || p.reachesLimit != test.want.reachesLimit || p.OpenEnd != test.want.OpenEnd ||
			p.unknownEnd != test.want.unknownEnd || p.PeakReservedRange != test.want.PeakReservedRange {
			t.Errorf("%s: %+v", test.what, p)
		}
	}
}

// TestPredictedOutcome: which outcome is told: that of the record, of a run with the recorded layout, or of one in which
// the memory at the start was allocated anew.
func TestPredictedOutcome(t *testing.T) {
	const record, run, anew = 7, 8, 9
	initial := []spec.Segment{{TotalSize: 20 * spec.MiB}}
	for _, test := range []struct {
		what                        string
		recorded, exact, asRecorded bool
		initial                     []spec.Segment
		settings                    string
		want                        uint64
	}{
		{"it is reproduced", true, true, true, nil, "", record},
		{"it is reproduced, and its limit is given", true, true, false, nil, "", record},
		{"it is reproduced, and the start is missing", true, true, true, initial, "", record},
		{"it is not reproduced", true, false, true, nil, "", record},
		{"it is not reproduced, and a limit is given", true, false, false, nil, "", run},
		{"it is not reproduced, and the start is missing", true, false, true, initial, "", run},
		{"another limit", false, true, false, nil, "", run},
		{"other settings", false, true, true, nil, "max_split_size_mb:64", run},
		{"other settings, and the start is missing", false, true, true, initial, "max_split_size_mb:64", anew},
		{"another limit, and the start is missing", false, true, false, initial, "", run},
	} {
		c := &comparing{Comparison: Comparison{Workload: &Workload{Config: defaultConfig(), InitialSegments: test.initial}, readings: []Reading{{}}}}
		c.options.AsRecorded = test.asRecorded
		if !test.exact {
			c.Verification.Differences = []string{"of another allocator"}
		}
		outcome := func(marker uint64) Outcome {
			s := Statistics{PeakAllocated: marker}
			return Outcome{Statistics: s, AtEnd: s}
		}
		c.recordedOutcome = outcome(record)
		p := &Prediction{Settings: test.settings, Recorded: test.recorded}
		results := runs{{runJob: runJob{assumptions: measuredDriver}, outcome: outcome(run)}, {runJob: runJob{assumptions: packedStart}, outcome: outcome(anew)}}
		c.predict(p, results)
		counted := 2
		if test.want == record {
			counted = 1
		}
		if p.PeakAllocated != test.want || p.Err != nil || p.Runs != counted {
			t.Errorf("%s: outcome %d, not %d, %v, of %d runs", test.what, p.PeakAllocated, test.want, p.Err, p.Runs)
		}
		for i := range results {
			results[i].err = errors.New("no")
			p := &Prediction{Settings: test.settings, Recorded: test.recorded}
			c.predict(p, results)
			if p.Err == nil || p.Runs != 0 || !slices.Equal(p.InexactReasons, []InexactReason{RunFailed}) || len(p.Differences) != 1 || !strings.Contains(p.Differences[0], "cannot be repeated under these settings: no") {
				t.Errorf("%s: run %d cannot be made: %v, %d runs, %v, %q", test.what, i, p.Err, p.Runs, p.InexactReasons, p.Differences)
			}
			results[i].err = nil
		}
	}
}

// TestReasonsInWords: each reason why a prediction is not exact is told.
func TestReasonsInWords(t *testing.T) {
	w := &Workload{Config: defaultConfig(), InitialSegments: []spec.Segment{{AllocatedSize: 512}}}
	w.Unrecorded = Unrecorded{
		PendingFrees: 1, OOMs: 2, Skipped: []spec.Action{spec.ActionFreeRequested},
		Unknown: []snapshot.UnknownAction{{Action: "segment_import", Entries: 3}}, UnknownSettings: []string{"page_size:1g"},
	}
	c := &comparing{Comparison: Comparison{Workload: w, Verification: Verification{Differences: []string{"one", "other"}}}}
	for reason, want := range map[InexactReason]string{
		DriverAddresses: "they depend on the addresses", StreamTiming: "1 free had to wait for other streams", PoolMembership: "there are private pools",
		MissingStart: "the beginning of the history is missing, and 512 bytes was allocated before", FailedRequests: "2 requests failed in the recorded run",
		OptionalRequests: "a request fails that a program can do without", ChangedSettings: "the program changed the settings", EmptyCacheCalls: "the program called empty_cache",
		UnknownRecord:  "3 entries of the history with the action \"segment_import\", which is not known here; the setting \"page_size:1g\" of the recorded run is not known here",
		SkippedActions: "free_requested entries were not recorded", RecordMismatch: "one; other",
	} {
		if got := strings.Join(reason.explain(c, &Prediction{}), "; "); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", reason, got)
		}
	}
}
