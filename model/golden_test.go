package model_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/internal/checkout"
	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// The model must do what PyTorch's allocator does. Here it is compared with recordings of
// PyTorch on a real GPU, without an allocator or a device: all traces that use nothing
// that the model leaves out.

// TestGolden: addresses, errors with their fields, current statistics, layouts, and the
// segments that were allocated and released are those of the recordings after every
// operation.
func TestGolden(t *testing.T) {
	list := checkout.AllTraces
	if testing.Short() {
		list = checkout.OwnTraces
	}
	files, err := list()
	if err != nil {
		t.Fatal(err)
	}
	replayed := map[string]int{} // by family
	operations := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		n, err := replay(files[name])
		switch {
		case errors.Is(err, spec.ErrNotSupported):
			continue
		case err != nil:
			t.Errorf("%s: %v", name, err)
		}
		family, _, _ := strings.Cut(name, "-")
		replayed[family]++
		operations += n
	}
	t.Logf("%d operations, traces by family: %v", operations, replayed)
	for _, family := range []string{
		"basic", "capture", "checkpoint", "configure", "gc", "multipool", "oom", "oversize", "pool_oom", "pools",
		"realoom", "small", "streams", "toggle", "wide",
	} {
		if replayed[family] == 0 {
			t.Errorf("no trace of the family %s", family)
		}
	}
}

// TestReleases: so is a recording of each release, by its rules.
func TestReleases(t *testing.T) {
	files, err := filepath.Glob("../tests/releases/testdata/*.jsonl*")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	beside, err := filepath.Glob("../../shared/traces/*/*.jsonl.gz") // many more, if they are there
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, beside...) {
		if _, err := replay(file); err != nil && !errors.Is(err, spec.ErrNotSupported) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// replay replays a trace on a new model. The error wraps spec.ErrNotSupported if the trace
// has something that the model leaves out.
func replay(file string) (operations int, err error) {
	tr, err := trace.Open(file)
	if err != nil {
		return 0, err
	}
	defer tr.Close()
	if strings.Contains(tr.Header().Settings, "graph_capture_record_stream_reuse:True") {
		return 0, &spec.NotSupportedError{Op: "model", Reason: "reuse of frees in a capture"}
	}
	release, _, err := upstream.OfTrace(tr.Header().Release, tr.Header().Source)
	if err != nil {
		return 0, err
	}
	cfg, err := release.Rules.Settings.Parse(tr.Header().Settings, tr.Header().Geometry)
	if err != nil {
		return 0, err
	}
	cfg.PerProcessMemoryFraction = 1 // before any set_memory_fraction a trace has no limit
	r := replayer{
		header: tr.Header(),
		state:  model.New(0, tr.Header().TotalMemory, cfg, tr.Header().Geometry, release.Rules),
		ptrs:   map[int64]spec.Ptr{},
		saved:  map[int][]model.Checkpoint{},
	}
	for {
		op, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return operations, err
		}
		if err := supported(op); err != nil {
			return operations, err
		}
		operations++
		if err := r.step(op); err != nil {
			return operations, fmt.Errorf("line %d: %s: %w", op.Line, op.Kind, err)
		}
	}
	return operations, r.compareLayout(tr.End().Layout)
}

// supported is an error for an operation that the model leaves out.
func supported(op *trace.Op) error {
	if op.Thread != 0 {
		return &spec.NotSupportedError{Op: "model", Reason: "threads"}
	}
	switch op.Kind {
	case trace.OpMalloc, trace.OpFree, trace.OpRecordStream, trace.OpEmptyCache, trace.OpSetMemoryFraction, trace.OpConfigure:
	case trace.OpBusy, trace.OpDrain, trace.OpDeviceFree:
	case trace.OpPoolCreate, trace.OpPoolBegin, trace.OpPoolEnd, trace.OpPoolRelease, trace.OpPoolDelete, trace.OpCheckpoint, trace.OpRestore:
	case trace.OpCaptureBegin, trace.OpCaptureEnd, trace.OpMarkBegin, trace.OpMarkEnd, trace.OpKernel, trace.OpWaitStream:
	default:
		return &spec.NotSupportedError{Op: "model", Reason: string(op.Kind)}
	}
	return nil
}

