package perform

import (
	"errors"
	"fmt"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Work on streams, and the order between streams.
var streamKinds = map[trace.OpKind]kind{
	trace.OpKernel:      {perform: (*machine).kernel},
	trace.OpCopy:        {perform: (*machine).copy},
	trace.OpWaitStream:  {perform: (*machine).waitStream},
	trace.OpRecordEvent: {perform: (*machine).recordEvent},
	trace.OpWaitEvent:   {perform: (*machine).waitEvent},
	trace.OpSynchronize: {perform: (*machine).synchronize},

	trace.OpDestroyStream: {perform: (*machine).destroyStream},
	trace.OpEndThread:     {perform: (*machine).endThread},
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

func (m *machine) kernel(op *trace.Op) error {
	stream := m.stream(op, op.Stream)
	var err error
	if m.reads, err = m.ranges(op, op.Reads, m.reads[:0]); err != nil {
		return err
	}
	if m.writes, err = m.ranges(op, op.Writes, m.writes[:0]); err != nil {
		return err
	}
	return m.gpu.Launch(spec.Launch{Device: op.Device, Stream: stream, Name: op.Name, Reads: m.reads, Writes: m.writes})
}

// ranges adds where parts of allocations lie to a list.
func (m *machine) ranges(op *trace.Op, parts []trace.OpRange, list []spec.Range) ([]spec.Range, error) {
	for _, r := range parts {
		found, _, err := m.memory(op, r)
		if err != nil {
			return list, err
		}
		list = append(list, found)
	}
	return list, nil
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
		return spec.Range{}, 0, ErrSkipped
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
		return ErrSkipped
	}
	return m.gpu.WaitEvent(op.Device, m.stream(op, op.Stream), mark.event)
}

func (m *machine) synchronize(op *trace.Op) error {
	return m.gpu.SynchronizeStream(op.Device, m.stream(op, op.Stream))
}
