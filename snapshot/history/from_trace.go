package history

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"gaugeblock/internal/memlimit"
	"gaugeblock/snapshot"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// A recorded trace (spec/trace/README.md), such as the recorder of "gaugeblock record"
// writes, has what a snapshot lacks: pools, captures, checkpoints, emptied caches, the
// limit. It still does not say how long other streams would lag behind in another run.

// FromTrace reads the history of a device from a trace, in which the allocator's own
// events must have been recorded. What is wrong with the trace is a *trace.Error;
// a *WorkloadError says that it has operations that cannot be asked again. maxMemory bounds what
// the process keeps in memory, in bytes; 0: memlimit.Default.
func FromTrace(t *trace.Reader, dev spec.Device, maxMemory uint64) (*Workload, error) {
	header := t.Header()
	if header.Geometry != spec.DefaultGeometry() {
		return nil, &WorkloadError{dev, "line 1: the sizes of pools and segments are not those of PyTorch"}
	}
	version, _, err := upstream.OfTrace(header.Release, header.Source)
	if err != nil {
		return nil, err
	}
	recorded, err := ParseSettings(header.Settings, version.Release)
	if err != nil {
		return nil, err
	}
	r := &traceRebuilder{
		Workload: &Workload{
			Device: dev, Settings: SettingsOf(recorded.Config), DeviceMemory: header.TotalMemory, Refused: map[int32]uint64{},
			Version: snapshot.Version{Least: 11, Most: snapshot.Newest}, Release: version.Release,
		},
		header: header, ids: map[int64]int32{}, waiting: map[spec.Ptr]int32{}, emptied: map[int]bool{},
	}
	budget := memlimit.New(maxMemory)
	for {
		op, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := budget.Check(); err != nil {
			return nil, fmt.Errorf("line %d: %w", op.Line, err)
		}
		if op.Device == dev {
			if err := r.operation(op); err != nil {
				return nil, err
			}
		}
	}
	r.NoEnd = t.End() == nil
	for _, at := range r.waiting {
		r.Requests[at].CompletedBefore = int32(len(r.Requests))
	}
	r.StartsExpandable = r.Settings.Config.ExpandableSegments
	r.finish()
	if r.Mallocs == 0 {
		return nil, &WorkloadError{dev, fmt.Sprintf("the trace asks for no memory of device %d", dev)}
	}
	return r.Workload, nil
}

// traceRebuilder goes through a trace.
type traceRebuilder struct {
	*Workload
	header   *trace.Header
	ids      map[int64]int32    // the trace's numbers to ours
	waiting  map[spec.Ptr]int32 // freed, and the free not completed: the number of the free
	allowed  uint64             // the smallest limit that was set
	emptied  map[int]bool       // of entries that free segments: whether the program emptied the cache
	captured []trace.Op         // pool_begin of captures that are under way
}

// PoolOperation is an operation with pools that every run repeats, and its stream.
type PoolOperation struct {
	trace.Op
	On          spec.Stream
	Live, Freed []int32 // of a restore: the IDs of Op.Live and Op.Freed
}

// tracedKind is what is made of a kind of operation: a request of its own (ask), or one
// that does the same again in every run (again); nothing, for a reason; or there is no run
// under other settings that it could be a part of, so that the trace is refused.
type tracedKind struct {
	ask     func(r *traceRebuilder, op *trace.Op, first int32) // nil: repeat
	again   bool
	ignored string // the reason
	refused bool
}

// tracedKinds has the calls of the allocator. Calls of the device are not here: only a
// device notices them. Those of graph trees are a program of their own, and are refused.
var tracedKinds = map[trace.OpKind]tracedKind{
	trace.OpMalloc:             {ask: (*traceRebuilder).malloc},
	trace.OpFree:               {ask: (*traceRebuilder).free},
	trace.OpFreeOn:             {ask: (*traceRebuilder).free},
	trace.OpRecordStream:       {ignored: "how long a stream holds memory shows at the free"},
	trace.OpEmptyCache:         {ask: (*traceRebuilder).emptyCache, again: true},
	trace.OpSetMemoryFraction:  {ask: (*traceRebuilder).limit},
	trace.OpConfigure:          {ask: func(r *traceRebuilder, _ *trace.Op, _ int32) { r.Unrecorded.SettingsChanges++ }},
	trace.OpResetPeak:          {ignored: "statistics are counted anew"},
	trace.OpResetAccumulated:   {ignored: "statistics are counted anew"},
	trace.OpEnable:             {refused: true},
	trace.OpNeedMemoryCallback: {refused: true},
	trace.OpResize:             {refused: true},
	trace.OpSleep:              {refused: true},
	trace.OpWake:               {refused: true},

	trace.OpPoolCreate:  {again: true},
	trace.OpPoolBegin:   {ask: (*traceRebuilder).beginPool, again: true},
	trace.OpPoolEnd:     {ask: (*traceRebuilder).endPool, again: true},
	trace.OpPoolRelease: {again: true},
	trace.OpPoolDelete:  {again: true},
	trace.OpCheckpoint:  {again: true},
	trace.OpRestore:     {again: true},

	trace.OpMarkBegin: {ignored: "without a capture it says nothing"},
	trace.OpMarkEnd:   {ignored: "without a capture it says nothing"},

	trace.OpPeerAccess:  {ignored: "only a device notices"},
	trace.OpShare:       {refused: true},
	trace.OpOpenShared:  {refused: true},
	trace.OpCloseShared: {refused: true},
}

