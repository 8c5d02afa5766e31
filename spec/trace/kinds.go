package trace

import (
	"fmt"
	"maps"
	"slices"
)

// # The kinds of operations
//
// Each kind is described once, in the file of its group: memory.go, pools.go,
// sharing.go, streams.go, host.go, capture.go, tree_calls.go, device.go. A description says
// which fields the lines of the kind have, what it does with the numbers of the trace,
// and how it is put into words. What is derived from that is here and in
// references.go.
//
// A new kind of operation is described here, and needs beside that
//
//	spec/trace/op.go                  a field of Op, if no other kind has the field
//	spec/invariant/observe_trace.go   what it does to a history
//	tools/replay                      how it is performed, and the ability it needs
//	conformance                       how programs use it, and how often (kinds_*.go)
//	snapshot/history/from_trace.go    what is made of it, if it is asked of the allocator
//	spec/trace/README.md              its row
//
// tools/check follows from its effect on allocations, and the recorded log of a plugged-in
// allocator from Pluggable. In each of these packages a test named TestEveryKind fails with
// the kind's name where something is missing.

// kind is the description of one kind of operation.
type kind struct {
	target Target
	memory MemoryEffect

	v2   fields
	v1   *fields // nil: version 1 has no such kind
	tree *fields // nil: the format graph-tree-trace has no such kind

	// What it does with the numbers of events, states, graphs and shared handles.
	event, state, graph, handle numberEffect
	// check finds what is wrong with an operation beside its numbers, "" if nothing is;
	// update does to the outputs of graph trees what the operation does. Either may be nil.
	check  func(r *references, op *Op) string
	update func(r *references, op *Op)

	// words says what the program asks for: "malloc 512 bytes on stream 0 as id 1".
	words func(op *Op) string

	// pluggable: libgaugeblock.so, which PyTorch plugs in, has a function for it, so that its log
	// has operations of the kind.
	pluggable bool
}

// fields are the names of a kind's own fields, separated by spaces: those that a line
// of the kind must have, and those that it may have beside them. A field that a line
// may have and has not is zero, or not known if it is an expectation.
type fields struct{ must, may string }

// Target is what an operation is asked of.
type Target uint8

const (
	targetUnset Target = iota
	// TargetAllocator: it is a call of the allocator.
	TargetAllocator
	// TargetDevice: it is a call that the program makes of the device.
	TargetDevice
	// TargetTestDevice: it sets what a device does by itself, which only a fake one can be
	// made to do.
	TargetTestDevice
	// TargetGraphTrees: it is a call of CUDA graph trees, a program of its own on top of
	// the allocator.
	TargetGraphTrees
)

// MemoryEffect is what an operation does with the allocations that it names.
type MemoryEffect uint8

const (
	memoryUnset     MemoryEffect = iota
	MemoryNone                   // it names no allocation
	MemoryAllocates              // ID is allocated from here on
	MemoryFrees                  // ID is not allocated any more
	MemoryRecords                // ID gets a stream use
	MemoryShares                 // ID can be opened by another process
	MemoryOpens                  // ID stands for another process's memory from here on
	MemoryCloses                 // ID does not stand for it any more
	MemoryTouches                // work reads Reads and writes Writes
	MemoryCopies                 // work reads one range and writes one
	MemoryLends                  // a callback frees Frees when it is asked
	MemoryRestores               // Freed are not allocated any more, Live are
	MemoryResizes                // ID has Size bytes from here on
)

// numberEffect is what an operation does with a number of its own.
type numberEffect uint8

const (
	numberNone  numberEffect = iota
	numberNew                // it must stand for nothing, and stands for something from here on
	numberSet                // likewise, whatever it stood for
	numberUsed               // it must stand for something
	numberEnded              // it must stand for something, and stands for nothing from here on
)

// kinds has the description of every kind.
var kinds = joinKinds(memoryKinds, poolKinds, sharingKinds, streamKinds, hostKinds, captureKinds, treeKinds, deviceKinds)

