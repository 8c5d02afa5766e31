package trace_test

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gaugeblock/internal/checkout"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// wholeTrace is all that a reader gave.
type wholeTrace struct {
	Header trace.Header
	Ops    []trace.Op
	End    *trace.End
}

func readWhole(r io.Reader, name string) (w wholeTrace, err error) {
	tr, err := trace.NewReader(r, name)
	if err != nil {
		return w, err
	}
	w.Header = *tr.Header()
	for {
		op, err := tr.Next()
		if err == io.EOF {
			w.End = tr.End()
			return w, nil
		}
		if err != nil {
			return w, err
		}
		w.Ops = append(w.Ops, *op)
	}
}

func readFile(t testing.TB, path string) wholeTrace {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := readWhole(file, filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w wholeTrace) write(t rapid.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Write(&b, w.Header, w.Ops, w.End); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestTraceEveryKind: the file has every kind of operation with every field, in
// the form in which they are written. Reading and writing it changes no byte.
func TestTraceEveryKind(t *testing.T) {
	const path = "testdata/every-kind.jsonl"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w := readFile(t, path)
	lines := strings.SplitAfter(string(text), "\n")
	written := strings.SplitAfter(string(w.write(t)), "\n")
	if diff := cmp.Diff(lines, written); diff != "" {
		t.Errorf("what was read (-) is written differently (+):\n%s", diff)
	}

	kinds := map[trace.OpKind]bool{}
	for _, op := range w.Ops {
		kinds[op.Kind] = true
	}
	for _, kind := range trace.OpKinds() {
		if !kinds[kind] {
			t.Errorf("no operation of kind %s in %s", kind, path)
		}
	}
	for _, field := range trace.TraceFieldNames() {
		if !strings.Contains(string(text), `"`+field+`":`) {
			t.Errorf("no field %s in %s", field, path)
		}
	}
}

// TestTraceExpectationsUnknownOrEmpty: that nothing is known is not the same as
// that nothing was there.
func TestTraceExpectationsUnknownOrEmpty(t *testing.T) {
	ops := readFile(t, "testdata/every-kind.jsonl").Ops
	known, unknown := ops[2].Expect, ops[3].Expect
	if known.Addr == nil || *known.Addr != 0 || known.Entries == nil || len(known.Entries) != 0 ||
		known.Layout == nil || len(known.Layout) != 0 || known.Unknown() {
		t.Errorf("the expectation of nothing was read as %+v", known)
	}
	if diff := cmp.Diff(trace.Expectation{}, unknown); diff != "" || !unknown.Unknown() {
		t.Errorf("no expectation was read as (+):\n%s", diff)
	}
}

// TestTraceVersion1 reads recordings of PyTorch and writes them as version 2: the
// operations stay the same.
func TestTraceVersion1(t *testing.T) {
	files, err := filepath.Glob("testdata/*.jsonl.gz")
	if err != nil || len(files) != 3 {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, path := range append(files, siblingFiles("golden", "*.jsonl.gz")...) {
		w := readFile(t, path)
		if w.Header.Version != 1 || w.End == nil || w.End.Layout == nil || len(w.End.Stats) != 122 {
			t.Errorf("%s: version %d, end %v", path, w.Header.Version, w.End)
		}
		again, err := readWhole(bytes.NewReader(w.write(t)), path)
		if err != nil {
			t.Fatal(err)
		}
		if again.Header.Version != 2 {
			t.Errorf("%s: written as version %d", path, again.Header.Version)
		}
		again.Header.Version = 1
		if !reflect.DeepEqual(w, again) { // much faster than cmp, on long traces that are equal
			t.Fatalf("%s: version 1 (-) and 2 (+):\n%s", path, cmp.Diff(w, again))
		}
	}
}

// siblingFiles lists files of the folder "shared" beside the repository, if there
// is one.
func siblingFiles(folder, pattern string) []string {
	root, err := checkout.Root()
	if err != nil {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(root, "..", "shared", folder, pattern))
	return files
}

// TestTraceGraphTrees reads recordings of PyTorch's graph trees and writes them as
// version 2: the functions and operations stay the same.
func TestTraceGraphTrees(t *testing.T) {
	files, err := filepath.Glob("../../tests/graphtree/testdata/*.jsonl.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, path := range append(files, siblingFiles("trees", "*.jsonl.gz")...) {
		w := readFile(t, path)
		if len(w.Header.Functions) == 0 || w.Header.StaticBytes != 5000 {
			t.Errorf("%s: %d functions, static inputs of %d bytes", path, len(w.Header.Functions), w.Header.StaticBytes)
		}
		again, err := readWhole(bytes.NewReader(w.write(t)), path)
		if err != nil {
			t.Fatal(err)
		}
		w.Header.Format, w.Header.Version = trace.Format, trace.Version
		if !reflect.DeepEqual(w, again) {
			t.Fatalf("%s: as recorded (-) and version 2 (+):\n%s", path, cmp.Diff(w, again))
		}
	}
}

// TestTraceVersion1Contents looks at one recording, spot by spot.
func TestTraceVersion1Contents(t *testing.T) {
	w := readFile(t, "testdata/capture-1400.jsonl.gz")
	wantHeader := trace.Header{
		Format: "allocator-trace", Version: 1, Source: "torch 2.11.0+cu130", DeviceName: "NVIDIA H200",
		Devices: 1, TotalMemory: 150109880320, Settings: "graph_capture_record_stream_reuse:True",
		Family: "capture", Seed: 1400, Streams: []spec.Stream{0, 601495392, 601547888, 601561472},
		Geometry: spec.DefaultGeometry(),
	}
	if diff := cmp.Diff(wantHeader, w.Header, cmpopts.IgnoreFields(wantHeader, "StatColumns")); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	addr := spec.Ptr(139850957193216)
	wantFirst := trace.Op{Kind: trace.OpMalloc, Line: 2, ID: 0, Size: 750676, Expect: trace.Expectation{
		Addr: &addr,
		Entries: []spec.TraceEntry{
			{Action: spec.ActionSegmentAlloc, Addr: addr, Size: 2097152},
			{Action: spec.ActionAlloc, Addr: addr, Size: 750676},
		},
	}}
	if diff := cmp.Diff(wantFirst, w.Ops[0], cmpopts.IgnoreFields(trace.Expectation{}, "Stats")); diff != "" {
		t.Errorf("first operation (-want +got):\n%s", diff)
	}
	graph := 0
	for _, op := range w.Ops {
		switch op.Kind {
		case trace.OpCaptureBegin:
			if op.Mode != spec.CaptureRelaxed {
				t.Errorf("line %d: capture mode %v", op.Line, op.Mode)
			}
		case trace.OpCaptureEnd:
			if op.Graph != graph {
				t.Errorf("line %d: graph %d, want %d", op.Line, op.Graph, graph)
			}
			graph++
		}
	}
	if got := w.End.Stats["allocated_bytes.small_pool.peak"]; got != 16429568 || graph != 4 {
		t.Errorf("peak %d, graphs %d", got, graph)
	}
}

// TestTraceRoundTrip: whatever a writer takes, a reader returns.
func TestTraceRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		header := drawHeader(t)
		var b bytes.Buffer
		out, err := trace.NewWriter(&b, header)
		if err != nil {
			t.Fatal(err)
		}
		header.Format, header.Version = "allocator-trace", 2
		want := wholeTrace{Header: header}
		for range rapid.IntRange(0, 40).Draw(t, "operations") {
			op := drawOp(t, header)
			if err := out.Write(&op); err != nil {
				// It may refer to something that is not there; nothing else is wrong with it.
				if !strings.HasPrefix(err.Error(), "write trace: "+string(op.Kind)+": ") {
					t.Fatal(err)
				}
				continue
			}
			op.Line = 2 + len(want.Ops)
			want.Ops = append(want.Ops, op)
		}
		if rapid.Bool().Draw(t, "has end") {
			want.End = &trace.End{Line: 2 + len(want.Ops), Layout: drawLayout(t)}
			if rapid.Bool().Draw(t, "has final statistics") {
				want.End.Stats = rapid.MapOf(rapid.StringN(0, 20, -1), rapid.Int64()).Draw(t, "statistics")
			}
		}
		if err := out.Close(want.End); err != nil {
			t.Fatal(err)
		}
		got, err := readWhole(bytes.NewReader(b.Bytes()), "t")
		if err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("written (-) and read (+):\n%s\n%s", diff, b.String())
		}
	})
}

