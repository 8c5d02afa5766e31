package linearizability

import (
	"fmt"

	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tests/suites/sizes"
)

// A kind has everything that depends on the kind of an operation.
type kind struct {
	args                   arguments
	allocates, uses, frees bool // the allocation that the operation names; none of them: it names none

	// allDevices: the operation concerns all devices. Any other concerns Op.Device.
	allDevices bool
	// do performs the operation.
	do func(x *execution, op *Op, ptr spec.Ptr, out *model.Outcome)
	// result describes an outcome without an error; nil means "done".
	result func(out *model.Outcome) string
	// query is not nil if traces have no such operation. It adds what they have instead.
	query func(t *tracer)
}

// arguments are the words of a program after the kind and the name, beside device=N.
type arguments struct{ bytes, fraction, settings, stream bool }

var kinds = map[trace.OpKind]kind{
	trace.OpMalloc: {
		allocates: true, args: arguments{bytes: true, stream: true},
		do: func(x *execution, op *Op, _ spec.Ptr, out *model.Outcome) {
			out.Ptr, out.Err = x.allocator.Malloc(spec.Request{Device: op.Device, Stream: x.stream(op), Bytes: op.Bytes})
		},
		result: func(out *model.Outcome) string { return formatAddress(out.Ptr) },
	},
	trace.OpFree: {
		uses: true, frees: true,
		do: func(x *execution, _ *Op, ptr spec.Ptr, out *model.Outcome) { out.Err = x.allocator.Free(ptr) },
	},
	trace.OpRecordStream: {
		uses: true, args: arguments{stream: true},
		do: func(x *execution, op *Op, ptr spec.Ptr, out *model.Outcome) {
			out.Err = x.allocator.RecordStream(ptr, op.Device, x.stream(op))
		},
	},
	trace.OpEmptyCache: {
		allDevices: true,
		do:         func(x *execution, _ *Op, _ spec.Ptr, out *model.Outcome) { out.Err = x.allocator.EmptyCache() },
	},
	trace.OpSetMemoryFraction: {
		args: arguments{fraction: true},
		do: func(x *execution, op *Op, _ spec.Ptr, out *model.Outcome) {
			out.Err = x.allocator.(spec.MemoryLimiter).SetMemoryFraction(op.Device, op.Fraction)
		},
	},
	trace.OpConfigure: {
		args: arguments{settings: true}, allDevices: true,
		do: func(x *execution, op *Op, _ spec.Ptr, out *model.Outcome) {
			out.Err = x.allocator.(spec.Configurer).Configure(op.Settings)
		},
	},
	trace.OpBusy: {
		args: arguments{stream: true},
		do: func(x *execution, op *Op, _ spec.Ptr, out *model.Outcome) {
			out.Err = x.gpu.Busy(op.Device, x.stream(op))
		},
	},
	trace.OpDrain: {
		args: arguments{stream: true},
		do: func(x *execution, op *Op, _ spec.Ptr, out *model.Outcome) {
			out.Err = x.gpu.Drain(op.Device, x.stream(op))
		},
	},
	model.OpStats: {
		do: func(x *execution, op *Op, _ spec.Ptr, out *model.Outcome) {
			out.Stats = new(spec.DeviceStats)
			*out.Stats, out.Err = x.allocator.Stats(op.Device)
		},
		result: func(out *model.Outcome) string {
			return fmt.Sprintf("%s allocated, %s reserved",
				sizes.Format(uint64(out.Stats.AllocatedBytes[spec.Aggregate].Current)),
				sizes.Format(uint64(out.Stats.ReservedBytes[spec.Aggregate].Current)))
		},
		query: func(*tracer) {},
	},
	model.OpSnapshot: {
		allDevices: true,
		do: func(x *execution, _ *Op, _ spec.Ptr, out *model.Outcome) {
			snapshot, err := x.allocator.Snapshot()
			out.Layout, out.Err = trace.Layout(&snapshot), err
		},
		result: func(out *model.Outcome) string { return formatLayout(out.Layout) },
		query:  (*tracer).expectLayout,
	},
}
