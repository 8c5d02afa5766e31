package replay

import (
	"fmt"
	"strings"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// How operations, events and memory are put into words, alike in differences and
// in stories.

// bytesInWords gives a size exactly, and beyond a KiB also for people.
func bytesInWords(bytes uint64) string {
	if bytes <= spec.KiB {
		return spec.FormatSize(bytes)
	}
	return fmt.Sprintf("%d bytes (%s)", bytes, spec.FormatSize(bytes))
}

func eventInWords(e spec.TraceEntry) string {
	if e.Action == spec.ActionOOM {
		text := fmt.Sprintf("oom for %s, stream %v", bytesInWords(e.Size), e.Stream)
		if e.Addr != 0 {
			text += fmt.Sprintf(", %s free on the device", bytesInWords(uint64(e.Addr)))
		}
		return text
	}
	return fmt.Sprintf("%v %v, %s, stream %v", e.Action, e.Addr, bytesInWords(e.Size), e.Stream)
}

// segmentInWords leaves out what is the same for most: device 0, the default pool.
func segmentInWords(s *spec.Segment) string {
	kind := s.PoolKind.String()
	if s.Expandable {
		kind += " expandable"
	}
	text := fmt.Sprintf("%s segment %v of %s, stream %v, allocated %d, active %d, requested %d",
		kind, s.Address, bytesInWords(s.TotalSize), s.Stream, s.AllocatedSize, s.ActiveSize, s.RequestedSize)
	if !s.Pool.IsDefault() {
		text += fmt.Sprintf(", pool %v", s.Pool)
	}
	if s.Device != 0 {
		text += fmt.Sprintf(", device %d", s.Device)
	}
	return text
}

func blockInWords(b spec.Block) string {
	return fmt.Sprintf("block %v of %s, requested %d, %v", b.Address, bytesInWords(b.Size), b.RequestedSize, b.State)
}

// LayoutInLines writes each segment and each block on a line of its own.
func LayoutInLines(layout []spec.Segment) []string {
	var lines []string
	for i := range layout {
		lines = append(lines, segmentInWords(&layout[i]))
		for _, b := range layout[i].Blocks {
			lines = append(lines, "  "+blockInWords(b))
		}
	}
	return lines
}

// opInWords says what the program asked for. Streams are called by their index
// in the trace, allocations by their id.
func opInWords(op *trace.Op) string {
	var b strings.Builder
	if words, known := opWords[op.Kind]; known {
		words(&b, op)
	} else {
		b.WriteString(string(op.Kind))
	}
	if op.Device != 0 {
		fmt.Fprintf(&b, ", device %d", op.Device)
	}
	if op.Thread != 0 && op.Kind != trace.OpPoolBegin {
		fmt.Fprintf(&b, ", thread %d", op.Thread)
	}
	return b.String()
}

// opWords has the kinds that have something to say beside their name.
var opWords = map[trace.OpKind]func(b *strings.Builder, op *trace.Op){
	trace.OpMalloc: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "malloc %s on stream %d as id %d", bytesInWords(op.Size), op.Stream, op.ID)
	},
	trace.OpFree: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "free id %d", op.ID)
	},
	trace.OpRecordStream: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "record_stream id %d on stream %d", op.ID, op.Stream)
	},
	trace.OpEmptyCache: func(b *strings.Builder, op *trace.Op) {
		b.WriteString("empty_cache")
		if !op.Pool.IsDefault() {
			fmt.Fprintf(b, " of pool %v", op.Pool)
		}
	},
	trace.OpSetMemoryFraction: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "set_memory_fraction %v", op.Fraction)
	},
	trace.OpConfigure: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "configure %q", op.Settings)
	},
	trace.OpEnable: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "enable %v", op.Enabled)
	},
	trace.OpPoolCreate:  poolInWords,
	trace.OpPoolEnd:     poolInWords,
	trace.OpPoolRelease: poolInWords,
	trace.OpPoolDelete:  poolInWords,
	trace.OpPoolBegin: func(b *strings.Builder, op *trace.Op) {
		poolInWords(b, op)
		switch op.By {
		case trace.ByThread:
			fmt.Fprintf(b, " for thread %d", op.Thread)
		case trace.ByStream:
			fmt.Fprintf(b, " for stream %d", op.Stream)
		case trace.ByCapture:
			fmt.Fprintf(b, " for the capture of stream %d", op.Stream)
		}
	},
	trace.OpCheckpoint: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "checkpoint pool %v as state %d", op.Pool, op.State)
	},
	trace.OpRestore: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "restore pool %v to state %d", op.Pool, op.State)
	},
	trace.OpPeerAccess: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "peer_access to device %d", op.Peer)
	},
	trace.OpShare: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "share id %d as handle %d", op.ID, op.Handle)
	},
	trace.OpOpenShared: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "open_shared handle %d as id %d", op.Handle, op.ID)
	},
	trace.OpCloseShared: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "close_shared id %d", op.ID)
	},
	trace.OpNeedMemoryCallback: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "need_memory_callback that frees %v", op.Frees)
	},
	trace.OpTreeCall: callInWords,
	trace.OpTreeDrop: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "drop output %d of call %d", op.Output.Index, op.Output.Call)
	},
	trace.OpTreeMoveStaticInput: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "move_static of function %d", op.Function)
	},
	trace.OpBusy:        streamInWords,
	trace.OpDrain:       streamInWords,
	trace.OpSynchronize: streamInWords,
	trace.OpKernel:      workInWords,
	trace.OpCopy:        workInWords,
	trace.OpWaitStream: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "wait_stream: stream %d waits for stream %d", op.Stream, op.On)
	},
	trace.OpCaptureBegin: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "capture_begin stream %d in mode %v", op.Stream, op.Mode)
	},
	trace.OpCaptureEnd: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "capture_end stream %d as graph %d", op.Stream, op.Graph)
	},
	trace.OpGraphLaunch: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "graph_launch graph %d on stream %d", op.Graph, op.Stream)
	},
	trace.OpGraphDestroy: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "graph_destroy graph %d", op.Graph)
	},
	trace.OpRecordEvent: eventOpInWords,
	trace.OpWaitEvent:   eventOpInWords,
	trace.OpDeviceFree: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "device_free %s", bytesInWords(op.Size))
	},
	trace.OpFault: func(b *strings.Builder, op *trace.Op) {
		fmt.Fprintf(b, "fault in call %d of %s: %s", op.Fault.Nth, op.Fault.Call, op.Fault.Error)
	},
}