func drawHeader(t *rapid.T) trace.Header {
	h := trace.Header{
		Source: rapid.String().Draw(t, "source"), DeviceName: rapid.String().Draw(t, "device"),
		Devices: rapid.IntRange(1, 3).Draw(t, "devices"), TotalMemory: rapid.Uint64Range(1, math.MaxInt64).Draw(t, "total"),
		Settings: rapid.String().Draw(t, "settings"), Family: rapid.String().Draw(t, "family"),
		Seed: rapid.Int64().Draw(t, "seed"), Geometry: spec.DefaultGeometry(),
		Streams: append([]spec.Stream{0}, drawList(t, "streams", rapid.Custom(func(t *rapid.T) spec.Stream {
			return spec.Stream(rapid.Uint64Min(1).Draw(t, "handle"))
		}))...),
		StatColumns: drawList(t, "columns", rapid.String()),
		Functions:   drawList(t, "functions", rapid.Custom(drawFunction)),
		StaticBytes: rapid.Uint64Max(math.MaxInt64).Draw(t, "static"),
		Waits:       rapid.Bool().Draw(t, "waits"),
		Exclusive:   rapid.Bool().Draw(t, "exclusive"),
	}
	slices.Sort(h.Streams)
	h.Streams = slices.Compact(h.Streams)
	h.Threads = rapid.IntRange(0, (len(h.Streams)-1)/h.Devices).Draw(t, "threads")
	if rapid.Bool().Draw(t, "has stream ids") {
		h.StreamIDs = rapid.SliceOfN(rapid.Int64(), len(h.Streams), len(h.Streams)).Draw(t, "ids")
	}
	if rapid.Bool().Draw(t, "small geometry") {
		h.Geometry.MinBlock, h.Geometry.DivisionsStart = 2, 8
	}
	return h
}