func (r *traceRebuilder) operation(op *trace.Op) error {
	allocates, frees := op.Kind.Memory() == trace.MemoryAllocates, op.Kind.Memory() == trace.MemoryFrees
	if op.Expect.Entries == nil && (allocates || frees) {
		return &WorkloadError{r.Device, fmt.Sprintf("line %d: the trace does not say what the allocator did", op.Line)}
	}
	first := int32(len(r.Trace))
	r.events(op)
	k := tracedKinds[op.Kind]
	switch target := op.Kind.Target(); {
	case op.Expect.Error != "" && !allocates: // it did nothing
	case target == trace.TargetDevice, target == trace.TargetTestDevice: // only a device notices
	case k.ask != nil:
		k.ask(r, op, first)
	case k.again:
		r.repeat(op, first)
	case k.ignored == "":
		return &WorkloadError{r.Device, fmt.Sprintf("line %d: the operation %s cannot be asked again under other settings", op.Line, op.Kind)}
	}
	return nil
}

func (r *traceRebuilder) add(q Request) { r.Requests = append(r.Requests, q) }

// events puts what the allocator did in an operation into one list, as a snapshot has
// it, and sees which frees were completed before it.
func (r *traceRebuilder) events(op *trace.Op) {
	for _, e := range op.Expect.Entries {
		if e.Action == spec.ActionSegmentFree || e.Action == spec.ActionSegmentUnmap {
			r.emptied[len(r.Trace)] = op.Kind.Memory() != trace.MemoryAllocates
		}
		r.Trace = append(r.Trace, snapshot.TraceEntry{TraceEntry: e, Context: NoContext})
		if at, waits := r.waiting[e.Addr]; waits && e.Action == spec.ActionFreeCompleted {
			r.Requests[at].CompletedBefore = int32(len(r.Requests))
			delete(r.waiting, e.Addr)
		}
	}
}

var NoContext = &snapshot.Context{}

func (r *traceRebuilder) malloc(op *trace.Op, _ int32) {
	q := Request{
		Kind: Malloc, ID: r.newID(op.ID), Bytes: op.Size, Thread: op.Thread,
		Stream: r.header.Streams[op.Stream], Entry: int32(len(r.Trace) - 1),
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

// free reads a free. If it is not completed at once, other streams use the memory.
func (r *traceRebuilder) free(op *trace.Op, first int32) {
	id, known := r.ids[op.ID]
	if !known {
		return // what failed
	}
	q := Request{Kind: Free, ID: id, Entry: first}
	var memory spec.Ptr
	for _, e := range op.Expect.Entries {
		switch e.Action {
		case spec.ActionFreeRequested:
			q.PendingFree = true
			memory = e.Addr
		case spec.ActionFreeCompleted:
			q.PendingFree = false
		}
	}
	if q.PendingFree {
		r.waiting[memory] = int32(len(r.Requests))
		r.Unrecorded.PendingFrees++
	}
	r.add(q)
}

func (r *traceRebuilder) emptyCache(op *trace.Op, first int32) {
	if op.Pool.IsDefault() {
		r.add(Request{Kind: EmptyCache, Entry: first})
		return
	}
	r.repeat(op, first)
}

func (r *traceRebuilder) limit(op *trace.Op, _ int32) {
	if op.Fraction < 1 && (r.allowed == 0 || op.Allowed < r.allowed) {
		r.allowed = op.Allowed
	}
}

func (r *traceRebuilder) beginPool(op *trace.Op, first int32) {
	if op.By == trace.ByCapture {
		r.captured = append(r.captured, unexpected(op))
	}
	r.repeat(op, first)
}

func (r *traceRebuilder) endPool(op *trace.Op, first int32) {
	r.captured = slices.DeleteFunc(r.captured, func(c trace.Op) bool { return c.Pool == op.Pool })
	r.repeat(op, first)
}

// repeat keeps an operation as it is, to be asked again.
func (r *traceRebuilder) repeat(op *trace.Op, first int32) {
	again := PoolOperation{Op: unexpected(op), On: r.header.Streams[op.Stream]}
	for _, id := range op.Live {
		again.Live = append(again.Live, r.ids[id])
	}
	for _, id := range op.Freed {
		again.Freed = append(again.Freed, r.ids[id])
	}
	r.Operations = append(r.Operations, again)
	r.add(Request{Kind: Other, ID: int32(len(r.Operations) - 1), Entry: first})
}

// unexpected is the operation without what was seen of it.
func unexpected(op *trace.Op) trace.Op {
	kept := *op
	kept.Expect = trace.Expectation{}
	return kept
}

// finish sees what the whole trace shows.
func (r *traceRebuilder) finish() {
	streams := map[spec.Stream]bool{}
	for i := range r.Trace {
		streams[r.Trace[i].Stream] = true
	}
	r.Streams = slices.Sorted(maps.Keys(streams))
	frees := inferSegmentFrees(r.Trace, nil, r.Settings, r.emptied)
	r.takeLimit(&frees)
	r.takeRefusals(&frees)
	if r.allowed > 0 {
		least := max(r.allowed, frees.peak)
		r.Limit = LimitBounds{Kind: FractionLimit, Least: least, Most: least}
	}
}
