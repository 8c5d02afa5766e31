package torch

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
	binary "gaugeblock/tools/torch/binary"
	"gaugeblock/upstream"
)

// TestTells: PyTorch's message has each size that the reference's error has, in its words, and none that it has not.
func TestTells(t *testing.T) {
	e := spec.OutOfMemoryError{SegmentSize: 20 << 20, DeviceTotal: 64 << 20, DeviceFree: 10 << 20, Limited: true, Limit: 32 << 20, Allocated: 5 << 20, PrivatePools: 3 << 20, Unallocated: 7 << 20}
	const message = "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 64.00 MiB of which 10.00 MiB is free. 32.00 MiB allowed; " +
		"Of the allocated memory 5.00 MiB is allocated by PyTorch, with 3.00 MiB allocated in private pools (e.g., CUDA Graphs), and 7.00 MiB is reserved by PyTorch but unallocated."
	if !tells(message, &e) {
		t.Error("the message is not recognised")
	}
	for _, part := range []string{"20.00 MiB. ", "64.00 MiB of", "10.00 MiB is free", "32.00 MiB allowed", "5.00 MiB is allocated by", "3.00 MiB allocated in", "7.00 MiB is reserved"} {
		if tells(strings.Replace(message, part, "1.00 KiB"+part[strings.Index(part, "MiB")+3:], 1), &e) {
			t.Errorf("without %q it is recognised all the same", part)
		}
	}
	for _, change := range []func(*spec.OutOfMemoryError){func(e *spec.OutOfMemoryError) { e.Limited = false }, func(e *spec.OutOfMemoryError) { e.PrivatePools = 0 }} {
		other := e
		if change(&other); tells(message, &other) {
			t.Errorf("%+v", other)
		}
	}
	for text, want := range map[string]bool{"Tried to allocate more than 1EB memory.": true, message: false} {
		if tells(text, &spec.OutOfMemoryError{}) != want {
			t.Errorf("a request that no device has: %s", text)
		}
	}
}

// TestCompareErrors: PyTorch has one kind of refusal, and keeps no number of an error of the driver's interface.
func TestCompareErrors(t *testing.T) {
	driver := func(code int) error { return &spec.DriverError{Call: "Malloc", Code: code} }
	refusal, ofDriver := &binary.Refusal{Message: "no"}, &binary.Refusal{Message: "CUDA driver error: 1"}
	full := &binary.OutOfMemory{Message: "Tried to allocate more than 1EB memory."}
	for _, test := range []struct {
		ours, theirs error
		what         string
	}{
		{nil, nil, ""}, {nil, refusal, "error"}, {refusal, nil, "error"}, {&spec.CaptureInvalidatedError{}, refusal, ""}, {errors.New("bad"), refusal, ""}, {errors.New("bad"), ofDriver, "error"},
		{driver(1), ofDriver, ""}, {driver(1), driver(1), ""}, {driver(1), driver(2), "error"}, {driver(1), refusal, "error"}, {&spec.OutOfMemoryError{}, full, ""}, {&spec.OutOfMemoryError{SegmentSize: 1}, full, "message"},
		{&spec.OutOfMemoryError{}, refusal, "error"},
	} {
		what, our, their := compareErrors(test.ours, test.theirs)
		if first, _, _ := strings.Cut(what, ","); first != test.what || (what == "error") != (our == inWords(test.ours) && their == inWords(test.theirs)) && what == "error" {
			t.Errorf("%v and %v: %q, %q, %q", test.ours, test.theirs, what, our, their)
		}
	}
}

// TestCutToDifference: of two texts those words are told that differ.
func TestCutToDifference(t *testing.T) {
	for _, test := range [][4]string{
		{"a b c", "a x c", "b", "x"}, {"a b c", "a b c", "a b c", "a b c"}, {"a b c", "a b", "c", "nothing"}, {"a c", "a b c", "nothing there", "b"}, {"", "a", "nothing", "a"}, {"a a b", "a b", "a", "nothing there"},
		{"one two", "three four", "one two", "three four"}, {"x same tail", "y z same tail", "x", "y z"},
	} {
		if x, y := cutToDifference(test[0], test[1]); x != test[2] || y != test[3] {
			t.Errorf("%q and %q: %q and %q, want %q and %q", test[0], test[1], x, y, test[2], test[3])
		}
	}
}