// drawOp draws an operation with the fields of its kind. Numbers are small, so that
// many of them refer to something.
func drawOp(t *rapid.T, h trace.Header) trace.Op {
	number := rapid.IntRange(0, 4)
	id := rapid.Int64Range(0, 4)
	size := rapid.Uint64Range(0, math.MaxInt64)
	op := trace.Op{
		Kind:   rapid.SampledFrom(trace.OpKinds()).Draw(t, "kind"),
		Device: spec.Device(rapid.IntRange(0, h.Devices-1).Draw(t, "device")),
		Thread: spec.Thread(rapid.Uint64().Draw(t, "thread")),
		Expect: drawExpectation(t, h),
	}
	must, may := trace.TraceKindFields(op.Kind)
	has := func(name string) bool { return slices.Contains(must, name) || slices.Contains(may, name) }
	set := map[string]func(){
		"id":         func() { op.ID = id.Draw(t, "id") },
		"size":       func() { op.Size = size.Draw(t, "size") },
		"bytes":      func() { op.Size = size.Draw(t, "bytes") },
		"stream":     func() { op.Stream = rapid.IntRange(0, len(h.Streams)-1).Draw(t, "stream") },
		"on":         func() { op.On = rapid.IntRange(0, len(h.Streams)-1).Draw(t, "on") },
		"peer":       func() { op.Peer = spec.Device(rapid.IntRange(0, h.Devices-1).Draw(t, "peer")) },
		"pool":       func() { op.Pool = drawPool(t) },
		"by":         func() { op.By = rapid.SampledFrom([]trace.PoolFilter{"thread", "stream", "capture"}).Draw(t, "by") },
		"use_on_oom": func() { op.UseOnOOM = rapid.Bool().Draw(t, "use on oom") },
		"no_split":   func() { op.NoSplit = rapid.Bool().Draw(t, "no split") },
		"state":      func() { op.State = number.Draw(t, "state") },
		"live":       func() { op.Live = drawList(t, "live", id) },
		"freed":      func() { op.Freed = drawList(t, "freed", id) },
		"settings":   func() { op.Settings = rapid.String().Draw(t, "settings") },
		"fraction":   func() { op.Fraction = rapid.Float64().Draw(t, "fraction") },
		"allowed":    func() { op.Allowed = size.Draw(t, "allowed") },
		"enabled":    func() { op.Enabled = rapid.Bool().Draw(t, "enabled") },
		"name":       func() { op.Name = rapid.String().Draw(t, "name") },
		"reads":      func() { op.Reads = drawRanges(t, op.Kind) },
		"writes":     func() { op.Writes = drawRanges(t, op.Kind) },
		"event":      func() { op.Event = number.Draw(t, "event") },
		"graph":      func() { op.Graph = number.Draw(t, "graph") },
		"handle":     func() { op.Handle = number.Draw(t, "handle") },
		"mode":       func() { op.Mode = spec.CaptureMode(rapid.IntRange(0, 2).Draw(t, "mode")) },
		"fault":      func() { op.Fault = drawFault(t) },
		"frees":      func() { op.Frees = drawList(t, "frees", id) },
		"fn":         func() { op.Function = number.Draw(t, "function") },
		"call":       func() { op.Call = number.Draw(t, "call") },
		"inputs":     func() { op.Inputs = drawList(t, "inputs", rapid.Custom(drawInput)) },
		"output":     func() { op.Output = trace.TreeOutput{Call: number.Draw(t, "call"), Index: number.Draw(t, "index")} },
	}
	for _, name := range trace.TraceFieldNames() {
		if f := set[name]; f != nil && has(name) {
			f()
		}
	}
	if op.Expect.Error != "" || !has("addr") {
		op.Expect.Addr = nil
	}
	if !has("tree") {
		op.Expect.Tree = nil
	}
	return op
}

