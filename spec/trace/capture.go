package trace

import "fmt"

// Captures of streams, how the allocator is told of them, and the graphs that come of them.
const (
	OpCaptureBegin OpKind = "capture_begin"
	OpCaptureEnd   OpKind = "capture_end"
	OpMarkBegin    OpKind = "mark_begin"
	OpMarkEnd      OpKind = "mark_end"
	OpGraphLaunch  OpKind = "graph_launch"
	OpGraphDestroy OpKind = "graph_destroy"
)

var captureKinds = map[OpKind]kind{
	OpCaptureBegin: {
		target: TargetDevice, memory: MemoryNone,
		v2: fields{"mode", "stream"}, v1: &fields{"stream", ""},
		words: func(op *Op) string { return fmt.Sprintf("capture_begin stream %d in mode %v", op.Stream, op.Mode) },
	},
	OpCaptureEnd: {
		target: TargetDevice, memory: MemoryNone, graph: numberNew,
		v2: fields{"graph", "stream"}, v1: &fields{"stream", ""},
		words: func(op *Op) string { return fmt.Sprintf("capture_end stream %d as graph %d", op.Stream, op.Graph) },
	},
	OpMarkBegin: {target: TargetAllocator, memory: MemoryNone, check: marksInHeader, words: nameOnly},
	OpMarkEnd:   {target: TargetAllocator, memory: MemoryNone, check: marksInHeader, words: nameOnly},
	OpGraphLaunch: {
		target: TargetDevice, memory: MemoryNone, graph: numberUsed,
		v2:    fields{"graph", "stream"},
		words: func(op *Op) string { return fmt.Sprintf("graph_launch graph %d on stream %d", op.Graph, op.Stream) },
	},
	OpGraphDestroy: {
		target: TargetDevice, memory: MemoryNone, graph: numberEnded,
		v2:    fields{"graph", ""},
		words: func(op *Op) string { return fmt.Sprintf("graph_destroy graph %d", op.Graph) },
	},
}

// marksInHeader: a trace in which captures are marked says so at its beginning.
func marksInHeader(r *references, _ *Op) string {
	if !r.header.Marks {
		return `the header does not have "marks":true`
	}
	return ""
}
