package check

import (
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// csvActions says what a line with the action means. RMM's logger writes the first
// three; the others are ours.
var csvActions = map[string]func(r *csvRow) *trace.Op{
	"allocate": func(r *csvRow) *trace.Op {
		op := &trace.Op{Kind: trace.OpMalloc, Size: r.size(), Stream: r.stream(columnStream)}
		addr := spec.Ptr(0)
		if op.Size > 0 {
			addr = r.pointer()
		}
		op.ID, op.Expect.Addr = int64(addr), &addr
		return op
	},
	"allocate failure": func(r *csvRow) *trace.Op {
		return &trace.Op{
			Kind: trace.OpMalloc, ID: -1, Size: r.size(), Stream: r.stream(columnStream),
			Expect: trace.Expectation{Error: trace.ErrorOOM},
		}
	},
	"free":       csvFree,
	"deallocate": csvFree,

	"record stream": func(r *csvRow) *trace.Op {
		return &trace.Op{Kind: trace.OpRecordStream, ID: int64(r.pointer()), Stream: r.stream(columnStream)}
	},
	"empty cache": func(*csvRow) *trace.Op { return &trace.Op{Kind: trace.OpEmptyCache} },

	"read": func(r *csvRow) *trace.Op {
		op := r.work("read")
		op.Reads = []trace.OpRange{{ID: int64(r.pointer()), Bytes: r.size()}}
		return op
	},
	"write": func(r *csvRow) *trace.Op {
		op := r.work("write")
		op.Writes = []trace.OpRange{{ID: int64(r.pointer()), Bytes: r.size()}}
		return op
	},
	"wait": func(r *csvRow) *trace.Op {
		return &trace.Op{Kind: trace.OpWaitStream, Stream: r.stream(columnStream), On: r.stream(columnPointer)}
	},
	"synchronize": func(r *csvRow) *trace.Op {
		return &trace.Op{Kind: trace.OpSynchronize, Stream: r.stream(columnStream)}
	},

	"driver allocate": func(r *csvRow) *trace.Op {
		r.did(spec.ActionSegmentAlloc, r.pointer(), r.size())
		return nil
	},
	"driver free": func(r *csvRow) *trace.Op {
		r.did(spec.ActionSegmentFree, r.pointer(), r.size())
		return nil
	},
	"free completed": func(r *csvRow) *trace.Op {
		r.did(spec.ActionFreeCompleted, r.pointer(), 0)
		return nil
	},
}

// csvFree: the stream of a free is not read; the size has to be the allocation's, if it
// is there. A free of null is nothing.
func csvFree(r *csvRow) *trace.Op {
	if r.number(columnPointer, "an address") == 0 {
		return nil
	}
	return &trace.Op{Kind: trace.OpFree, ID: int64(r.pointer()), Size: r.size()}
}

func (r *csvRow) work(name string) *trace.Op {
	return &trace.Op{Kind: trace.OpKernel, Name: name, Stream: r.stream(columnStream)}
}
