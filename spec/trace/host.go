package trace

import (
	"fmt"

	"gaugeblock/spec"
)

// Streams that are created, what host threads wait for, and what they do themselves. How
// streams and threads end is in streams.go.
const (
	OpCreateStream      OpKind = "create_stream"
	OpSynchronizeEvent  OpKind = "synchronize_event"
	OpSynchronizeDevice OpKind = "synchronize_device"
	OpQueryEvent        OpKind = "query_event"
	OpDestroyEvent      OpKind = "destroy_event"
	OpQueryStream       OpKind = "query_stream"
	OpHostAccess        OpKind = "host_access"
	OpWaitThread        OpKind = "wait_thread"
)

// Handles that are not of one stream.
const (
	// LegacyStream is the legacy default stream of the device (cudaStreamLegacy), as 0 is
	// unless a log says otherwise.
	LegacyStream spec.Stream = 1
	// PerThreadStream is the default stream of the operation's thread
	// (cudaStreamPerThread).
	PerThreadStream spec.Stream = 2
)

// MaxStreams bounds the streams of a trace: those of the header and those created later.
const MaxStreams = 1 << 16

var hostKinds = map[OpKind]kind{
	OpCreateStream: {
		target: TargetDevice, memory: MemoryNone,
		v2: fields{"stream", "cuda_stream blocking"}, check: checkCreated,
		update: func(r *references, op *Op) {
			if op.Stream == len(r.header.Streams) {
				r.header.Streams = append(r.header.Streams, op.CUDAStream)
				r.handles[op.CUDAStream] = true
			}
		},
		words: func(op *Op) string {
			if op.Blocking {
				return onStream(op) + ", blocking"
			}
			return onStream(op)
		},
	},
	OpSynchronizeEvent: {
		target: TargetDevice, memory: MemoryNone, event: numberUsed,
		v2: fields{"event", ""}, words: func(op *Op) string { return fmt.Sprintf("%s %d", op.Kind, op.Event) },
	},
	OpSynchronizeDevice: {target: TargetDevice, memory: MemoryNone, words: nameOnly},
	OpQueryEvent: {
		target: TargetDevice, memory: MemoryNone, event: numberUsed,
		v2: fields{"event complete", ""}, words: func(op *Op) string {
			return fmt.Sprintf("%s %d: %s", op.Kind, op.Event, completeInWords(op))
		},
	},
	OpDestroyEvent: {
		target: TargetDevice, memory: MemoryNone, event: numberEnded,
		v2: fields{"event", ""}, words: func(op *Op) string { return fmt.Sprintf("%s %d", op.Kind, op.Event) },
	},
	OpQueryStream: {
		target: TargetDevice, memory: MemoryNone,
		v2: fields{"complete", "stream"}, words: func(op *Op) string { return onStream(op) + ": " + completeInWords(op) },
	},
	OpHostAccess: {
		target: TargetDevice, memory: MemoryTouches,
		v2: fields{"", "name reads writes"}, words: func(op *Op) string {
			text := string(op.Kind)
			if op.Name != "" {
				text += fmt.Sprintf(" %q", op.Name)
			}
			return text + rangesOf(op)
		},
	},
	OpWaitThread: {
		target: TargetDevice, memory: MemoryNone,
		v2: fields{"other", ""}, words: func(op *Op) string { return fmt.Sprintf("%s %d", op.Kind, op.Other) },
	},
}

func completeInWords(op *Op) string {
	if op.Complete {
		return "complete"
	}
	return "not complete"
}

// checkCreated says what is wrong with the stream that is created. One after the last
// one of the list is new, and its handle must be given.
func checkCreated(r *references, op *Op) string {
	if op.Stream < len(r.header.Streams) {
		if op.CUDAStream != 0 && op.CUDAStream != r.header.Streams[op.Stream] {
			return fmt.Sprintf("stream index %d stands for handle %d, not %d", op.Stream, uint64(r.header.Streams[op.Stream]), uint64(op.CUDAStream))
		}
		if h := r.header.Streams[op.Stream]; h <= PerThreadStream {
			return fmt.Sprintf("the default stream, handle %d, is not created", uint64(h))
		}
		return ""
	}
	switch {
	case op.CUDAStream <= PerThreadStream:
		return `a stream that is not in the header, without "cuda_stream"`
	case len(r.header.Streams) >= MaxStreams:
		return fmt.Sprintf("more than %d streams", MaxStreams)
	}
	if r.handles == nil {
		r.handles = map[spec.Stream]bool{}
		for _, h := range r.header.Streams {
			r.handles[h] = true
		}
	}
	if r.handles[op.CUDAStream] {
		return fmt.Sprintf("handle %d is in the list of streams already", uint64(op.CUDAStream))
	}
	return ""
}
