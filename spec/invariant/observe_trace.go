package invariant

import (
	"fmt"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// traceHistory is what a history remembers of a trace: which pointer an
// allocation of the trace has.
type traceHistory struct {
	allocations map[int64]Allocation // by the trace's number, freed ones included: a restore may bring them back
	uncached    bool                 // caching is switched off
}

func newTraceHistory() traceHistory { return traceHistory{allocations: map[int64]Allocation{}} }

// Outcome is what came of an operation of a trace.
type Outcome struct {
	Ptr spec.Ptr // malloc: the address that was returned
	Err error    // the operation failed

	// Freed lists what callbacks of the allocator freed meanwhile.
	Freed []int64

	// Drained lists streams that were waited for meanwhile, by the allocator or by
	// the driver on its behalf, with everything that was in them.
	Drained []spec.DeviceStream

	// Snapshot is the memory after a checkpoint. Without it nobody knows what
	// was saved.
	Snapshot *spec.Snapshot
}

// WorkCompleted: all work has completed that completes by itself before the next
// operation of a trace. That is all work, except that of streams that are busy, of
// captures, and of streams that wait for such work. Whoever replays a trace by that rule
// says so before each operation; whoever runs the work some other way reports
// completions instead.
func (h *History) WorkCompleted() { h.order.completeUnblocked() }

// Apply does to the history what a trace's operation does. streams are the handles by
// the trace's index. An operation that the history cannot follow, or that names what
// is not there, is an *InvalidArgumentError, one that is a program of its own (a
// call of a graph tree) a *NotSupportedError; the history is then as before.
func (h *History) Apply(op *trace.Op, streams []spec.Stream, out Outcome) error {
	a := applied{Op: op, out: out}
	var err error
	if a.stream, err = traceStream(op, op.Stream, streams); err != nil {
		return err
	}
	if a.on, err = traceStream(op, op.On, streams); err != nil {
		return err
	}
	if op.Kind.Target() == trace.TargetGraphTrees {
		return &spec.NotSupportedError{Op: "history", Reason: string(op.Kind)}
	}
	effect, known := effects[op.Kind]
	if !known {
		return &spec.InvalidArgumentError{Op: "history", Reason: fmt.Sprintf("operation %q is not known", op.Kind)}
	}
	if err := h.checkKnown(op, out); err != nil {
		return err
	}
	h.restored = nil
	for _, d := range out.Drained {
		h.order.drain(d)
	}
	for _, id := range out.Freed {
		h.Freed(h.trace.allocations[id].Ptr)
	}
	if out.Err == nil && effect != nil {
		effect(h, a)
	}
	return nil
}

// traceStream is the handle of a trace's stream.
func traceStream(op *trace.Op, index int, streams []spec.Stream) (spec.Stream, error) {
	if index < 0 || index >= len(streams) {
		return 0, &spec.InvalidArgumentError{Op: "history", Reason: fmt.Sprintf("%s: stream %d of %d", op.Kind, index, len(streams))}
	}
	return streams[index], nil
}

// checkKnown looks whether all allocations were made whose pointers are needed.
func (h *History) checkKnown(op *trace.Op, out Outcome) error {
	var named []int64
	switch op.Kind.Memory() {
	case trace.MemoryFrees, trace.MemoryRecords, trace.MemoryResizes:
		named = []int64{op.ID}
	case trace.MemoryRestores:
		named = append(append(named, op.Live...), op.Freed...)
	}
	for _, id := range append(named, out.Freed...) {
		if _, ok := h.trace.allocations[id]; !ok {
			return &spec.InvalidArgumentError{Op: "history", Reason: fmt.Sprintf("%s: allocation %d was not made", op.Kind, id)}
		}
	}
	return nil
}

// applied is a successful operation with the handles of its streams.
type applied struct {
	*trace.Op
	stream, on spec.Stream
	out        Outcome
}

// of is the stream of the operation.
func (a applied) of() spec.DeviceStream {
	return spec.DeviceStream{Device: a.Device, Stream: a.stream}
}

// effects says what each kind of operation does to a history; nil: nothing, since
// neither the owner of any memory nor the order of any work changes. Those of graph
// trees are not here, see Apply.
var effects = map[trace.OpKind]func(h *History, a applied){
	trace.OpMalloc: func(h *History, a applied) {
		made := Allocation{a.Device, a.stream, a.Thread, a.out.Ptr, a.Size, h.trace.uncached}
		h.trace.allocations[a.ID] = made
		h.Allocated(made)
	},
	trace.OpFree:              func(h *History, a applied) { h.Freed(h.trace.allocations[a.ID].Ptr) },
	trace.OpFreeOn:            func(h *History, a applied) { h.Freed(h.trace.allocations[a.ID].Ptr) },
	trace.OpRecordStream:      func(h *History, a applied) { h.StreamRecorded(h.trace.allocations[a.ID].Ptr, a.Device, a.stream) },
	trace.OpEmptyCache:        nil,
	trace.OpSetMemoryFraction: nil,
	trace.OpConfigure:         nil,
	trace.OpResetPeak:         nil,
	trace.OpResetAccumulated:  func(h *History, a applied) { h.AccumulatedStatsReset(a.Device) },
	trace.OpEnable:            func(h *History, a applied) { h.trace.uncached = !a.Enabled },
	trace.OpResize: func(h *History, a applied) {
		made := h.trace.allocations[a.ID]
		h.Freed(made.Ptr)
		made.Bytes = a.Size
		h.trace.allocations[a.ID] = made
		h.Allocated(made)
	},
	trace.OpSleep:              nil, // what is allocated stays so
	trace.OpWake:               nil,
	trace.OpNeedMemoryCallback: nil, // what it frees is in Outcome.Freed of the operation that calls it

	trace.OpPoolCreate:  func(h *History, a applied) { h.PoolCreated(a.Device, a.Pool) },
	trace.OpPoolBegin:   func(h *History, a applied) { h.PoolBegun(a.Device, a.Pool, a.By, a.Thread, a.stream) },
	trace.OpPoolEnd:     func(h *History, a applied) { h.PoolEnded(a.Device, a.Pool) },
	trace.OpPoolRelease: func(h *History, a applied) { h.PoolReleased(a.Device, a.Pool) },
	trace.OpPoolDelete:  func(h *History, a applied) { h.PoolReleased(a.Device, a.Pool) },
	trace.OpCheckpoint: func(h *History, a applied) {
		if a.out.Snapshot != nil {
			h.CheckpointTaken(a.Device, a.Pool, a.State, a.out.Snapshot)
		}
	},
	trace.OpRestore: func(h *History, a applied) {
		var freed []spec.Ptr
		for _, id := range a.Freed {
			freed = append(freed, h.trace.allocations[id].Ptr)
		}
		var created []Allocation
		for _, id := range a.Live {
			created = append(created, h.trace.allocations[id])
		}
		h.CheckpointRestored(a.State, freed, created)
	},

	trace.OpPeerAccess:  nil,
	trace.OpShare:       nil,
	trace.OpOpenShared:  nil, // another process's memory
	trace.OpCloseShared: nil,

	trace.OpKernel:        func(h *History, a applied) { h.order.submit(a.of()) },
	trace.OpCopy:          func(h *History, a applied) { h.order.submit(a.of()) },
	trace.OpDestroyStream: nil, // what is in it goes on
	trace.OpWaitStream:    func(h *History, a applied) { h.StreamWaited(a.Device, a.stream, a.Device, a.on) },
	trace.OpRecordEvent:   func(h *History, a applied) { h.EventRecorded(spec.EventHandle(a.Event), a.Device, a.stream) },
	trace.OpWaitEvent:     func(h *History, a applied) { h.EventWaited(spec.EventHandle(a.Event), a.Device, a.stream) },
	trace.OpSynchronize:   func(h *History, a applied) { h.order.synchronize(a.of()) },

	trace.OpCreateStream:      nil, // a stream is known from when it is first named
	trace.OpSynchronizeEvent:  func(h *History, a applied) { h.order.See(h.order.marks[spec.EventHandle(a.Event)].clock) },
	trace.OpSynchronizeDevice: func(h *History, a applied) { h.order.SynchronizeDevice(a.Device) },
	trace.OpQueryEvent: func(h *History, a applied) {
		if a.Complete {
			h.order.See(h.order.marks[spec.EventHandle(a.Event)].clock)
		}
	},
	trace.OpQueryStream: func(h *History, a applied) {
		if a.Complete {
			h.order.synchronize(a.of())
		}
	},
	trace.OpDestroyEvent: func(h *History, a applied) { delete(h.order.marks, spec.EventHandle(a.Event)) },
	trace.OpHostAccess:   nil, // it is no work of a stream
	trace.OpWaitThread:   nil, // all calls count as one thread's
	trace.OpEndThread:    nil,

	trace.OpCaptureBegin: func(h *History, a applied) { h.CaptureBegun(a.Device, a.stream) },
	trace.OpCaptureEnd:   func(h *History, a applied) { h.CaptureEnded(a.Device, a.stream) },
	trace.OpMarkBegin:    nil, // only the allocator looks at it
	trace.OpMarkEnd:      nil,
	trace.OpGraphLaunch:  func(h *History, a applied) { h.order.submit(a.of()) },
	trace.OpGraphDestroy: nil,

	trace.OpBusy: func(h *History, a applied) {
		h.order.submit(a.of())
		h.order.of(a.of()).busy = true
	},
	trace.OpDrain:      func(h *History, a applied) { h.order.drain(a.of()) },
	trace.OpDeviceFree: nil,
	trace.OpFault:      nil,
}