// TestWithReserve: half of the programs with expandable segments have a reserve, which is one of six.
func TestWithReserve(t *testing.T) {
	const on = "expandable_segments:True"
	for _, test := range []struct {
		settings string
		seed     int64
		want     string
	}{
		{on, 0, on}, {on, 63, on}, {on, 64, on + ",expandable_segments_reserve:0.25"}, {on, 127, on + ",expandable_segments_reserve:0.25"}, {on, 128, on}, {on, 3 * 64, on + ",expandable_segments_reserve:0.1"},
		{on, 11 * 64, on + ",expandable_segments_reserve:7"}, {on, 13 * 64, on + ",expandable_segments_reserve:0.25"}, {"", 64, ""}, {on + ",expandable_segments_reserve:1", 64, on + ",expandable_segments_reserve:1"},
	} {
		if got := withReserve(&trace.Header{Settings: test.settings, Seed: test.seed}); got != test.want {
			t.Errorf("%q, %d: %q, want %q", test.settings, test.seed, got, test.want)
		}
	}
	for text, want := range map[string][]string{"": {""}, "a": {"a"}, "a,b": {"a", "b"}, "a:[1,2],b": {"a:[1,2]", "b"}, "a:[1,[2,3]],b,": {"a:[1,[2,3]]", "b", ""}} {
		if got := splitSettings(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestKeptMark: a pool whose mark was kept is one that was marked and given up; it shows when the cache is emptied, or when
// PyTorch refuses to create it.
func TestKeptMark(t *testing.T) {
	pool := spec.PoolID{User: 1}
	yes := map[spec.PoolID]bool{pool: true}
	uses := &binary.Refusal{Message: "use_count > 0"}
	for _, test := range []struct {
		kind                trace.OpKind
		what                string
		err                 error
		released, overflows map[spec.PoolID]bool
		there, want         bool
	}{
		{trace.OpEmptyCache, "num_sync_all_streams", nil, yes, yes, false, true}, {trace.OpEmptyCache, "address", nil, yes, yes, false, false}, {trace.OpEmptyCache, "num_sync_all_streams", nil, nil, yes, false, false},
		{trace.OpEmptyCache, "num_sync_all_streams", nil, yes, nil, false, false}, {trace.OpPoolCreate, "error", uses, yes, yes, false, true}, {trace.OpPoolCreate, "error", uses, yes, yes, true, false},
		{trace.OpPoolCreate, "error", nil, yes, yes, false, false}, {trace.OpMalloc, "error", uses, yes, yes, false, false},
	} {
		m := &mismatch{Outcome: &Outcome{Difference: &Difference{What: test.what}}, op: &trace.Op{Kind: test.kind, Pool: pool}, pools: map[devicePool]bool{{0, pool}: test.there}}
		m.Difference.theirs.Err = test.err
		m.facts.released, m.facts.overflows = test.released, test.overflows
		if got := m.keptMark(); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// TestExplainSteps: where a malloc has steps only the rows of driver calls that fail are known, and none of a hazard.
func TestExplainSteps(t *testing.T) {
	failed := &spec.DriverError{Call: "Free", Code: 999}
	fault := func(call string) trace.Op { return trace.Op{Kind: trace.OpFault, Fault: spec.FaultSpec{Call: call}} }
	malloc := trace.Op{Kind: trace.OpMalloc}
	for _, test := range []struct {
		ops    []trace.Op
		err    error
		hazard *fakegpu.Hazard
		want   string
	}{
		{[]trace.Op{fault("Free"), malloc}, failed, nil, "failures/free-counted"},
		{[]trace.Op{fault("Free"), malloc}, failed, &fakegpu.Hazard{}, ""},
		{[]trace.Op{fault("Free"), malloc}, nil, nil, ""},
		{[]trace.Op{fault("Free"), malloc, malloc}, failed, nil, ""},
		{[]trace.Op{malloc}, failed, nil, ""},
		{[]trace.Op{fault("Malloc"), malloc}, failed, nil, ""},
	} {
		o := &Outcome{Scale: "two_step", Ops: test.ops, Difference: &Difference{What: "error", hazard: test.hazard}}
		o.Difference.theirs.Err = test.err
		if row, err := explain(o); row != test.want || err != nil {
			t.Errorf("%+v: %q, %v", test, row, err)
		}
	}
}

// TestCompareRemark: what a message advises is what its release does with these settings, and nothing else.
func TestCompareRemark(t *testing.T) {
	const on = "expandable_segments:True"
	const all = remarkFragments + remarkAddresses + remarkReserve
	for _, test := range []struct {
		release, settings string
		segment           uint64 // bytes
		message           string
		want              string // that the remark should be; "-": nothing differs
	}{
		{"2.11", "", 1, remarkFragments, "-"}, {"2.11", "", 1, "", remarkFragments}, {"2.11", "", 1, all, remarkFragments}, {"2.11", "", 0, "", "-"},
		{"2.11", on, 1, remarkFragments, "-"}, {"2.14", on, 1, "", "-"}, {"2.14", on, 1, remarkFragments, ""}, {"2.14", "", 1, remarkFragments, "-"},
		{"2.15", on, 1, remarkAddresses, "-"}, {"2.15", on, 1, remarkFragments, remarkAddresses}, {"2.15", "", 1, remarkFragments, "-"},
		{"2.15", on + ",expandable_segments_reserve:0.25", 250, remarkAddresses, "-"}, {"2.15", on + ",expandable_segments_reserve:0.25", 251, remarkReserve, "-"},
		{"2.15", on + ",expandable_segments_reserve:0.25", 251, remarkAddresses, remarkReserve}, {"2.15", on + ",expandable_segments_reserve:0.25", 250, "", remarkAddresses},
	} {
		release, known := upstream.Find(test.release)
		if !known {
			t.Fatal(test.release)
		}
		h := trace.Header{Devices: 1, TotalMemory: 1 << 30, Release: test.release, Settings: test.settings, Streams: []spec.Stream{0}, Geometry: spec.DefaultGeometry()}
		player, err := perform.New(&h, reference.Follows(release))
		if err != nil {
			t.Fatal(err)
		}
		p := &Pair{header: h, reference: player}
		ours, theirs := &spec.OutOfMemoryError{SegmentSize: test.segment, DeviceTotal: 1000}, &binary.OutOfMemory{Message: "CUDA out of memory. " + test.message}
		what, our, _ := p.compareRemark(ours, theirs)
		if test.want == "-" && what+our != "" || test.want != "-" && (what != "remark" || our != test.want) {
			t.Errorf("%+v: %q, %q", test, what, our)
		}
		ours.Rejected = true
		for _, no := range [][2]error{{ours, theirs}, {errors.New("no"), theirs}, {&spec.OutOfMemoryError{SegmentSize: 1}, errors.New("no")}} {
			if what, our, their := p.compareRemark(no[0], no[1]); what+our+their != "" {
				t.Errorf("%v has a remark: %q", no, what)
			}
		}
	}
}

// TestSignature: differences count as one if they are alike but for numbers.
func TestSignature(t *testing.T) {
	o := &Outcome{Ops: []trace.Op{{Kind: trace.OpMalloc}, {Kind: trace.OpFree}}, Difference: &Difference{What: "address", Reference: "a0/b9:c1", PyTorch: "-5.0 é"}}
	if got := signatureOf(o); got != "free|address|a/b:c|-. é" {
		t.Error(got)
	}
}

// TestPortions: a search goes through its areas with one seed after the other, until it has had enough.
func TestPortions(t *testing.T) {
	s := &search{Search: Search{Areas: []string{"a", "b"}, Operations: 100, Keep: 1, Seed: 5}}
	for i, want := range []job{{Area: "a", Seed: 5}, {Area: "b", Seed: 5}, {Area: "a", Seed: 5 + portion}, {Area: "b", Seed: 5 + portion}} {
		if j := s.job(); j == nil || j.Area != want.Area || j.Seed != want.Seed || j.Programs != portion {
			t.Errorf("portion %d: %+v", i, j)
		}
	}
	for name, change := range map[string]func(*search){
		"an error": func(s *search) { s.failed = errors.New("no") }, "enough operations": func(s *search) { s.report.Operations = 100 }, "a finding": func(s *search) { s.report.Unexplained = make([]Finding, 1) },
	} {
		ended := &search{Search: s.Search}
		if change(ended); ended.job() != nil {
			t.Errorf("it goes on after %s", name)
		}
	}
	if s.report.Operations = 99; s.job() == nil {
		t.Error("it ends too early")
	}
}