func drawExpectation(t *rapid.T, h trace.Header) (e trace.Expectation) {
	if rapid.Bool().Draw(t, "unknown") {
		return e
	}
	if rapid.Bool().Draw(t, "fails") {
		e.Error = rapid.SampledFrom([]string{"oom", "driver", "other"}).Draw(t, "error")
		e.Message = rapid.String().Draw(t, "message")
	}
	addr := spec.Ptr(rapid.Uint64().Draw(t, "addr"))
	e.Addr = &addr
	if rapid.Bool().Draw(t, "has events") {
		e.Entries = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) spec.TraceEntry {
			return spec.TraceEntry{
				Action: spec.Action(rapid.IntRange(0, 8).Draw(t, "action")),
				Addr:   spec.Ptr(rapid.Uint64().Draw(t, "addr")),
				Size:   rapid.Uint64Max(math.MaxInt64).Draw(t, "size"),
				Stream: spec.Stream(rapid.Uint64().Draw(t, "stream")),
			}
		}), 0, 3).Draw(t, "events")
	}
	if rapid.Bool().Draw(t, "has segments") {
		e.Segments = drawPlaces(t)
	}
	if rapid.Bool().Draw(t, "has address ranges") {
		e.AddressRanges = drawPlaces(t)
	}
	if rapid.Bool().Draw(t, "has stats") {
		e.Stats = rapid.SliceOfN(rapid.Int64(), len(h.StatColumns), len(h.StatColumns)).Draw(t, "stats")
	}
	e.Layout = drawLayout(t)
	if rapid.Bool().Draw(t, "has tree") {
		number := rapid.IntRange(-3, 3)
		e.Tree = &trace.TreeExpectation{
			Outputs: drawList(t, "outputs", rapid.Map(rapid.Uint64(), func(n uint64) spec.Ptr { return spec.Ptr(n) })),
			State:   rapid.SampledFrom([]string{"NONE", "WARMUP", "RECORDING", "EXECUTION"}).Draw(t, "state"),
			Node:    number.Draw(t, "node"), Path: drawList(t, "path", number),
			Fails: rapid.IntRange(0, 3).Draw(t, "fails"), Checkpoints: rapid.IntRange(0, 3).Draw(t, "checkpoints"),
			Roots: drawList(t, "roots", rapid.IntRange(0, 3)),
		}
	}
	return e
}

func drawPlaces(t *rapid.T) []spec.Range {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) spec.Range {
		return spec.Range{
			Ptr:   spec.Ptr(rapid.Uint64Range(1, math.MaxInt64).Draw(t, "addr")),
			Bytes: rapid.Uint64Range(1, math.MaxInt64).Draw(t, "bytes"),
		}
	}), 0, 3).Draw(t, "places")
}

