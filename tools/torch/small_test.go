package torch

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gaugeblock/conformance"
	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
)

// TestMinimiser: of a program that differs if it still has what matters, that is what is left, in its order.
func TestMinimiser(t *testing.T) {
	const frees, kernel, pair, event = trace.OpFree, trace.OpKernel, trace.OpMalloc, trace.OpDeviceFree
	for _, test := range []struct {
		name    string
		kinds   []trace.OpKind
		differs func(of func(trace.OpKind) int) bool
		want    []trace.OpKind
	}{
		{"one matters", []trace.OpKind{pair, frees, kernel, frees, pair, pair}, func(of func(trace.OpKind) int) bool { return of(kernel) == 1 }, []trace.OpKind{kernel}},
		{"all matter", []trace.OpKind{pair, kernel, frees}, func(of func(trace.OpKind) int) bool { return of(pair)*of(kernel)*of(frees) == 1 }, []trace.OpKind{pair, kernel, frees}},
		{"two go together", []trace.OpKind{pair, kernel, pair}, func(of func(trace.OpKind) int) bool { return of(kernel) == 1 && of(pair)%2 == 0 }, []trace.OpKind{kernel}},
		{"two neighbours go together", []trace.OpKind{kernel, pair, pair}, func(of func(trace.OpKind) int) bool { return of(kernel) == 1 && of(pair)%2 == 0 }, []trace.OpKind{kernel}},
		{"one of three stays", []trace.OpKind{pair, kernel, pair, pair}, func(of func(trace.OpKind) int) bool { return of(kernel) == 1 && of(pair)%2 == 1 }, []trace.OpKind{pair, kernel}},
		{"two go, three stay", []trace.OpKind{frees, pair, kernel, pair, event}, func(of func(trace.OpKind) int) bool { return of(frees)*of(kernel)*of(event) == 1 && of(pair)%2 == 0 }, []trace.OpKind{frees, kernel, event}},
	} {
		perform := func(ops []trace.Op) (Outcome, error) {
			of := func(k trace.OpKind) (n int) {
				for _, op := range ops {
					if op.Kind == k {
						n++
					}
				}
				return n
			}
			o := Outcome{Ops: ops}
			if test.differs(of) {
				o.Difference = &Difference{What: "layout"}
			}
			return o, nil
		}
		var ops []trace.Op
		for _, k := range test.kinds {
			ops = append(ops, trace.Op{Kind: k})
		}
		best, err := perform(ops)
		must(t, err)
		m := &minimiser{best: best, left: effort, perform: perform}
		must(t, m.minimise())
		var left []trace.OpKind
		for _, op := range m.best.Ops {
			left = append(left, op.Kind)
		}
		if !slices.Equal(left, test.want) {
			t.Errorf("%s: %v is left, want %v", test.name, left, test.want)
		}
		m = &minimiser{best: best, perform: perform}
		if must(t, m.minimise()); len(m.best.Ops) != len(ops) {
			t.Errorf("%s: without effort %d operations are left of %d", test.name, len(m.best.Ops), len(ops))
		}
	}
	fails := func([]trace.Op) (Outcome, error) { return Outcome{}, errors.New("no worker") }
	m := &minimiser{best: Outcome{Ops: make([]trace.Op, 3)}, left: effort, perform: fails}
	for _, step := range []func() error{m.dropPieces, m.dropPairs, m.minimise} {
		if err := step(); err == nil {
			t.Error("an error of the worker is not told")
		}
	}
}

// TestDifferenceOf: the first thing that differs is named.
func TestDifferenceOf(t *testing.T) {
	same := func() *did {
		return &did{
			Error: "oom", Message: "out of memory", Address: 512, Figures: make([]int64, len(figureNames)),
			Entries: []spec.TraceEntry{{Action: spec.ActionAlloc, Addr: 512}}, Layout: []spec.Segment{{Address: 512, TotalSize: 1024}},
		}
	}
	for _, test := range []struct {
		what string
		set  func(d *did)
	}{
		{"error", func(d *did) { d.Error, d.Message = "none", "" }},
		{"message", func(d *did) { d.Message, d.Address = "out of luck", 1024 }},
		{"address", func(d *did) { d.Address, d.Entries = 1024, nil }},
		{"trace entry", func(d *did) { d.Entries[0].Addr = 1024 }},
		{"trace entry", func(d *did) { d.Entries = nil }},
		{figureNames[0], func(d *did) { d.Figures[0] = 1 }},
		{figureNames[len(figureNames)-1], func(d *did) { d.Figures[len(figureNames)-1] = 1 }},
		{"layout", func(d *did) { d.Layout[0].TotalSize = 2048 }},
	} {
		other := same()
		test.set(other)
		d := differenceOf(&trace.Op{Kind: trace.OpFree}, 3, same(), other)
		if !strings.Contains(d.What, test.what) || d.Reference == d.PyTorch || d.Operation != 3 {
			t.Errorf("%s differs: %+v", test.what, d)
		}
		if back := differenceOf(&trace.Op{Kind: trace.OpFree}, 3, other, same()); back.Reference != d.PyTorch || back.PyTorch != d.Reference {
			t.Errorf("%s differs: %+v, and the other way round %+v", test.what, d, back)
		}
	}
	if d := differenceOf(new(trace.Op), 1, same(), &did{Error: "none"}); d.Reference != "oom" || d.PyTorch != "none" {
		t.Errorf("%+v", d)
	}
}

