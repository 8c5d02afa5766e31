package trace

import (
	"fmt"

	"gaugeblock/spec"
)

// references is which of a trace's numbers stand for something at this point:
// allocations that are live, events that were recorded, and so on. Reader and
// writer both keep one, so that neither lets through an operation on something
// that is not there.
//
// An operation that is expected to fail changes nothing here. One of which
// nothing is known counts as successful: whoever replays the trace knows better.
type references struct {
	header *Header
	allocs map[int64]allocState
	// Numbers that stand for events, checkpoints, graphs and shared handles.
	numbers  [numSpaces]map[int]bool
	outputs  map[TreeOutput]bool  // of tree calls, that are held
	handles  map[spec.Stream]bool // of streams; nil until one is created
	lastCall int
	limit    int  // of all of them together: MaxLive, less in tests
	tolerant bool // allocations may be named that are not live: TolerateMisuse
}

// numberSpace is a set of numbers that operations refer to.
type numberSpace int

const (
	eventNumbers numberSpace = iota
	stateNumbers
	graphNumbers
	handleNumbers
	numSpaces
)

// numberSpaces says where an operation has its number, and what is wrong with a number
// that stands for something already, or for nothing.
var numberSpaces = [numSpaces]struct {
	of             func(op *Op) int
	taken, missing string
}{
	eventNumbers:  {func(op *Op) int { return op.Event }, "event %d was recorded before", "event %d was not recorded"},
	stateNumbers:  {func(op *Op) int { return op.State }, "state %d was taken before", "state %d was not taken by checkpoint"},
	graphNumbers:  {func(op *Op) int { return op.Graph }, "graph %d is there already", "graph %d is not there"},
	handleNumbers: {func(op *Op) int { return op.Handle }, "handle %d was made before", "handle %d was not made by share"},
}

// effectOn is what operations of the kind do with their number of a space.
func (k *kind) effectOn(space numberSpace) numberEffect {
	return [numSpaces]numberEffect{k.event, k.state, k.graph, k.handle}[space]
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

func newReferences(h *Header) *references {
	r := &references{
		header: h, allocs: map[int64]allocState{}, outputs: map[TreeOutput]bool{}, lastCall: -1, limit: MaxLive,
	}
	for space := range r.numbers {
		r.numbers[space] = map[int]bool{}
	}
	return r
}

// follow checks what an operation refers to and then does what the operation does
// to the numbers. It says what is wrong, "" if nothing is; then nothing changed.
// Once the limit is passed it refuses whatever comes.
func (r *references) follow(op *Op) string {
	inUse := len(r.allocs) + len(r.outputs)
	for _, numbers := range r.numbers {
		inUse += len(numbers)
	}
	if inUse > r.limit {
		return fmt.Sprintf("more than %d allocations, events, states, graphs, handles and outputs in use", r.limit)
	}
	if wrong := r.checkIndexes(op); wrong != "" {
		return wrong
	}
	k := kinds[op.Kind] // the shape of the line was checked
	if wrong := r.check(op, k); wrong != "" {
		return wrong
	}
	if op.Expect.Error == "" {
		r.update(op, k)
	}
	return ""
}

// checkIndexes checks what points into the header.
func (r *references) checkIndexes(op *Op) string {
	streams, devices := len(r.header.Streams), spec.Device(r.header.Devices)
	switch columns := len(r.header.StatColumns); {
	case op.Stream >= streams && (op.Kind != OpCreateStream || op.Stream > streams):
		return fmt.Sprintf(`stream index %d, but the header has only %d streams`, op.Stream, streams)
	case op.Current != nil && *op.Current >= streams:
		return fmt.Sprintf(`current stream index %d, but the header has only %d streams`, *op.Current, streams)
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
func (r *references) check(op *Op, k *kind) string {
	for space := range r.numbers {
		if wrong := r.checkNumber(op, numberSpace(space), k.effectOn(numberSpace(space))); wrong != "" {
			return wrong
		}
	}
	if wrong := r.checkMemory(op, k.memory); wrong != "" || k.check == nil {
		return wrong
	}
	return k.check(r, op)
}

func (r *references) checkNumber(op *Op, space numberSpace, effect numberEffect) string {
	s := &numberSpaces[space]
	n := s.of(op)
	switch there := r.numbers[space][n]; effect {
	case numberNew:
		if there {
			return fmt.Sprintf(s.taken, n)
		}
	case numberUsed, numberEnded:
		if !there {
			return fmt.Sprintf(s.missing, n)
		}
	}
	return ""
}

func (r *references) checkMemory(op *Op, effect MemoryEffect) string {
	switch effect {
	case MemoryAllocates, MemoryOpens:
		return r.wantUnused(op.ID)
	case MemoryFrees, MemoryResizes:
		return r.wantFreeable(op.ID)
	case MemoryRecords, MemoryShares:
		return r.wantUsable(op.ID)
	case MemoryCloses:
		if r.allocs[op.ID] != allocOpened {
			return fmt.Sprintf("id %d is not open", op.ID)
		}
	case MemoryTouches, MemoryCopies:
		return r.checkRanges(op, effect)
	case MemoryLends:
		return r.checkLent(op.Frees)
	case MemoryRestores:
		return r.checkRestore(op)
	}
	return ""
}

func (r *references) wantUnused(id int64) string {
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

func (r *references) wantUsable(id int64) string {
	if r.allocs[id] == allocNone && !r.tolerant {
		return fmt.Sprintf("id %d is not allocated", id)
	}
	return ""
}

func (r *references) wantFreeable(id int64) string {
	if r.allocs[id] == allocOpened {
		return fmt.Sprintf("id %d is shared memory: it is closed, not freed", id)
	}
	return r.wantUsable(id)
}

// checkRanges checks the allocations that a kernel or copy touches. How long they
// are is left to the one who replays: an allocation that restore brings back has
// another length than was asked for.
func (r *references) checkRanges(op *Op, effect MemoryEffect) string {
	for _, ranges := range [][]OpRange{op.Reads, op.Writes} {
		for _, rg := range ranges {
			if wrong := r.wantUsable(rg.ID); wrong != "" {
				return wrong
			}
		}
		if effect == MemoryCopies && len(ranges) != 1 {
			return "copy reads one range and writes one"
		}
	}
	return ""
}

func (r *references) checkLent(ids []int64) string {
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
func (r *references) checkRestore(op *Op) string {
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
func (r *references) update(op *Op, k *kind) {
	for space := range r.numbers {
		switch n := numberSpaces[space].of(op); k.effectOn(numberSpace(space)) {
		case numberNew, numberSet:
			r.numbers[space][n] = true
		case numberEnded:
			delete(r.numbers[space], n)
		}
	}
	switch k.memory {
	case MemoryAllocates:
		r.allocs[op.ID] = allocLive
	case MemoryFrees, MemoryCloses:
		delete(r.allocs, op.ID)
	case MemoryOpens:
		r.allocs[op.ID] = allocOpened
	case MemoryLends:
		for _, id := range op.Frees {
			r.allocs[id] = allocLent
		}
	case MemoryRestores:
		for _, id := range op.Freed {
			delete(r.allocs, id)
		}
		for _, id := range op.Live {
			r.allocs[id] = allocLive
		}
	}
	if k.update != nil {
		k.update(r, op)
	}
}
