package trace

import (
	"fmt"
	"gaugeblock/spec"
)

// traceReferences is which of a trace's numbers stand for something at this point:
// allocations that are live, events that were recorded, and so on. Reader and
// writer both keep one, so that neither lets through an operation on something
// that is not there.
//
// An operation that is expected to fail changes nothing here. One of which
// nothing is known counts as successful: whoever replays the trace knows better.
type traceReferences struct {
	header *Header
	allocs map[int64]allocState
	// Numbers that were given to events, checkpoints, graphs and shared handles.
	events, states, graphs, handles map[int]bool
	outputs                         map[TreeOutput]bool // of tree calls, that are held
	lastCall                        int
	limit                           int  // of all of them together: MaxTraceLive, less in tests
	tolerant                        bool // allocations may be named that are not live: TolerateMisuse
}

// allocState is what an allocation's number stands for.
type allocState uint8

const (
	allocNone allocState = iota
	allocLive
	// allocLent: freed by a callback when it is asked, so perhaps already.
	allocLent
	// allocOpened: another process's memory.
	allocOpened
)

func newTraceReferences(h *Header) *traceReferences {
	return &traceReferences{
		header: h,
		allocs: map[int64]allocState{},
		events: map[int]bool{}, states: map[int]bool{}, graphs: map[int]bool{}, handles: map[int]bool{},
		outputs: map[TreeOutput]bool{}, lastCall: -1,
		limit: MaxLive,
	}
}

// follow checks what an operation refers to and then does what the operation does
// to the numbers. It says what is wrong, "" if nothing is; then nothing changed.
// Once the limit is passed it refuses whatever comes.
func (r *traceReferences) follow(op *Op) string {
	inUse := len(r.allocs) + len(r.events) + len(r.states) + len(r.graphs) + len(r.handles) + len(r.outputs)
	if inUse > r.limit {
		return fmt.Sprintf("more than %d allocations, events, states, graphs, handles and outputs in use", r.limit)
	}
	if wrong := r.checkIndexes(op); wrong != "" {
		return wrong
	}
	if wrong := r.check(op); wrong != "" {
		return wrong
	}
	if op.Expect.Error == "" {
		r.update(op)
	}
	return ""
}

// checkIndexes checks what points into the header.
func (r *traceReferences) checkIndexes(op *Op) string {
	streams, devices := len(r.header.Streams), spec.Device(r.header.Devices)
	switch columns := len(r.header.StatColumns); {
	case op.Stream >= streams:
		return fmt.Sprintf(`stream index %d, but the header has only %d streams`, op.Stream, streams)
	case op.On >= streams:
		return fmt.Sprintf(`stream index %d to wait for, but the header has only %d streams`, op.On, streams)
	case op.Device >= devices:
		return fmt.Sprintf(`device %d, but the header has only %d devices`, op.Device, devices)
	case op.Peer >= devices:
		return fmt.Sprintf(`peer %d, but the header has only %d devices`, op.Peer, devices)
	case op.Expect.Stats != nil && len(op.Expect.Stats) != columns:
		return fmt.Sprintf(`"stats" of length %d, but the header has %d "stat_columns"`, len(op.Expect.Stats), columns)
	case op.Expect.Error != "" && op.Expect.Addr != nil:
		return `both "addr" and "error"`
	case op.Expect.Error == "" && op.Expect.Message != "":
		return `"message" without "error"`
	}
	return ""
}

// check checks that what the operation needs is there.
func (r *traceReferences) check(op *Op) string {
	switch op.Kind {
	case OpMalloc:
		return r.wantUnused(op.ID)
	case OpFree:
		return r.wantFreeable(op.ID)
	case OpRecordStream, OpShare:
		if op.Kind == OpShare && r.handles[op.Handle] {
			return fmt.Sprintf("handle %d was made before", op.Handle)
		}
		return r.wantUsable(op.ID)
	case OpKernel, OpCopy:
		return r.checkRanges(op)
	case OpOpenShared:
		if !r.handles[op.Handle] {
			return fmt.Sprintf("handle %d was not made by %s", op.Handle, OpShare)
		}
		return r.wantUnused(op.ID)
	case OpCloseShared:
		if r.allocs[op.ID] != allocOpened {
			return fmt.Sprintf("id %d is not open", op.ID)
		}
	case OpNeedMemoryCallback:
		return r.checkLent(op.Frees)
	case OpRestore:
		return r.checkRestore(op)
	case OpTreeCall, OpTreeDrop, OpTreeMoveStaticInput:
		return r.checkTree(op)
	default:
		return r.checkNumbers(op)
	}
	return ""
}

