package trace

import "fmt"

// What a device does by itself: how fast it works, how much memory it has left, and
// which of its calls fail.
const (
	OpBusy       OpKind = "busy"
	OpDrain      OpKind = "drain"
	OpDeviceFree OpKind = "device_free"
	OpFault      OpKind = "fault"
)

var deviceKinds = map[OpKind]kind{
	OpBusy: {
		target: TargetTestDevice, memory: MemoryNone,
		v2: fields{"", "stream"}, v1: &fields{"stream", ""}, words: onStream,
	},
	OpDrain: {
		target: TargetTestDevice, memory: MemoryNone,
		v2: fields{"", "stream"}, v1: &fields{"stream", ""}, words: onStream,
	},
	OpDeviceFree: {
		target: TargetTestDevice, memory: MemoryNone,
		v2: fields{"bytes", ""}, v1: &fields{"bytes", ""},
		words: func(op *Op) string { return "device_free " + SizeInWords(op.Size) },
	},
	OpFault: {
		target: TargetTestDevice, memory: MemoryNone,
		v2: fields{"fault", ""},
		words: func(op *Op) string {
			return fmt.Sprintf("fault in call %d of %s: %s", op.Fault.Nth, op.Fault.Call, op.Fault.Error)
		},
	},
}
