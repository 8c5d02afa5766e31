package replay

import (
	"errors"
	"fmt"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// What a trace asks of the device, and what the recorded driver's part was.

// setUpDevices makes the machine that the header describes, with a script of
// addresses for each device. What an operation makes the driver do concerns the
// operation's own device, as events do not say which device they are of.
func (m *machine) setUpDevices(around Around) error {
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
	m.hardware = fakegpu.NewMachine(config)
	m.fake = m.hardware.NewProcess()
	for dev := range h.Devices {
		script := fakegpu.NewScript()
		m.fake.UseScript(spec.Device(dev), script)
		m.scripts = append(m.scripts, script)
	}
	m.gpu = m.fake
	if around != nil {
		m.gpu = around(m.fake)
	}
	return nil
}

// loadScript tells the fake driver what the real one did during the operation:
// at which addresses it put memory, and in the family realoom also what it
// refused. That part of a recording is the driver's, and no allocator's merit.
func (m *machine) loadScript(op *trace.Op) {
	script := m.scripts[op.Device]
	if m.header.Family == "realoom" && op.Expect.Entries != nil {
		script.LoadOutcomes(op.Expect.Entries)
	} else {
		script.Load(op.Expect.Entries)
	}
}

// stream is the handle that an index stands for. A stream comes into being when
// it is first named, on the device of the operation that names it.
func (m *machine) stream(op *trace.Op, index int) spec.Stream {
	handle := m.header.Streams[index]
	if _, made := m.streams[handle]; handle != 0 && !made && m.gpu.AddStream(op.Device, handle) == nil {
		m.streams[handle] = op.Device
	}
	return handle
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

func (m *machine) kernel(op *trace.Op) error {
	launch := spec.Launch{Device: op.Device, Stream: m.stream(op, op.Stream), Name: op.Name}
	for _, side := range []struct {
		from []trace.OpRange
		to   *[]spec.Range
	}{{op.Reads, &launch.Reads}, {op.Writes, &launch.Writes}} {
		for _, r := range side.from {
			found, _, err := m.memory(op, r)
			if err != nil {
				return err
			}
			*side.to = append(*side.to, found)
		}
	}
	return m.gpu.Launch(launch)
}

func (m *machine) copy(op *trace.Op) error {
	src, srcDevice, err := m.memory(op, op.Reads[0])
	if err != nil {
		return err
	}
	dst, dstDevice, err := m.memory(op, op.Writes[0])
	if err != nil {
		return err
	}
	if src.Bytes != dst.Bytes {
		return m.badOp(op, fmt.Sprintf("reads %d bytes and writes %d", src.Bytes, dst.Bytes))
	}
	return m.gpu.Copy(spec.Copy{
		Device: op.Device, Stream: m.stream(op, op.Stream),
		Dst: dst.Ptr, DstDevice: dstDevice, Src: src.Ptr, SrcDevice: srcDevice, Bytes: src.Bytes,
	})
}

// memory is where a part of an allocation lies, and on which device.
func (m *machine) memory(op *trace.Op, r trace.OpRange) (spec.Range, spec.Device, error) {
	a, live := m.allocations[r.ID]
	if !live {
		return spec.Range{}, 0, errNeverGiven
	}
	if r.Offset > a.bytes || r.Bytes > a.bytes-r.Offset {
		return spec.Range{}, 0, m.badOp(op, fmt.Sprintf("%d bytes from %d are not all in id %d of %d bytes",
			r.Bytes, r.Offset, r.ID, a.bytes))
	}
	if r.Bytes == 0 {
		r.Bytes = a.bytes - r.Offset
	}
	return spec.Range{Ptr: a.ptr + spec.Ptr(r.Offset), Bytes: r.Bytes}, a.device, nil
}

// waitStream makes a stream wait for all that another one has been given.
func (m *machine) waitStream(op *trace.Op) error {
	event, err := m.gpu.CreateEvent(op.Device)
	if err != nil {
		return err
	}
	err = m.gpu.RecordEvent(event, op.Device, m.stream(op, op.On))
	if err == nil {
		err = m.gpu.WaitEvent(op.Device, m.stream(op, op.Stream), event)
	}
	return errors.Join(err, m.gpu.DestroyEvent(event))
}

// mark is one of the program's events. The driver wants it recorded on the device
// that it was made for.
type mark struct {
	event  spec.EventHandle
	device spec.Device
}

// recordEvent moves an event to the end of a stream. If it was made for another
// device a new one takes its place; streams that wait for the old one go on doing
// so.
func (m *machine) recordEvent(op *trace.Op) error {
	old, made := m.marks[op.Event]
	if made && old.device == op.Device {
		return m.gpu.RecordEvent(old.event, op.Device, m.stream(op, op.Stream))
	}
	event, err := m.gpu.CreateEvent(op.Device)
	if err != nil {
		return err
	}
	m.marks[op.Event] = mark{event, op.Device}
	if made {
		err = m.gpu.DestroyEvent(old.event)
	}
	return errors.Join(err, m.gpu.RecordEvent(event, op.Device, m.stream(op, op.Stream)))
}

func (m *machine) waitEvent(op *trace.Op) error {
	mark, made := m.marks[op.Event]
	if !made {
		return errNeverGiven
	}
	return m.gpu.WaitEvent(op.Device, m.stream(op, op.Stream), mark.event)
}

func (m *machine) synchronize(op *trace.Op) error {
	return m.gpu.SynchronizeStream(op.Device, m.stream(op, op.Stream))
}

// captureBegin begins a capture, through which only an allocator that knows
// pools can be taken: what a graph uses must not be given to anyone else.
func (m *machine) captureBegin(op *trace.Op) error {
	if _, err := m.pools(op); err != nil {
		return err
	}
	return m.gpu.BeginCapture(op.Device, m.stream(op, op.Stream), op.Mode)
}

// graph is what a capture made, ready to be launched.
type graph struct {
	captured spec.Graph
	exec     spec.GraphExec
}

func (m *machine) captureEnd(op *trace.Op) error {
	captured, err := m.gpu.EndCapture(op.Device, m.stream(op, op.Stream))
	if err != nil {
		return err
	}
	exec, err := m.gpu.Instantiate(captured)
	if err != nil {
		return errors.Join(err, m.gpu.DestroyGraph(captured))
	}
	m.graphs[op.Graph] = graph{captured, exec}
	return nil
}

func (m *machine) graphLaunch(op *trace.Op) error {
	g, made := m.graphs[op.Graph]
	if !made {
		return errNeverGiven
	}
	return m.gpu.LaunchGraph(g.exec, op.Device, m.stream(op, op.Stream))
}

func (m *machine) graphDestroy(op *trace.Op) error {
	g, made := m.graphs[op.Graph]
	if !made {
		return errNeverGiven
	}
	delete(m.graphs, op.Graph)
	return errors.Join(m.gpu.DestroyGraphExec(g.exec), m.gpu.DestroyGraph(g.captured))
}
