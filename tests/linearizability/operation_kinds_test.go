package linearizability

import (
	"fmt"

	"gaugeblock/internal/sizes"
	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// A kind has everything that depends on the kind of an operation. Those of the abilities beside
// malloc and free are in abilities.go.
type kind struct {
	args        arguments
	makes, uses bool   // the operation names what it makes, or what it uses
	allocates   bool   // it makes an allocation
	frees       bool   // it uses an allocation for the last time
	takes       string // what it uses, if that is no allocation

	// allDevices: the operation concerns all devices. Any other concerns Op.Device.
	allDevices bool
	// object: it is about something that the model's states do not have (world), so that all
	// devices are checked together.
	object bool
	// do performs the operation. What it makes goes into the call's Made.
	do func(x *execution, c *Call)
	// judge is the state after the call on a device, or why there is none; nil means the model's
	// Step.
	judge func(w *world, device int, a *action) error
	// result describes an outcome without an error; nil means "done".
	result func(c *Call) string
	// query is not nil if traces have no such operation. It adds what they have instead.
	query func(t *tracer)
	// noTrace: a history with such an operation cannot be written as a trace.
	noTrace bool
}

// arguments are the words of a program after the kind and the name, beside device=N.
type arguments struct{ bytes, fraction, settings, stream, pool, handle, on bool }

var kinds = map[trace.OpKind]kind{}

func init() {
	for _, table := range []map[trace.OpKind]kind{modelKinds, poolKinds, objectKinds, otherKinds} {
		for name, k := range table {
			kinds[name] = k
		}
	}
}

// modelKinds are those that model.State.Step has.
var modelKinds = map[trace.OpKind]kind{
	trace.OpMalloc: {
		makes: true, allocates: true, args: arguments{bytes: true, stream: true},
		do: func(x *execution, c *Call) {
			c.Out.Ptr, c.Out.Err = x.allocator.Malloc(spec.Request{Device: c.Op.Device, Stream: x.stream(&c.Op), Bytes: c.Op.Bytes})
		},
		result: func(c *Call) string { return formatAddress(c.Out.Ptr) },
	},
	trace.OpFree: {
		uses: true, frees: true,
		do:    func(x *execution, c *Call) { c.Out.Err = x.allocator.Free(c.Ptr) },
		judge: judgeFree,
	},
	trace.OpRecordStream: {
		uses: true, args: arguments{stream: true, on: true},
		do: func(x *execution, c *Call) {
			to := c.Op.streamOf(x.setup)
			c.Out.Err = x.allocator.RecordStream(c.Ptr, to.Device, to.Stream)
		},
		judge: judgeRecordStream,
	},
	trace.OpEmptyCache: {
		allDevices: true,
		do:         func(x *execution, c *Call) { c.Out.Err = x.allocator.EmptyCache() },
	},
	trace.OpSetMemoryFraction: {
		args: arguments{fraction: true},
		do: func(x *execution, c *Call) {
			c.Out.Err = x.allocator.(spec.MemoryLimiter).SetMemoryFraction(c.Op.Device, c.Op.Fraction)
		},
	},
	trace.OpConfigure: {
		args: arguments{settings: true}, allDevices: true, object: true, judge: judgeConfigure,
		do: func(x *execution, c *Call) {
			c.Out.Err = x.allocator.(spec.Configurer).Configure(c.Op.Settings)
		},
	},
	trace.OpBusy: {
		args: arguments{stream: true},
		do: func(x *execution, c *Call) {
			c.Out.Err = x.gpu.Busy(c.Op.Device, x.stream(&c.Op))
		},
	},
	trace.OpDrain: {
		args: arguments{stream: true},
		do: func(x *execution, c *Call) {
			c.Out.Err = x.gpu.Drain(c.Op.Device, x.stream(&c.Op))
		},
	},
	model.OpStats: {
		do: func(x *execution, c *Call) {
			c.Out.Stats = new(spec.DeviceStats)
			*c.Out.Stats, c.Out.Err = x.allocator.Stats(c.Op.Device)
		},
		result: func(c *Call) string {
			return fmt.Sprintf("%s allocated, %s reserved",
				sizes.Format(uint64(c.Out.Stats.AllocatedBytes[spec.Aggregate].Current)),
				sizes.Format(uint64(c.Out.Stats.ReservedBytes[spec.Aggregate].Current)))
		},
		query: func(*tracer) {},
	},
	model.OpSnapshot: {
		allDevices: true,
		do: func(x *execution, c *Call) {
			snapshot, err := x.allocator.Snapshot()
			c.Out.Layout, c.Out.Err = trace.Layout(&snapshot), err
			x.compareHistory(&snapshot)
		},
		result: func(c *Call) string { return formatLayout(c.Out.Layout) },
		query:  (*tracer).expectLayout,
	},
}

// streamOf is the stream of an operation, with its device.
func (op *Op) streamOf(s *Setup) spec.DeviceStream {
	dev := op.Device
	if op.On != 0 {
		dev = spec.Device(op.On - 1)
	}
	return spec.DeviceStream{Device: dev, Stream: s.stream(dev, op.Stream)}
}
