package perform

import (
	"fmt"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
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

// Hardware changes the description of the fake machine that a header has led to. With an
// address policy of its own a device does not follow the addresses of the trace.
type Hardware func(*fakegpu.Config)

// Around puts something around the fake device. Whatever it does with the calls, the fake
// device has to see them, and handles are the fake device's.
type Around func(*fakegpu.GPU) Device

// What the device does by itself, as the trace says.
var deviceKinds = map[trace.OpKind]kind{
	trace.OpBusy:       {perform: (*machine).busy},
	trace.OpDrain:      {perform: (*machine).drain},
	trace.OpDeviceFree: {perform: (*machine).deviceFree},
	trace.OpFault:      {perform: (*machine).fault},
}

// setUpDevices makes the machine that the header describes, with a script of
// addresses for each device. What an operation makes the driver do concerns the
// operation's own device, as events do not say which device they are of.
func (m *machine) setUpDevices(hardware Hardware, around Around) error {
	h := m.header
	if h.Devices > fakegpu.MaxDevices {
		return &spec.NotSupportedError{
			Op: "devices", Reason: fmt.Sprintf("the trace has %d, the fake machine at most %d", h.Devices, fakegpu.MaxDevices),
		}
	}
	config := fakegpu.Config{Devices: fakegpu.Devices(h.Devices, h.TotalMemory)}
	if h.Geometry != spec.DefaultGeometry() {
		config.PageGranularity = h.Geometry.MinBlock
	}
	if h.Waits {
		config.Waits, config.FreeWaits = fakegpu.WaitsDrain, true
	}
	if hardware != nil {
		hardware(&config)
	}
	m.hardware = fakegpu.NewMachine(config)
	m.fake = m.hardware.NewProcess()
	for dev := range h.Devices {
		script := fakegpu.NewScript()
		if h.RealAddresses {
			script = fakegpu.NewRealLikeScript()
		}
		if config.Addresses == nil {
			m.fake.UseScript(spec.Device(dev), script)
		}
		m.scripts = append(m.scripts, script)
	}
	m.gpu = m.fake
	if around != nil {
		m.gpu = around(m.fake)
	}
	return nil
}

// loadScript makes the fake driver do what the real one did during the operation: put memory at
// the recorded addresses and, if nobody else used the device, refuse what the real one refused.
// This part of a recording is the driver's, and says nothing about an allocator.
func (m *machine) loadScript(op *trace.Op) {
	script := m.scripts[op.Device]
	if m.header.Exclusive && op.Expect.Entries != nil {
		script.LoadOutcomes(op.Expect.Entries)
	} else {
		script.Load(op.Expect.Entries)
	}
	if op.Expect.Segments != nil {
		script.SetPieces(op.Expect.Segments)
	}
	if op.Expect.AddressRanges != nil {
		script.SetRanges(op.Expect.AddressRanges)
	}
}

func (m *machine) busy(op *trace.Op) error {
	return m.gpu.Busy(op.Device, m.stream(op, op.Stream))
}

func (m *machine) drain(op *trace.Op) error {
	return m.gpu.Drain(op.Device, m.stream(op, op.Stream))
}

func (m *machine) deviceFree(op *trace.Op) error {
	m.gpu.SetFreeMemory(op.Device, op.Size)
	return nil
}

func (m *machine) fault(op *trace.Op) error {
	if err := m.gpu.Inject(op.Fault); err != nil {
		return m.badOp(op, err.Error())
	}
	return nil
}