func joinKinds(groups ...map[OpKind]kind) map[OpKind]*kind {
	all := map[OpKind]*kind{}
	for _, group := range groups {
		for name, k := range group {
			if all[name] != nil {
				panic("trace: two descriptions of " + string(name))
			}
			all[name] = &k
		}
	}
	return all
}

// OpKinds lists all kinds, by name.
func OpKinds() []OpKind { return slices.Sorted(maps.Keys(kinds)) }

// Target is what operations of the kind are asked of; 0 if there is no such kind.
func (k OpKind) Target() Target {
	if d := kinds[k]; d != nil {
		return d.target
	}
	return targetUnset
}

// Memory is what operations of the kind do with allocations; 0 if there is no such kind.
func (k OpKind) Memory() MemoryEffect {
	if d := kinds[k]; d != nil {
		return d.memory
	}
	return memoryUnset
}

// Pluggable reports whether the log of a plugged-in allocator can have operations of the
// kind: libgaugeblock.so has a function for it.
func (k OpKind) Pluggable() bool {
	d := kinds[k]
	return d != nil && d.pluggable
}

// InWords says what the program asks for. Streams are called by their index in the
// trace, allocations by their number.
func (op *Op) InWords() string {
	text := string(op.Kind)
	if k := kinds[op.Kind]; k != nil {
		text = k.words(op)
	}
	if op.Device != 0 {
		text += fmt.Sprintf(", device %d", op.Device)
	}
	if op.Thread != 0 && op.Kind != OpPoolBegin { // which says what the thread is for
		text += fmt.Sprintf(", thread %d", op.Thread)
	}
	if op.Current != nil {
		text += fmt.Sprintf(", current stream %d", *op.Current)
	}
	return text
}

// nameOnly are the words of a kind that has nothing to say beside its name.
func nameOnly(op *Op) string { return string(op.Kind) }

// onStream are the words of a kind that is about a stream.
func onStream(op *Op) string { return fmt.Sprintf("%s stream %d", op.Kind, op.Stream) }

// lineShape says which fields the lines of a kind must have, and which they may have
// beside them.
type lineShape struct{ must, may jsonMembers }

// endKind stands for the last line among the kinds.
const endKind OpKind = "end"

// every2 are the fields of every operation of version 2: the device, the thread and its current
// stream may be named, anything may be expected, and the addresses that the driver gave may be
// told. An expected address goes with what returns memory.
var every2 = fields{"op", "device thread current segments address_ranges error message events stats layout"}

// every1 are the fields of every operation of version 1: one device, one thread, trace
// entries and statistics after every operation.
var every1 = fields{"op events stats", "error message layout"}

var (
	shapes1 = newShapes(every1, func(k *kind) *fields { return k.v1 })
	shapes2 = newShapes(every2, func(k *kind) *fields { return &k.v2 })
)

// newShapes puts together what every kind has, what each has of its own, and the
// end of a trace.
func newShapes(every fields, own func(*kind) *fields) map[OpKind]lineShape {
	shapes := map[OpKind]lineShape{
		endKind: {must: lineTable.set("end"), may: lineTable.set("layout stats")},
	}
	for name, k := range kinds {
		if own := own(k); own != nil {
			shapes[name] = lineShape{
				must: lineTable.set(every.must) | lineTable.set(own.must),
				may:  lineTable.set(every.may) | lineTable.set(own.may),
			}
		}
	}
	return shapes
}

// shapesOf is the shapes of a version.
func shapesOf(version int) map[OpKind]lineShape {
	if version == 1 {
		return shapes1
	}
	return shapes2
}

// checkShape says what is wrong with a line of the kind that has the seen fields,
// "" if nothing is.
func checkShape(version int, kind OpKind, seen jsonMembers) string {
	s, known := shapesOf(version)[kind]
	if !known {
		return fmt.Sprintf("operation %q is not in version %d of the format", kind, version)
	}
	if stray := lineTable.first(seen &^ (s.must | s.may)); stray != "" {
		return fmt.Sprintf("field %q does not belong to %s", stray, kind)
	}
	if missing := lineTable.first(s.must &^ seen); missing != "" {
		return fmt.Sprintf("%s without %q", kind, missing)
	}
	return ""
}
