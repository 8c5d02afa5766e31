package check

import (
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// csvActions says what a line with the action means, and whether it is an operation of
// the program. RMM's logger writes the first four; the others are ours.
var csvActions = map[string]func(r *csvRow) bool{
	"allocate": func(r *csvRow) bool {
		r.op.Kind, r.op.Size, r.op.Stream = trace.OpMalloc, r.size(), r.stream(columnStream)
		r.log.addr = 0
		if r.op.Size > 0 || r.number(columnPointer, "an address") != 0 {
			r.log.addr = r.pointer()
		}
		r.op.ID, r.op.Expect.Addr = int64(r.log.addr), &r.log.addr
		return true
	},
	"allocate failure": func(r *csvRow) bool {
		r.op.Kind, r.op.ID, r.op.Size, r.op.Stream = trace.OpMalloc, -1, r.size(), r.stream(columnStream)
		r.op.Expect.Error = trace.ErrorOOM
		return true
	},
	"free":       csvFree,
	"deallocate": csvFree,

	"record stream": func(r *csvRow) bool {
		r.op.Kind, r.op.ID, r.op.Stream = trace.OpRecordStream, int64(r.pointer()), r.stream(columnStream)
		return true
	},
	"empty cache": func(r *csvRow) bool { return r.is(trace.OpEmptyCache) },

	"read":       func(r *csvRow) bool { return r.work(trace.OpKernel, "read", &r.op.Reads) },
	"write":      func(r *csvRow) bool { return r.work(trace.OpKernel, "write", &r.op.Writes) },
	"host read":  func(r *csvRow) bool { return r.work(trace.OpHostAccess, "host read", &r.op.Reads) },
	"host write": func(r *csvRow) bool { return r.work(trace.OpHostAccess, "host write", &r.op.Writes) },

	"wait": func(r *csvRow) bool {
		r.op.On = r.stream(columnPointer)
		return r.onStream(trace.OpWaitStream)
	},
	"record event":      func(r *csvRow) bool { r.op.Event = r.event(); return r.onStream(trace.OpRecordEvent) },
	"wait event":        func(r *csvRow) bool { r.op.Event = r.event(); return r.onStream(trace.OpWaitEvent) },
	"synchronize event": func(r *csvRow) bool { r.op.Event = r.event(); return r.is(trace.OpSynchronizeEvent) },
	"query event": func(r *csvRow) bool {
		r.op.Event, r.op.Complete = r.event(), r.answer()
		return r.is(trace.OpQueryEvent)
	},
	"destroy event":      func(r *csvRow) bool { r.op.Event = r.event(); return r.is(trace.OpDestroyEvent) },
	"synchronize":        func(r *csvRow) bool { return r.onStream(trace.OpSynchronize) },
	"synchronize device": func(r *csvRow) bool { return r.is(trace.OpSynchronizeDevice) },
	"query stream": func(r *csvRow) bool {
		r.op.Complete = r.answer()
		return r.onStream(trace.OpQueryStream)
	},

	"create stream": func(r *csvRow) bool { // the flags of cudaStreamCreateWithFlags
		const nonBlocking = 1
		r.op.Blocking = r.number(columnSize, "the stream's flags")&nonBlocking == 0
		return r.onStream(trace.OpCreateStream)
	},
	"destroy stream": func(r *csvRow) bool { return r.onStream(trace.OpDestroyStream) },
	"wait thread": func(r *csvRow) bool {
		r.op.Other = r.thread(columnPointer)
		return r.is(trace.OpWaitThread)
	},
	"end thread": func(r *csvRow) bool { return r.is(trace.OpEndThread) },

	"driver allocate":      func(r *csvRow) bool { return r.driver(spec.ActionSegmentAlloc) },
	"driver free":          func(r *csvRow) bool { return r.driver(spec.ActionSegmentFree) },
	"driver allocate host": func(r *csvRow) bool { return r.driver(spec.ActionSegmentMap) },
	"driver free host":     func(r *csvRow) bool { return r.driver(spec.ActionSegmentUnmap) },
	"driver map":           func(r *csvRow) bool { return r.driver(spec.ActionSegmentMap) },
	"driver unmap":         func(r *csvRow) bool { return r.driver(spec.ActionSegmentUnmap) },
	"free completed": func(r *csvRow) bool {
		r.did(spec.ActionFreeCompleted, r.pointer(), 0)
		return false
	},
}

// csvFree: the size has to be the allocation's, if it is there. A free of null is
// nothing.
func csvFree(r *csvRow) bool {
	p := r.number(columnPointer, "an address")
	if p == 0 {
		return false
	}
	r.log.given.meet(r.field(columnPointer))
	r.op.ID, r.op.Size = int64(p), r.size()
	return r.onStream(trace.OpFree)
}

func (r *csvRow) is(kind trace.OpKind) bool {
	r.op.Kind = kind
	return true
}

func (r *csvRow) onStream(kind trace.OpKind) bool {
	r.op.Stream = r.stream(columnStream)
	return r.is(kind)
}

// work is work, or an access of the host, that touches memory in one way.
func (r *csvRow) work(kind trace.OpKind, name string, ranges *[]trace.OpRange) bool {
	r.op.Name = name
	r.log.ranges[0] = trace.OpRange{ID: int64(r.pointer()), Bytes: r.size()}
	*ranges = r.log.ranges[:]
	if kind == trace.OpHostAccess {
		return r.is(kind)
	}
	return r.onStream(kind)
}

func (r *csvRow) driver(a spec.Action) bool {
	r.did(a, r.pointer(), r.size())
	return false
}