// poolStep replays the operations on pools and captures. The model has no captures, only
// the routing of requests. A recording has one thread, so routing by thread is routing of
// all requests.
func (r *replayer) poolStep(op *trace.Op) (result model.Result, is bool) {
	switch op.Kind {
	case trace.OpKernel, trace.OpWaitStream:
	case trace.OpCaptureBegin, trace.OpCaptureEnd:
		r.capture(op)
	case trace.OpMarkBegin:
		r.state = r.state.MarkCaptureBegin()
	case trace.OpMarkEnd:
		r.state, result = r.state.MarkCaptureEnd()
	case trace.OpPoolCreate:
		r.state, result = r.state.CreatePool(op.Pool, op.UseOnOOM, op.NoSplit)
	case trace.OpPoolBegin:
		if op.By == trace.ByThread {
			r.state, result = r.state.BeginAllocateAllToPool(op.Pool)
		} else {
			r.state, result = r.state.BeginAllocateToPool(op.Pool, r.header.Streams[op.Stream])
		}
	case trace.OpPoolEnd:
		r.state, result = r.state.EndAllocateToPool(op.Pool)
	case trace.OpPoolRelease:
		r.state, result = r.state.ReleasePool(op.Pool)
	case trace.OpPoolDelete:
		r.state, result = r.state.ReleasePool(op.Pool)
		r.state = r.state.EmptyPool(op.Pool)
	case trace.OpCheckpoint:
		r.state, result = r.state.Checkpoint(op.Pool)
		r.saved[op.State] = r.state.Checkpoints
	case trace.OpRestore:
		r.state.Checkpoints = r.saved[op.State]
		r.state, result = r.state.SetCheckpointPoolState(op.Pool)
	default:
		return result, false
	}
	return result, true
}

// capture begins or ends the capture of a stream. By the rules that look at routing only it is
// nothing to the model.
func (r *replayer) capture(op *trace.Op) {
	if r.state.Rules.Captures == upstream.CapturesByRouting {
		return
	}
	if stream := r.header.Streams[op.Stream]; op.Kind == trace.OpCaptureBegin {
		r.captured = append(r.captured, stream)
		r.state.RelaxedCaptures = op.Mode == spec.CaptureRelaxed
		r.state.Truth = r.state.Truth.BeginCapture(model.PoolRouting{Pool: captureID(stream), Stream: stream})
		r.mark(r.state.MarkCaptureBegin())
	} else {
		r.captured = slices.DeleteFunc(r.captured, func(s spec.Stream) bool { return s == stream })
		r.state.Truth = r.state.Truth.EndCapture(captureID(stream))
		ended, _ := r.state.MarkCaptureEnd()
		r.mark(ended)
	}
}

// captureID tells captures apart by their streams.
func captureID(stream spec.Stream) spec.PoolID { return spec.PoolID{Capture: uint64(stream)} }

func (r *replayer) mark(marked model.State) {
	if !r.header.Marks {
		r.state = marked
	}
}

// current is the current stream of an operation: see trace.Op.
func (r *replayer) current(op *trace.Op) spec.Stream {
	switch {
	case op.Current != nil:
		return r.header.Streams[*op.Current]
	case len(r.captured) > 0:
		return r.captured[len(r.captured)-1]
	}
	return 0
}

// A replayer replays a trace on a model.
type replayer struct {
	header *trace.Header
	state  model.State
	ptrs   map[int64]spec.Ptr
	saved  map[int][]model.Checkpoint // by the numbers of the trace

	captured []spec.Stream // whose capture is under way, in order
}

// step replays one operation and compares. Failures of the real driver were not recorded;
// where the recorder had the device to itself, the number of failures is the first one
// with which everything else agrees.
func (r *replayer) step(op *trace.Op) error {
	if op.Kind == trace.OpDeviceFree {
		return nil // changes the number of driver failures only
	}
	before := r.state
	var err error
	for refusals := range 4 {
		r.state = before
		if err = r.perform(op, refusals); err == nil || !r.header.Exclusive || op.Kind != trace.OpMalloc {
			return err
		}
	}
	return err
}

func (r *replayer) perform(op *trace.Op, refusals int) error {
	r.state.Current = r.current(op)
	before := r.state
	do := model.Operation{
		Kind: op.Kind, Bytes: op.Size, Fraction: op.Fraction, Settings: op.Settings,
		Stream:  spec.DeviceStream{Stream: r.header.Streams[op.Stream]},
		Ptr:     r.ptrs[op.ID],
		Results: model.DriverResults{Refusals: refusals},
	}
	result, done := r.poolStep(op)
	switch {
	case done:
	case op.Kind == trace.OpMalloc:
		do.Results.Segment = recordedSegment(op.Expect.Entries)
		r.state, result = before.Malloc(do.Stream.Stream, do.Bytes, do.Results)
		if op.Expect.Addr != nil {
			r.ptrs[op.ID] = *op.Expect.Addr
		}
	default:
		var err error
		if r.state, err = before.Step(do, model.Outcome{}); err != nil {
			return err
		}
	}
	if err := r.compareResult(op, result); err != nil {
		return err
	}
	if err := compareSegments(before, r.state, op.Expect.Entries); err != nil {
		return err
	}
	if err := r.compareStats(op.Expect.Stats); err != nil {
		return err
	}
	return r.compareLayout(op.Expect.Layout)
}