// checkNumbers checks the operations on events, graphs and checkpoints.
func (r *traceReferences) checkNumbers(op *Op) string {
	switch op.Kind {
	case OpWaitEvent:
		if !r.events[op.Event] {
			return fmt.Sprintf("event %d was not recorded", op.Event)
		}
	case OpCheckpoint:
		if r.states[op.State] {
			return fmt.Sprintf("state %d was taken before", op.State)
		}
	case OpCaptureEnd:
		if r.graphs[op.Graph] {
			return fmt.Sprintf("graph %d is there already", op.Graph)
		}
	case OpGraphLaunch, OpGraphDestroy:
		if !r.graphs[op.Graph] {
			return fmt.Sprintf("graph %d is not there", op.Graph)
		}
	}
	return ""
}

func (r *traceReferences) wantUnused(id int64) string {
	if r.tolerant {
		return ""
	}
	switch r.allocs[id] {
	case allocNone:
		return ""
	case allocLent:
		return fmt.Sprintf("id %d may still be allocated: a callback frees it", id)
	}
	return fmt.Sprintf("id %d is allocated already", id)
}

func (r *traceReferences) wantUsable(id int64) string {
	if r.allocs[id] == allocNone && !r.tolerant {
		return fmt.Sprintf("id %d is not allocated", id)
	}
	return ""
}

func (r *traceReferences) wantFreeable(id int64) string {
	if r.allocs[id] == allocOpened {
		return fmt.Sprintf("id %d is shared memory: it is closed, not freed", id)
	}
	return r.wantUsable(id)
}

// checkRanges checks the allocations that a kernel or copy touches. How long they
// are is left to the one who replays: an allocation that restore brings back has
// another length than was asked for.
func (r *traceReferences) checkRanges(op *Op) string {
	for _, ranges := range [][]OpRange{op.Reads, op.Writes} {
		for _, rg := range ranges {
			if wrong := r.wantUsable(rg.ID); wrong != "" {
				return wrong
			}
		}
		if op.Kind == OpCopy && len(ranges) != 1 {
			return "copy reads one range and writes one"
		}
	}
	return ""
}

func (r *traceReferences) checkLent(ids []int64) string {
	seen := map[int64]bool{}
	for _, id := range ids {
		if r.allocs[id] != allocLive || seen[id] {
			return fmt.Sprintf("id %d cannot be freed by the callback: it is not allocated", id)
		}
		seen[id] = true
	}
	return ""
}

// checkRestore checks the two lists of a restore. What becomes live need not have
// been dead before, but an id can be in only one list, once.
func (r *traceReferences) checkRestore(op *Op) string {
	if !r.states[op.State] {
		return fmt.Sprintf("state %d was not taken by %s", op.State, OpCheckpoint)
	}
	seen := map[int64]bool{}
	for _, id := range op.Freed {
		if wrong := r.wantFreeable(id); wrong != "" {
			return wrong
		}
		if seen[id] {
			return fmt.Sprintf("id %d is freed twice", id)
		}
		seen[id] = true
	}
	for _, id := range op.Live {
		if seen[id] {
			return fmt.Sprintf(`id %d is twice in "live" and "freed"`, id)
		}
		if r.allocs[id] == allocOpened {
			return fmt.Sprintf("id %d is shared memory, which is in no pool", id)
		}
		seen[id] = true
	}
	return ""
}

// update does what a successful operation does.
func (r *traceReferences) update(op *Op) {
	switch op.Kind {
	case OpMalloc:
		r.allocs[op.ID] = allocLive
	case OpFree, OpCloseShared:
		delete(r.allocs, op.ID)
	case OpShare:
		r.handles[op.Handle] = true
	case OpOpenShared:
		r.allocs[op.ID] = allocOpened
	case OpNeedMemoryCallback:
		for _, id := range op.Frees {
			r.allocs[id] = allocLent
		}
	case OpCheckpoint:
		r.states[op.State] = true
	case OpRestore:
		for _, id := range op.Freed {
			delete(r.allocs, id)
		}
		for _, id := range op.Live {
			r.allocs[id] = allocLive
		}
	case OpRecordEvent:
		r.events[op.Event] = true
	case OpCaptureEnd:
		r.graphs[op.Graph] = true
	case OpGraphDestroy:
		delete(r.graphs, op.Graph)
	case OpTreeCall:
		r.updateTree(op)
	case OpTreeDrop:
		delete(r.outputs, op.Output)
	}
}
