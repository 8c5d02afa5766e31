package trace

import (
	"fmt"
	"strings"
)

// Work on streams, and the order between streams.
const (
	OpKernel        OpKind = "kernel"
	OpCopy          OpKind = "copy"
	OpWaitStream    OpKind = "wait_stream"
	OpRecordEvent   OpKind = "record_event"
	OpWaitEvent     OpKind = "wait_event"
	OpSynchronize   OpKind = "synchronize"
	OpDestroyStream OpKind = "destroy_stream"
	OpEndThread     OpKind = "end_thread"
)

var streamKinds = map[OpKind]kind{
	OpKernel: {
		target: TargetDevice, memory: MemoryTouches,
		v2: fields{"", "stream name reads writes"}, v1: &fields{"stream", ""}, words: workInWords,
	},
	OpCopy: {
		target: TargetDevice, memory: MemoryCopies,
		v2: fields{"reads writes", "stream"}, words: workInWords,
	},
	OpWaitStream: {
		target: TargetDevice, memory: MemoryNone,
		v2: fields{"on", "stream"}, v1: &fields{"stream on", ""},
		words: func(op *Op) string {
			return fmt.Sprintf("wait_stream: stream %d waits for stream %d", op.Stream, op.On)
		},
	},
	OpRecordEvent: {
		target: TargetDevice, memory: MemoryNone, event: numberSet,
		v2: fields{"event", "stream"}, words: ofEvent,
	},
	OpWaitEvent: {
		target: TargetDevice, memory: MemoryNone, event: numberUsed,
		v2: fields{"event", "stream"}, words: ofEvent,
	},
	OpSynchronize: {
		target: TargetDevice, memory: MemoryNone,
		v2: fields{"", "stream"}, words: onStream,
	},
	OpDestroyStream: {
		target: TargetDevice, memory: MemoryNone,
		v2: fields{"", "stream"}, words: onStream,
	},
	OpEndThread: {target: TargetDevice, memory: MemoryNone, words: nameOnly},
}

func ofEvent(op *Op) string {
	return fmt.Sprintf("%s event %d on stream %d", op.Kind, op.Event, op.Stream)
}

func workInWords(op *Op) string {
	text := string(op.Kind)
	if op.Name != "" {
		text += fmt.Sprintf(" %q", op.Name)
	}
	return text + fmt.Sprintf(" on stream %d", op.Stream) + rangesOf(op)
}

func rangesOf(op *Op) (text string) {
	if len(op.Reads) > 0 {
		text += ", reads " + rangesInWords(op.Reads)
	}
	if len(op.Writes) > 0 {
		text += ", writes " + rangesInWords(op.Writes)
	}
	return text
}

func rangesInWords(ranges []OpRange) string {
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
