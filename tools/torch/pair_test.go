package torch

import (
	"bytes"
	"testing"

	"gaugeblock/conformance"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
)

// replayed writes a trace of what PyTorch did and replays it through the reference. forget takes
// from each operation what the trace is not to tell; it may be nil.
func replayed(t *testing.T, h trace.Header, ops []trace.Op, forget func(e *trace.Expectation), end trace.End) replay.Result {
	t.Helper()
	var text bytes.Buffer
	h.StatColumns, h.Release = figureNames, built(t).Release().Name
	w, err := trace.NewWriter(&text, h)
	must(t, err)
	for _, op := range ops {
		if forget != nil {
			forget(&op.Expect)
		}
		must(t, w.Write(&op))
	}
	must(t, w.Close(&end))
	r, err := replay.Reader(&text, "trace", replay.Options{New: reference.New})
	must(t, err)
	return r
}

func forgetRanges(e *trace.Expectation) { e.AddressRanges = nil }

// TestTraceWithRange: on a full device PyTorch reserves an address range that lies far below the
// first one, and maps pages in it only later.
func TestTraceWithRange(t *testing.T) {
	open(t)
	h := trace.Header{
		TotalMemory: spec.GiB, Devices: 1, Geometry: spec.DefaultGeometry(), Streams: []spec.Stream{0, 0},
		Settings: "expandable_segments:True",
	}
	setUp(&h)
	// As large as nine eighths of the device, in whole pages of 20 MiB.
	const base, rangeBytes = 0x1234_5660_0000, 1160 * spec.MiB
	malloc := func(id int64, stream int) trace.Op {
		return trace.Op{Kind: trace.OpMalloc, ID: id, Size: 20 * spec.MiB, Stream: stream}
	}
	ops := []trace.Op{
		malloc(0, 0), {Kind: trace.OpDeviceFree}, malloc(1, 1), {Kind: trace.OpDeviceFree, Size: spec.GiB / 2}, malloc(2, 1),
	}
	ops[2].Expect.AddressRanges = []spec.Range{{Ptr: base, Bytes: rangeBytes}}
	pair, err := NewPair(h, 1)
	must(t, err)
	for i := range ops {
		if _, difference := pair.Step(&ops[i]); difference != nil {
			t.Fatal(difference)
		}
		pair.record(&ops[i])
	}
	if last := ops[4].Expect; ops[2].Expect.Error != trace.ErrorOOM || last.Addr == nil || *last.Addr != base {
		t.Fatalf("the range does not lie where it was put: %+v", last)
	}
	memory, err := pair.pytorch.Allocator().Snapshot()
	must(t, err)
	end := trace.End{Layout: trace.Layout(&memory)}

	if r := replayed(t, h, ops, nil, end); !r.Exact || r.Found != 0 {
		t.Errorf("with the ranges: %v", &r)
	}
	if r := replayed(t, h, ops, forgetRanges, end); !r.Exact || r.Found != 1 {
		t.Errorf("without the ranges: %v", &r)
	}
	forgetEntries := func(e *trace.Expectation) { e.Entries, e.Addr = nil, nil }
	if r := replayed(t, h, ops, forgetEntries, end); !r.Exact || r.Found != 0 {
		t.Errorf("with the ranges, without trace entries: %v", &r)
	}
	forgetBoth := func(e *trace.Expectation) { forgetEntries(e); forgetRanges(e) }
	if r := replayed(t, h, ops, forgetBoth, end); r.NotDetermined == "" {
		t.Errorf("without both: %v", &r)
	}
}

// TestTracesOfFullDevices: what PyTorch did on a device that is full most of the time is a trace
// that is replayed exactly. Without the address ranges some need trying.
func TestTracesOfFullDevices(t *testing.T) {
	open(t)
	found := 0
	for seed := range uint64(40) {
		h, ops := onFullDevice(t, seed)
		if r := replayed(t, h, ops, nil, trace.End{}); !r.Exact || r.Found != 0 {
			t.Errorf("seed %d: %v", seed, &r)
		}
		r := replayed(t, h, ops, forgetRanges, trace.End{})
		if !r.Exact {
			t.Errorf("seed %d, without the ranges: %v", seed, &r)
		}
		if r.Found > 0 {
			found++
		}
	}
	t.Logf("without the ranges %d of 40 traces are exact by trying", found)
	if found == 0 {
		t.Error("the ranges are not needed")
	}
}

// onFullDevice performs a random program on both, up to a difference of any kind, and records
// what PyTorch did.
func onFullDevice(t *testing.T, seed uint64) (trace.Header, []trace.Op) {
	t.Helper()
	settings := "expandable_segments:True"
	source, h := conformance.Find("core").NewSource(conformance.Seeded(seed), seed, func(h *trace.Header) {
		(&Conditions{Settings: &settings}).header(h)
		h.TotalMemory = 256 * spec.MiB
	})
	pair, err := NewPair(h, 100)
	must(t, err)
	var ops []trace.Op
	for len(ops) < 300 {
		op := source.Next()
		did, difference := pair.Step(&op)
		if difference != nil || len(pair.Listed) > 0 {
			break
		}
		pair.record(&op)
		ops = append(ops, op)
		source.Did(&op, did)
	}
	return h, ops
}