func drawLayout(t *rapid.T) []spec.Segment {
	if rapid.Bool().Draw(t, "no layout") {
		return nil
	}
	size := rapid.Uint64Max(math.MaxInt64)
	block := rapid.Custom(func(t *rapid.T) spec.Block {
		return spec.Block{
			Address: spec.Ptr(rapid.Uint64().Draw(t, "addr")), Size: size.Draw(t, "size"),
			RequestedSize: size.Draw(t, "requested"), State: spec.BlockState(rapid.IntRange(0, 2).Draw(t, "state")),
		}
	})
	segment := rapid.Custom(func(t *rapid.T) spec.Segment {
		return spec.Segment{
			Device: spec.Device(rapid.IntRange(0, 2).Draw(t, "device")), Address: spec.Ptr(rapid.Uint64().Draw(t, "addr")),
			TotalSize: size.Draw(t, "size"), Stream: spec.Stream(rapid.Uint64().Draw(t, "stream")), PoolKind: rapid.SampledFrom([]spec.PoolKind{spec.SmallPool, spec.LargePool}).Draw(t, "kind"),
			Pool: drawPool(t), Expandable: rapid.Bool().Draw(t, "expandable"), AllocatedSize: size.Draw(t, "allocated"),
			ActiveSize: size.Draw(t, "active"), RequestedSize: size.Draw(t, "requested"), Blocks: drawList(t, "blocks", block),
		}
	})
	return rapid.SliceOfN(segment, 0, 3).Draw(t, "layout")
}

func drawPool(t *rapid.T) spec.PoolID {
	return spec.PoolID{Capture: rapid.Uint64().Draw(t, "capture"), User: rapid.Uint64().Draw(t, "user")}
}

func drawRanges(t *rapid.T, kind trace.OpKind) []trace.OpRange {
	rng := rapid.Custom(func(t *rapid.T) trace.OpRange {
		size := rapid.Uint64Max(math.MaxInt64)
		return trace.OpRange{ID: rapid.Int64Range(0, 4).Draw(t, "id"), Offset: size.Draw(t, "offset"), Bytes: size.Draw(t, "bytes")}
	})
	if kind == trace.OpCopy {
		return []trace.OpRange{rng.Draw(t, "range")}
	}
	return drawList(t, "ranges", rng)
}

func drawFault(t *rapid.T) spec.FaultSpec {
	return spec.FaultSpec{
		Call:  rapid.SampledFrom(spec.DriverCalls()).Draw(t, "call"),
		Nth:   rapid.IntRange(1, 9).Draw(t, "nth"),
		Error: rapid.SampledFrom(spec.FaultErrors()).Draw(t, "error"),
	}
}

// drawFunction draws a function that allocates and frees in turn.
func drawFunction(t *rapid.T) trace.TreeFunction {
	f := trace.TreeFunction{
		Inputs: rapid.IntRange(0, 2).Draw(t, "inputs"), Static: rapid.Bool().Draw(t, "static"),
		Mode: rapid.SampledFrom(trace.TreeModes).Draw(t, "mode"),
	}
	if f.Inputs > 0 && rapid.Bool().Draw(t, "has sizes") {
		f.InputSizes = rapid.SliceOfN(rapid.Uint64Max(math.MaxInt64), f.Inputs, f.Inputs).Draw(t, "sizes")
	}
	temps := rapid.IntRange(0, 3).Draw(t, "temporaries")
	for i := range temps {
		f.Steps = append(f.Steps, trace.TreeStep{Temp: i, Bytes: rapid.Uint64Max(math.MaxInt64).Draw(t, "bytes")})
		if rapid.Bool().Draw(t, "free") {
			f.Steps = append(f.Steps, trace.TreeStep{Temp: i, Free: true})
		} else {
			f.Outputs = append(f.Outputs, trace.TreeResult{Kind: rapid.SampledFrom([]string{"new", "same"}).Draw(t, "kind"), Index: i})
		}
	}
	for i := range f.Inputs {
		f.Outputs = append(f.Outputs, trace.TreeResult{Kind: "input", Index: i})
	}
	f.DropInputsAt = rapid.IntRange(0, len(f.Steps)).Draw(t, "drop inputs at")
	return f
}

func drawInput(t *rapid.T) trace.TreeInput {
	if rapid.Bool().Draw(t, "fresh") {
		return trace.TreeInput{Fresh: rapid.Uint64Max(math.MaxInt64).Draw(t, "bytes")}
	}
	output := trace.TreeOutput{Call: rapid.IntRange(0, 9).Draw(t, "call"), Index: rapid.IntRange(0, 9).Draw(t, "index")}
	return trace.TreeInput{Output: &output, Consume: rapid.Bool().Draw(t, "consume")}
}

// drawList draws a short list; an empty one is nil, as it is read.
func drawList[E any](t *rapid.T, label string, element *rapid.Generator[E]) []E {
	if list := rapid.SliceOfN(element, 0, 3).Draw(t, label); len(list) > 0 {
		return list
	}
	return nil
}
