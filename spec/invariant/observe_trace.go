package invariant

import (
	"fmt"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// traceHistory is what a history remembers of a trace: which pointer an
// allocation of the trace has.
type traceHistory struct {
	grants   map[int64]Allocation // by the trace's number, freed ones included: a restore may bring them back
	uncached bool                 // caching is switched off
}

func newTraceHistory() traceHistory { return traceHistory{grants: map[int64]Allocation{}} }

// Outcome is what came of an operation of a trace.
type Outcome struct {
	Ptr spec.Ptr // malloc: what was given out
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

// Settled: what completes by itself before the next operation has. That is the
// rule of traces: all work, except that of streams that are busy, of captures, and
// of streams that wait for such work. Whoever replays a trace by that rule says so
// before each operation; whoever runs the work some other way reports completions
// instead.
func (h *History) Settled() { h.order.completeUnblocked() }

// Apply tells the history of a trace's operation. streams are the handles by the
// trace's index. An operation that the history cannot follow, or that names what
// is not there, is an *InvalidArgumentError, one that is a program of its own (a
// call of a graph tree) a *NotSupportedError; the history is then as before.
func (h *History) Apply(op *trace.Op, streams []spec.Stream, out Outcome) error {
	s, err := traceStream(op, op.Stream, streams)
	if err != nil {
		return err
	}
	on, err := traceStream(op, op.On, streams)
	if err != nil {
		return err
	}
	if err := h.checkKnown(op, out); err != nil {
		return err
	}
	h.restored = nil
	for _, d := range out.Drained {
		h.order.drain(d)
	}
	for _, id := range out.Freed {
		h.Freed(h.trace.grants[id].Ptr)
	}
	if out.Err != nil {
		return nil
	}
	switch op.Kind {
	case trace.OpMalloc, trace.OpFree, trace.OpRecordStream, trace.OpEnable, trace.OpResetAccumulated:
		h.applyMemory(op, s, out)
	case trace.OpPoolCreate, trace.OpPoolBegin, trace.OpPoolEnd, trace.OpPoolRelease, trace.OpPoolDelete, trace.OpCheckpoint, trace.OpRestore:
		h.applyPool(op, s, out)
	default:
		h.applyDevice(op, s, on)
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

// checkKnown looks whether all allocations that are named were made.
func (h *History) checkKnown(op *trace.Op, out Outcome) error {
	var named []int64
	switch op.Kind {
	case trace.OpFree, trace.OpRecordStream:
		named = []int64{op.ID}
	case trace.OpRestore:
		named = append(append(named, op.Live...), op.Freed...)
	case trace.OpTreeCall, trace.OpTreeDrop, trace.OpTreeMarkStep, trace.OpTreeNewGeneration, trace.OpTreeMoveStaticInput:
		return &spec.NotSupportedError{Op: "history", Reason: string(op.Kind)}
	}
	for _, id := range append(named, out.Freed...) {
		if _, ok := h.trace.grants[id]; !ok {
			return &spec.InvalidArgumentError{Op: "history", Reason: fmt.Sprintf("%s: allocation %d was not made", op.Kind, id)}
		}
	}
	return nil
}

// applyMemory tells of what was asked of the allocator.
func (h *History) applyMemory(op *trace.Op, s spec.Stream, out Outcome) {
	switch op.Kind {
	case trace.OpMalloc:
		g := Allocation{op.Device, s, op.Thread, out.Ptr, op.Size, h.trace.uncached}
		h.trace.grants[op.ID] = g
		h.Allocated(g)
	case trace.OpFree:
		h.Freed(h.trace.grants[op.ID].Ptr)
	case trace.OpRecordStream:
		h.StreamRecorded(h.trace.grants[op.ID].Ptr, op.Device, s)
	case trace.OpEnable:
		h.trace.uncached = !op.Enabled
	case trace.OpResetAccumulated:
		h.AccumulatedStatsReset(op.Device)
	}
}

// applyPool tells of private pools.
func (h *History) applyPool(op *trace.Op, s spec.Stream, out Outcome) {
	switch op.Kind {
	case trace.OpPoolCreate:
		h.PoolCreated(op.Device, op.Pool)
	case trace.OpPoolBegin:
		h.PoolBegun(op.Device, op.Pool, op.By, op.Thread, s)
	case trace.OpPoolEnd:
		h.PoolEnded(op.Device, op.Pool)
	case trace.OpPoolRelease, trace.OpPoolDelete:
		h.PoolReleased(op.Device, op.Pool)
	case trace.OpCheckpoint:
		if out.Snapshot != nil {
			h.CheckpointTaken(op.Device, op.Pool, op.State, out.Snapshot)
		}
	case trace.OpRestore:
		var freed []spec.Ptr
		for _, id := range op.Freed {
			freed = append(freed, h.trace.grants[id].Ptr)
		}
		var created []Allocation
		for _, id := range op.Live {
			created = append(created, h.trace.grants[id])
		}
		h.CheckpointRestored(op.State, freed, created)
	}
}

// applyDevice tells of what was asked of the device. What is not mentioned has no
// part in a history.
func (h *History) applyDevice(op *trace.Op, s, on spec.Stream) {
	stream := spec.DeviceStream{Device: op.Device, Stream: s}
	switch op.Kind {
	case trace.OpBusy:
		h.order.submit(stream)
		h.order.of(stream).busy = true
	case trace.OpDrain:
		h.order.drain(stream)
	case trace.OpKernel, trace.OpCopy, trace.OpGraphLaunch:
		h.order.submit(stream)
	case trace.OpWaitStream:
		h.StreamWaited(op.Device, s, op.Device, on)
	case trace.OpRecordEvent:
		h.EventRecorded(spec.EventHandle(op.Event), op.Device, s)
	case trace.OpWaitEvent:
		h.EventWaited(spec.EventHandle(op.Event), op.Device, s)
	case trace.OpSynchronize:
		h.order.synchronize(stream)
	case trace.OpCaptureBegin:
		h.CaptureBegun(op.Device, s)
	case trace.OpCaptureEnd:
		h.CaptureEnded(op.Device, s)
	}
}