// recordedSegment is the address of the segment that the real driver granted, 0 if there
// was none. The first page of an expandable segment is the one at its address.
func recordedSegment(entries []spec.TraceEntry) spec.Ptr {
	for _, e := range entries {
		if e.Action == spec.ActionSegmentAlloc || e.Action == spec.ActionSegmentMap {
			return e.Addr
		}
	}
	return 0
}

func (r *replayer) compareResult(op *trace.Op, got model.Result) error {
	if name := trace.ErrorName(got.Err); name != op.Expect.Error {
		return fmt.Errorf("the error is %q, recorded is %q", name, op.Expect.Error)
	}
	if op.Expect.Addr != nil && *op.Expect.Addr != got.Ptr {
		return fmt.Errorf("the address is %v, recorded is %v", got.Ptr, *op.Expect.Addr)
	}
	var oom *spec.OutOfMemoryError
	if !errors.As(got.Err, &oom) || op.Expect.Message == "" {
		return nil
	}
	figures := []string{
		"Tried to allocate " + spec.FormatSize(oom.SegmentSize) + ".",
		"Of the allocated memory " + spec.FormatSize(oom.Allocated) + " is allocated",
		spec.FormatSize(oom.Unallocated) + " is reserved by PyTorch but unallocated",
	}
	if oom.PrivatePools > 0 || strings.Contains(op.Expect.Message, "in private pools") {
		figures = append(figures, "with "+spec.FormatSize(oom.PrivatePools)+" allocated in private pools")
	}
	for _, figure := range figures {
		if !strings.Contains(op.Expect.Message, figure) {
			return fmt.Errorf("%q is not in the recorded message %q", figure, op.Expect.Message)
		}
	}
	return nil
}

// compareSegments compares the difference between two states with the recorded trace
// entries, for plain segments; the layouts show the expandable ones.
func compareSegments(before, after model.State, entries []spec.TraceEntry) error {
	want := addresses(before)
	for _, e := range entries {
		switch e.Action {
		case spec.ActionSegmentAlloc:
			want[e.Addr] = true
		case spec.ActionSegmentFree:
			delete(want, e.Addr)
		}
	}
	if got := addresses(after); !maps.Equal(want, got) {
		diff := cmp.Diff(want, got)
		return fmt.Errorf("segments (- recorded, + model):\n%s", diff)
	}
	return nil
}

func addresses(s model.State) map[spec.Ptr]bool {
	set := map[spec.Ptr]bool{}
	for _, g := range s.Segments {
		if !g.Expandable {
			set[g.Address] = true
		}
	}
	return set
}

func (r *replayer) compareStats(recorded []int64) error {
	stats := r.state.Stats()
	figures := stats.Map()
	for i, want := range recorded {
		switch _, part, _ := strings.Cut(r.header.StatColumns[i], "."); {
		case strings.HasSuffix(part, ".peak"), strings.HasSuffix(part, ".allocated"), strings.HasSuffix(part, ".freed"),
			part == "peak", part == "allocated", part == "freed":
			continue // the model has current values
		}
		if got := figures[r.header.StatColumns[i]]; got != want {
			return fmt.Errorf("%s is %d, recorded is %d", r.header.StatColumns[i], got, want)
		}
	}
	return nil
}

func (r *replayer) compareLayout(recorded []spec.Segment) error {
	if recorded == nil {
		return nil
	}
	layout := r.state.Layout()
	if r.header.Family == "capture" {
		recorded, layout = withoutStale(recorded), withoutStale(layout)
	}
	if diff := cmp.Diff(recorded, layout); diff != "" {
		return fmt.Errorf("layout (- recorded, + model):\n%s", diff)
	}
	return nil
}

// withoutStale leaves out the requested size of free blocks. Upstream processes deferred
// frees in the order of a hash table, and a merged block has the requested size of the
// block that was freed last.
func withoutStale(layout []spec.Segment) []spec.Segment {
	layout = slices.Clone(layout)
	for i := range layout {
		layout[i].Blocks = slices.Clone(layout[i].Blocks)
		for j := range layout[i].Blocks {
			if b := &layout[i].Blocks[j]; b.State == spec.Inactive {
				b.RequestedSize = 0
			}
		}
	}
	return layout
}
