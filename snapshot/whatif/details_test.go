package whatif

import (
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
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
