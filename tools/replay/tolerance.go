package replay

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Where two correct runs of PyTorch itself differ, a replay cannot be asked to
// agree with one of them. There are four such places.
//
//  1. The free memory of the device, in oom entries and messages, unless the recorder
//     had the device to itself (Header.Exclusive): others use it too.
//  2. The order in which blocks become free within one operation: upstream walks
//     its streams, and a capture's blocks, in the order of a hash table. A
//     restored checkpoint walks such a table of blocks throughout.
//  3. What was last requested of a block that is free now: it depends on the order of 2
//     which of two merging blocks keeps its requested size.
//  4. Peaks and sums at the end of such a run: they depend on that order too.
//     Upstream also counts the restoring of a checkpoint in ways that depend on
//     it. What holds now is the same in any order, and is compared.
//
// 3 and 4 are granted from the first capture or restore of a trace on; 3 to the pools of
// graph trees as well, and from the first operation on in which blocks became free in
// another order than in the recording.
type tolerance struct {
	deviceFree     bool // 1: the device's free memory may differ
	staleRequested bool // 3: the requested size of inactive blocks may differ
	finalHistory   bool // 4: final statistics other than current ones may differ
}

// toleranceOf is what a trace is granted from its first operation on.
func toleranceOf(h *trace.Header) tolerance { return tolerance{deviceFree: !h.Exclusive} }

// meet grants what an operation makes upstream leave undetermined.
func (t *tolerance) meet(kind trace.OpKind) {
	switch kind {
	case trace.OpCaptureBegin, trace.OpRestore:
		t.staleRequested, t.finalHistory = true, true
	}
}

// meetOrder grants what depends on the order in which blocks became free, if that of two
// lists of events, which are the same in any order, differs.
func (t *tolerance) meetOrder(want, got []spec.TraceEntry) {
	completed := func(events []spec.TraceEntry) (list []spec.TraceEntry) {
		for _, e := range events {
			if e.Action == spec.ActionFreeCompleted {
				list = append(list, e)
			}
		}
		return list
	}
	if !determined(want) && !slices.Equal(completed(want), completed(got)) {
		t.staleRequested = true
	}
}

// events returns the events with what may differ made equal: events whose order is free are
// sorted, addresses that are no addresses are zero, and the snapshots that the recorder
// itself took are left out. What is changed is a copy.
func (t tolerance) events(kind trace.OpKind, events []spec.TraceEntry) []spec.TraceEntry {
	if kind != trace.OpRestore && determined(events) {
		return events
	}
	canon := make([]spec.TraceEntry, 0, len(events))
	for _, e := range events {
		if e.Action == spec.ActionSnapshot {
			continue
		}
		if e.Action == spec.ActionOOM && t.deviceFree {
			e.Addr = 0
		}
		canon = append(canon, e)
	}
	if kind == trace.OpRestore {
		slices.SortFunc(canon, CompareEntries)
		return canon
	}
	SortFrees(canon)
	return canon
}

// determined reports whether events are the same in each correct run, which those of most
// operations are.
func determined(events []spec.TraceEntry) bool {
	frees := 0
	for i := range events {
		switch events[i].Action {
		case spec.ActionSnapshot, spec.ActionOOM:
			return false
		case spec.ActionFreeCompleted:
			frees++
		}
	}
	return frees <= 1
}

// SortFrees sorts each run of consecutive free_completed entries.
func SortFrees(events []spec.TraceEntry) {
	start := 0
	for i := range len(events) + 1 {
		if i < len(events) && events[i].Action == spec.ActionFreeCompleted {
			continue
		}
		slices.SortFunc(events[start:i], CompareEntries)
		start = i + 1
	}
}

// CompareEntries orders trace entries by action, address, size and stream.
func CompareEntries(a, b spec.TraceEntry) int {
	return cmp.Or(
		cmp.Compare(a.Action, b.Action),
		cmp.Compare(a.Addr, b.Addr),
		cmp.Compare(a.Size, b.Size),
		cmp.Compare(a.Stream, b.Stream))
}

// layout returns a layout in which what may differ has been made equal. The
// argument is not changed.
func (t tolerance) layout(layout []spec.Segment) []spec.Segment {
	if !t.staleRequested {
		return layout
	}
	canon := slices.Clone(layout)
	for i := range canon {
		canon[i].Blocks = slices.Clone(canon[i].Blocks)
		for j := range canon[i].Blocks {
			if b := &canon[i].Blocks[j]; b.State == spec.Inactive {
				b.RequestedSize = 0
			}
		}
	}
	return canon
}