// TestOneBuildCrashes: the program ends with the operation in which the first build does; if both end in one, they
// do not differ.
func TestOneBuildCrashes(t *testing.T) {
	at := func(n int) *Crash { return &Crash{Operation: n, Said: "it is gone"} }
	for _, test := range []struct {
		crashes    [2]*Crash
		operations int
		words      [2]string
	}{
		{[2]*Crash{at(2), nil}, 2, [2]string{"it is gone", "an answer"}},
		{[2]*Crash{nil, at(3)}, 3, [2]string{"an answer", "it is gone"}},
		{[2]*Crash{at(4), at(1)}, 1, [2]string{"an answer", "it is gone"}},
		{[2]*Crash{at(2), at(2)}, 2, [2]string{}},
	} {
		o := Outcome{Ops: make([]trace.Op, 5)}
		n, err := new(buildPair).crashed(&o, test.crashes)
		if err != nil || n != test.operations {
			t.Errorf("%d operations, want %d: %v", n, test.operations, err)
		}
		switch d := o.Difference; {
		case test.words == [2]string{}:
			if d != nil || len(o.Ops) != 5 {
				t.Errorf("both end: %+v, %d operations", d, len(o.Ops))
			}
		case d == nil || len(o.Ops) != n || d.Operation != n || d.What != "crash" || [2]string{d.Reference, d.PyTorch} != test.words:
			t.Errorf("%d operations are left, want %d: %+v", len(o.Ops), n, d)
		}
	}
}

// TestCurrentStream: a call other than malloc has the stream that it says, or that of the latest capture on its device.
func TestCurrentStream(t *testing.T) {
	three := 3
	var c captured
	for _, stream := range []int{1, 2} {
		c.follow(&trace.Op{Kind: trace.OpCaptureBegin, Stream: stream})
	}
	c.follow(&trace.Op{Kind: trace.OpCaptureBegin, Stream: 4, Device: 1})
	c.follow(&trace.Op{Kind: trace.OpCaptureEnd, Stream: 2})
	for _, test := range []struct {
		op   trace.Op
		want int
	}{
		{trace.Op{Kind: trace.OpMalloc}, 0},
		{trace.Op{Kind: trace.OpMalloc, Current: &three}, 0},
		{trace.Op{Kind: trace.OpKernel}, 0},
		{trace.Op{Kind: trace.OpFree}, 1},
		{trace.Op{Kind: trace.OpFree, Current: &three}, 3},
		{trace.Op{Kind: trace.OpFree, Device: 1}, 4},
		{trace.Op{Kind: trace.OpFree, Device: 2}, 0},
	} {
		if got := c.current(&test.op); got != test.want {
			t.Errorf("%v on device %d: stream %d, want %d", test.op.Kind, test.op.Device, got, test.want)
		}
	}
}