func poolInWords(b *strings.Builder, op *trace.Op) {
	fmt.Fprintf(b, "%s %v", op.Kind, op.Pool)
}

func streamInWords(b *strings.Builder, op *trace.Op) {
	fmt.Fprintf(b, "%s stream %d", op.Kind, op.Stream)
}

func eventOpInWords(b *strings.Builder, op *trace.Op) {
	fmt.Fprintf(b, "%s event %d on stream %d", op.Kind, op.Event, op.Stream)
}

func workInWords(b *strings.Builder, op *trace.Op) {
	b.WriteString(string(op.Kind))
	if op.Name != "" {
		fmt.Fprintf(b, " %q", op.Name)
	}
	fmt.Fprintf(b, " on stream %d", op.Stream)
	if len(op.Reads) > 0 {
		fmt.Fprintf(b, ", reads %s", rangesInWords(op.Reads))
	}
	if len(op.Writes) > 0 {
		fmt.Fprintf(b, ", writes %s", rangesInWords(op.Writes))
	}
}

func callInWords(b *strings.Builder, op *trace.Op) {
	fmt.Fprintf(b, "call %d of function %d", op.Call, op.Function)
	for i, in := range op.Inputs {
		b.WriteString([]string{" with ", ", "}[min(i, 1)])
		switch {
		case in.Output == nil:
			fmt.Fprintf(b, "%s", bytesInWords(in.Fresh))
		case in.Consume:
			fmt.Fprintf(b, "the only hold on output %d of call %d", in.Output.Index, in.Output.Call)
		default:
			fmt.Fprintf(b, "output %d of call %d", in.Output.Index, in.Output.Call)
		}
	}
}

func rangesInWords(ranges []trace.OpRange) string {
	words := make([]string, len(ranges))
	for i, r := range ranges {
		words[i] = fmt.Sprintf("id %d", r.ID)
		if r.Bytes != 0 {
			words[i] = fmt.Sprintf("%d bytes from %d of id %d", r.Bytes, r.Offset, r.ID)
		} else if r.Offset != 0 {
			words[i] += fmt.Sprintf(" from %d on", r.Offset)
		}
	}
	return strings.Join(words, " and ")
}
