package whatif

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
	"gaugeblock/spec/settings"
	"gaugeblock/spec/trace"
)

// A recorded trace (docs/trace-format.md), such as the recorder of "gaugeblock record"
// writes, has what a snapshot lacks: pools, captures, checkpoints, emptied caches, the
// limit. It still does not say how long other streams would lag behind in another run.

// FromTrace reads the history of a device from a trace, in which the allocator's own
// events must have been recorded. What is wrong with the trace is a *spec.TraceError;
// a *WorkloadError says that it has operations that cannot be asked again.
func FromTrace(t *trace.Reader, dev spec.Device) (*Workload, error) {
	header := t.Header()
	config, err := settings.Parse(header.Settings, spec.DefaultGeometry())
	if err != nil {
		return nil, err
	}
	r := &traceRebuilder{
		Workload: &Workload{Device: dev, Config: config}, header: header,
		ids: map[int64]int32{}, waiting: map[spec.Ptr]int32{},
	}
	for {
		op, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if op.Device == dev {
			if err := r.operation(op); err != nil {
				return nil, err
			}
		}
	}
	for _, at := range r.waiting {
		r.Requests[at].CompletedBefore = int32(len(r.Requests))
	}
	r.finish()
	if r.Mallocs == 0 {
		return nil, &WorkloadError{fmt.Sprintf("the trace asks for no memory of device %d", dev)}
	}
	return r.Workload, nil
}

// traceRebuilder goes through a trace.
type traceRebuilder struct {
	*Workload
	header   *trace.Header
	ids      map[int64]int32    // the trace's numbers to ours
	waiting  map[spec.Ptr]int32 // freed and not yet back: the number of the free
	allowed  uint64             // the smallest limit that was set
	captured []trace.Op         // redirections of captures that are under way
}

// ignored are operations that only a device notices, or that a limit and settings of
// our own take the place of.
var ignored = []trace.OpKind{
	trace.OpBusy, trace.OpDrain, trace.OpKernel, trace.OpCopy, trace.OpWaitStream, trace.OpRecordEvent, trace.OpWaitEvent,
	trace.OpSynchronize, trace.OpCaptureBegin, trace.OpCaptureEnd, trace.OpGraphLaunch, trace.OpGraphDestroy, trace.OpDeviceFree,
	trace.OpRecordStream, trace.OpResetPeak, trace.OpResetAccumulated, trace.OpPeerAccess,
}

// repeated are operations that are asked again as they are (other.go).
var repeated = []trace.OpKind{
	trace.OpPoolCreate, trace.OpPoolBegin, trace.OpPoolEnd, trace.OpPoolRelease, trace.OpPoolDelete, trace.OpCheckpoint, trace.OpRestore,
}

func (r *traceRebuilder) operation(op *trace.Op) error {
	if op.Expect.Entries == nil && (op.Kind == trace.OpMalloc || op.Kind == trace.OpFree) {
		return &WorkloadError{fmt.Sprintf("line %d: the trace does not say what the allocator did", op.Line)}
	}
	first := int32(len(r.trace))
	r.events(op)
	switch {
	case op.Expect.Error != "" && op.Kind != trace.OpMalloc: // it did nothing
	case op.Kind == trace.OpMalloc:
		r.malloc(op)
	case op.Kind == trace.OpFree:
		r.free(op, first)
	case op.Kind == trace.OpEmptyCache && op.Pool.IsDefault():
		r.add(Request{Kind: EmptyCache, Entry: first})
	case op.Kind == trace.OpEmptyCache, slices.Contains(repeated, op.Kind):
		r.repeat(op, first)
	case op.Kind == trace.OpSetMemoryFraction:
		if op.Fraction < 1 && (r.allowed == 0 || op.Allowed < r.allowed) {
			r.allowed = op.Allowed
		}
	case op.Kind == trace.OpConfigure:
		r.Unrecorded.SettingsChanges++
	case !slices.Contains(ignored, op.Kind):
		return &WorkloadError{fmt.Sprintf("line %d: the operation %s cannot be asked again under other settings", op.Line, op.Kind)}
	}
	return nil
}

func (r *traceRebuilder) add(q Request) { r.Requests = append(r.Requests, q) }

// events puts what the allocator did in an operation into one list, as a snapshot has
// it, and sees what came back before it.
func (r *traceRebuilder) events(op *trace.Op) {
	for _, e := range op.Expect.Entries {
		r.trace = append(r.trace, snapshot.TraceEntry{TraceEntry: e, Context: noContext})
		if at, waits := r.waiting[e.Addr]; waits && e.Action == spec.ActionFreeCompleted {
			r.Requests[at].CompletedBefore = int32(len(r.Requests))
			delete(r.waiting, e.Addr)
		}
	}
}

var noContext = &snapshot.Context{}

func (r *traceRebuilder) malloc(op *trace.Op) {
	q := Request{
		Kind: Malloc, ID: r.newID(op.ID), Bytes: op.Size, Thread: op.Thread,
		Stream: r.header.Streams[op.Stream], Entry: int32(len(r.trace) - 1),
	}
	if op.Expect.Error == trace.ErrorOOM {
		q.Kind = FailedMalloc
		r.Unrecorded.OOMs++
	}
	for _, c := range r.captured {
		if c.Stream != op.Stream && c.Thread == op.Thread {
			r.Unrecorded.UnknownPools++ // the stream may have joined the capture
		}
	}
	r.Mallocs++
	r.add(q)
}

func (r *traceRebuilder) newID(id int64) int32 {
	r.Allocations++
	r.ids[id] = int32(r.Allocations - 1)
	return r.ids[id]
}

// free reads a free; memory that did not come back at once was held by other streams.
func (r *traceRebuilder) free(op *trace.Op, first int32) {
	id, known := r.ids[op.ID]
	if !known {
		return // what failed
	}
	q := Request{Kind: Free, ID: id, Entry: first}
	for _, e := range op.Expect.Entries {
		switch e.Action {
		case spec.ActionFreeRequested:
			q.PendingFree = true
			r.waiting[e.Addr] = int32(len(r.Requests))
		case spec.ActionFreeCompleted:
			q.PendingFree = false
			delete(r.waiting, e.Addr)
		}
	}
	if q.PendingFree {
		r.Unrecorded.PendingFrees++
	}
	r.add(q)
}

// repeat keeps an operation as it is.
func (r *traceRebuilder) repeat(op *trace.Op, first int32) {
	kept := *op
	kept.Expect = trace.Expectation{}
	switch op.Kind {
	case trace.OpPoolBegin:
		if op.By == trace.ByCapture {
			r.captured = append(r.captured, kept)
		}
	case trace.OpPoolEnd:
		r.captured = slices.DeleteFunc(r.captured, func(c trace.Op) bool { return c.Pool == op.Pool })
	}
	r.ops = append(r.ops, repeatedOp{kept, r.header.Streams[op.Stream]})
	r.add(Request{Kind: Other, ID: int32(len(r.ops) - 1), Entry: first})
}

// finish sees what the whole trace shows.
func (r *traceRebuilder) finish() {
	streams := map[spec.Stream]bool{}
	for i := range r.trace {
		streams[r.trace[i].Stream] = true
	}
	r.Streams = slices.Sorted(maps.Keys(streams))
	r.Limit = inferSegmentFrees(r.trace, nil, r.Config).limit
	if r.allowed > 0 {
		r.Limit = LimitBounds{max(r.allowed, r.Limit.Least), max(r.allowed, r.Limit.Least)}
	}
}