// TestPlace: a place tells what was set, whichever of the numbers were the same before.
func TestPlace(t *testing.T) {
	p := &place{new([3]uint64)}
	for _, want := range []position{{1, 1, 0}, {2, 1, 0}, {3, 2, 2}, {3, 3, 1}, {4, 3, 3}, {3, 3, 3}, {5, 5, 4}, {5, 0, 5}, {0, 0, 0}} {
		p.set(want.seed, int(want.before), int(want.operation))
		if got := p.get(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestWholeSegment: a segment of one block, of that size, at that place.
func TestWholeSegment(t *testing.T) {
	m := &mismatch{before: spec.Snapshot{Segments: []spec.Segment{
		{Address: 512, TotalSize: 512, Blocks: make([]spec.Block, 1)}, {Address: 2048, TotalSize: 1024, Blocks: make([]spec.Block, 2)},
	}}}
	for _, test := range []struct {
		at   spec.Ptr
		size uint64
		want bool
	}{{512, 512, true}, {512, 256, false}, {1024, 512, false}, {2048, 1024, false}} {
		if m.wholeSegment(test.at, test.size) != test.want {
			t.Errorf("%d bytes at %v: want %v", test.size, test.at, test.want)
		}
	}
}

// TestReservedRanges: ranges are told from what else is held.
func TestReservedRanges(t *testing.T) {
	for settings, want := range map[string]int{"": 0, "expandable_segments:True": 2} {
		h := trace.Header{TotalMemory: spec.GiB, Devices: 1, Geometry: spec.DefaultGeometry(), Streams: []spec.Stream{0}, Settings: settings}
		p, err := perform.New(&h, reference.New)
		must(t, err)
		for id, size := range []uint64{spec.MiB, 20 * spec.MiB} { // of the small and the large pool
			p.Perform(&trace.Op{Kind: trace.OpMalloc, ID: int64(id), Size: size})
		}
		if reservedRanges(p) != want {
			t.Errorf("%q: %d ranges, want %d: %q", settings, reservedRanges(p), want, p.Leaks())
		}
	}
}

// TestNumbers: whatever of an operation differs, its number does, and what is the same has the same.
func TestNumbers(t *testing.T) {
	block := spec.Block{Size: 512, RequestedSize: 500, State: spec.ActiveAllocated}
	layout := func(change func(*spec.Segment)) did {
		s := spec.Segment{Device: 1, Address: 4096, TotalSize: 1024, Stream: 7, Pool: spec.PoolID{Capture: 1, User: 2}, Blocks: []spec.Block{block, block}}
		change(&s)
		return did{Layout: []spec.Segment{s}}
	}
	entry := spec.TraceEntry{Action: spec.ActionAlloc, Addr: 4096, Size: 512, Stream: 7}
	with := func(change func(*spec.TraceEntry)) did {
		e := entry
		change(&e)
		return did{Entries: []spec.TraceEntry{entry, e}}
	}
	numbers := map[uint64]int{}
	for i, d := range []did{
		{}, {Error: "ab"}, {Error: "ba"}, {Error: "abc"}, {Address: 1}, {Figures: []int64{1}}, {Figures: []int64{1, 0}}, {Figures: []int64{0, 1}},
		with(func(*spec.TraceEntry) {}), with(func(e *spec.TraceEntry) { e.Action = spec.ActionSegmentFree }), with(func(e *spec.TraceEntry) { e.Addr++ }),
		with(func(e *spec.TraceEntry) { e.Size++ }), with(func(e *spec.TraceEntry) { e.Stream++ }),
		layout(func(*spec.Segment) {}), layout(func(s *spec.Segment) { s.Device = 0 }), layout(func(s *spec.Segment) { s.Address++ }), layout(func(s *spec.Segment) { s.TotalSize++ }),
		layout(func(s *spec.Segment) { s.Stream++ }), layout(func(s *spec.Segment) { s.Pool.Capture++ }), layout(func(s *spec.Segment) { s.Pool.User++ }), layout(func(s *spec.Segment) { s.PoolKind++ }),
		layout(func(s *spec.Segment) { s.Blocks = s.Blocks[1:] }), layout(func(s *spec.Segment) { s.Blocks[1].Size++ }), layout(func(s *spec.Segment) { s.Blocks[1].RequestedSize++ }),
		layout(func(s *spec.Segment) { s.Blocks[1].State = spec.Inactive }),
	} {
		if other, there := numbers[d.number()]; there {
			t.Errorf("%d and %d have one number", other, i)
		}
		numbers[d.number()] = i
	}
	if textNumber("ab") == textNumber("ba") || textNumber("") == textNumber("a") {
		t.Error("texts have the wrong numbers")
	}
}

// TestFailedFree: memory whose free has failed is the program's as before.
func TestFailedFree(t *testing.T) {
	h := trace.Header{Family: "core", TotalMemory: 1 << 30, Devices: 1, Streams: []spec.Stream{0}, Geometry: spec.DefaultGeometry()}
	player, err := perform.New(&h, func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
		a, err := reference.New(driver, h)
		return keeps{a}, err
	})
	must(t, err)
	program := newProgram(conformance.Find("core"), h)
	lifetimes := program.Lifetimes(player.GPU())
	for _, op := range []trace.Op{
		{Kind: trace.OpMalloc, ID: 1, Size: 512}, {Kind: trace.OpFree, ID: 1}, {Kind: trace.OpKernel, Writes: []trace.OpRange{{ID: 1}}},
	} {
		var out perform.Result
		watched(player, lifetimes, &op, &out)
		program.Did(&op, &out)
		if failed := op.Kind == trace.OpFree; (out.Err != nil) != failed || out.Skipped {
			t.Errorf("%s: %v", op.Kind, out.Err)
		}
	}
	if found := player.GPU().Hazards(); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

// keeps is an allocator that frees nothing.
type keeps struct{ spec.Allocator }

func (keeps) Free(spec.Ptr) error { return &spec.DriverError{Call: "Free", Code: 1} }

// TestCompletedFrees: frees that are only requested do not count.
func TestCompletedFrees(t *testing.T) {
	done, asked := spec.TraceEntry{Action: spec.ActionFreeCompleted}, spec.TraceEntry{Action: spec.ActionFreeRequested}
	for want, entries := range [][]spec.TraceEntry{{asked, asked}, {asked, done, asked}, {done, done, asked}} {
		if n := completedFrees(entries); n != want {
			t.Errorf("%d of %v", n, entries)
		}
	}
}
