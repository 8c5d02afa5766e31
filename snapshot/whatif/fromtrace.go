package whatif

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"gaugeblock/spec"
	"gaugeblock/snapshot"
)

// A recorded trace (docs/trace-format.md), such as the recorder of "gaugeblock record"
// writes, has what a snapshot lacks: pools, captures, checkpoints, emptied caches, the
// limit. It still does not say how long other streams would lag behind in another run.

// FromTrace reads the history of a device from a trace, in which the allocator's own
// events must have been recorded. What is wrong with the trace is a *spec.TraceError;
// a *HistoryError says that it has operations that cannot be asked again.
func FromTrace(t *spec.TraceReader, dev spec.Device) (*History, error) {
	header := t.Header()
	config, err := spec.ParseConfig(header.Settings, spec.DefaultGeometry())
	if err != nil {
		return nil, err
	}
	r := &traceRebuilder{
		History: &History{Device: dev, Config: config}, header: header,
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
		r.Requests[at].Until = int32(len(r.Requests))
	}
	r.finish()
	if r.Mallocs == 0 {
		return nil, &HistoryError{fmt.Sprintf("the trace asks for no memory of device %d", dev)}
	}
	return r.History, nil
}

// traceRebuilder goes through a trace.
type traceRebuilder struct {
	*History
	header   *spec.TraceHeader
	ids      map[int64]int32    // the trace's numbers to ours
	waiting  map[spec.Ptr]int32 // freed and not yet back: the number of the free
	allowed  uint64             // the smallest limit that was set
	captured []spec.Op          // redirections of captures that are under way
}

// ignored are operations that only a device notices, or that a limit and settings of
// our own take the place of.
var ignored = []spec.OpKind{
	spec.OpBusy, spec.OpDrain, spec.OpKernel, spec.OpCopy, spec.OpWaitStream, spec.OpRecordEvent, spec.OpWaitEvent,
	spec.OpSynchronize, spec.OpCaptureBegin, spec.OpCaptureEnd, spec.OpGraphLaunch, spec.OpGraphDestroy, spec.OpDeviceFree,
	spec.OpRecordStream, spec.OpResetPeak, spec.OpResetAccumulated, spec.OpPeerAccess,
}

// repeated are operations that are asked again as they are (other.go).
var repeated = []spec.OpKind{
	spec.OpPoolCreate, spec.OpPoolBegin, spec.OpPoolEnd, spec.OpPoolRelease, spec.OpPoolDelete, spec.OpCheckpoint, spec.OpRestore,
}

func (r *traceRebuilder) operation(op *spec.Op) error {
	if op.Expect.Events == nil && (op.Kind == spec.OpMalloc || op.Kind == spec.OpFree) {
		return &HistoryError{fmt.Sprintf("line %d: the trace does not say what the allocator did", op.Line)}
	}
	first := int32(len(r.trace))
	r.events(op)
	switch {
	case op.Expect.Error != "" && op.Kind != spec.OpMalloc: // it did nothing
	case op.Kind == spec.OpMalloc:
		r.malloc(op)
	case op.Kind == spec.OpFree:
		r.free(op, first)
	case op.Kind == spec.OpEmptyCache && op.Pool.IsDefault():
		r.add(Request{Kind: EmptyCache, Entry: first})
	case op.Kind == spec.OpEmptyCache, slices.Contains(repeated, op.Kind):
		r.repeat(op, first)
	case op.Kind == spec.OpSetMemoryFraction:
		if op.Fraction < 1 && (r.allowed == 0 || op.Allowed < r.allowed) {
			r.allowed = op.Allowed
		}
	case op.Kind == spec.OpConfigure:
		r.Unknown.Reconfigured++
	case !slices.Contains(ignored, op.Kind):
		return &HistoryError{fmt.Sprintf("line %d: the operation %s cannot be asked again under other settings", op.Line, op.Kind)}
	}
	return nil
}

func (r *traceRebuilder) add(q Request) { r.Requests = append(r.Requests, q) }

// events puts what the allocator did in an operation into one list, as a snapshot has
// it, and sees what came back before it.
func (r *traceRebuilder) events(op *spec.Op) {
	for _, e := range op.Expect.Events {
		r.trace = append(r.trace, snapshot.Entry{Event: e, Context: noContext})
		if at, waits := r.waiting[e.Addr]; waits && e.Action == spec.ActionFreeCompleted {
			r.Requests[at].Until = int32(len(r.Requests))
			delete(r.waiting, e.Addr)
		}
	}
}

var noContext = &snapshot.Context{}

func (r *traceRebuilder) malloc(op *spec.Op) {
	q := Request{
		Kind: Malloc, ID: r.newID(op.ID), Bytes: op.Size, Thread: op.Thread,
		Stream: r.header.Streams[op.Stream], Entry: int32(len(r.trace) - 1),
	}
	if op.Expect.Error == spec.ErrorOOM {
		q.Kind = Failing
		r.Unknown.Failed++
	}
	for _, c := range r.captured {
		if c.Stream != op.Stream && c.Thread == op.Thread {
			r.Unknown.LostPools++ // the stream may have joined the capture
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
func (r *traceRebuilder) free(op *spec.Op, first int32) {
	id, known := r.ids[op.ID]
	if !known {
		return // what failed
	}
	q := Request{Kind: Free, ID: id, Entry: first}
	for _, e := range op.Expect.Events {
		switch e.Action {
		case spec.ActionFreeRequested:
			q.Held = true
			r.waiting[e.Addr] = int32(len(r.Requests))
		case spec.ActionFreeCompleted:
			q.Held = false
			delete(r.waiting, e.Addr)
		}
	}
	if q.Held {
		r.Unknown.Held++
	}
	r.add(q)
}

// repeat keeps an operation as it is.
func (r *traceRebuilder) repeat(op *spec.Op, first int32) {
	kept := *op
	kept.Expect = spec.Expectation{}
	switch op.Kind {
	case spec.OpPoolBegin:
		if op.By == spec.ByCapture {
			r.captured = append(r.captured, kept)
		}
	case spec.OpPoolEnd:
		r.captured = slices.DeleteFunc(r.captured, func(c spec.Op) bool { return c.Pool == op.Pool })
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
	r.Limit = findReturns(r.trace, nil, r.Config).limit
	if r.allowed > 0 {
		r.Limit = LimitBounds{max(r.allowed, r.Limit.Least), max(r.allowed, r.Limit.Least)}
	}
}
