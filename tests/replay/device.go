package replay

import (
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// A Device is what operations are performed on: what a program does with a GPU, and what
// a trace says of it beside. It is the fake device, or something around it that sees what
// is done, and does it somewhere else as well.
type Device interface {
	spec.Driver
	spec.VirtualMemory
	spec.MemorySharing
	spec.PeerAccess
	spec.Executor

	// As fakegpu.GPU describes them.
	AddStream(dev spec.Device, s spec.Stream) error
	Busy(dev spec.Device, s spec.Stream) error
	Drain(dev spec.Device, s spec.Stream) error
	SetFreeMemory(dev spec.Device, bytes uint64)
	Inject(f spec.FaultSpec) error
}

// Around puts something around the fake device. Whatever it does with the calls, the fake
// device has to hear of them, and handles are the fake device's.
type Around func(*fakegpu.GPU) Device
