package perform

import "gaugeblock/spec/trace"

// Streams that are created, what host threads wait for, and what they do themselves.
// What they do to memory, and what they know of each other, changes nothing that an
// allocator can notice.
var hostKinds = map[trace.OpKind]kind{
	trace.OpCreateStream:      {perform: (*machine).createStream},
	trace.OpSynchronizeEvent:  {perform: (*machine).synchronizeEvent},
	trace.OpSynchronizeDevice: {perform: func(m *machine, op *trace.Op) error { return m.gpu.SynchronizeDevice(op.Device) }},
	trace.OpQueryEvent:        {perform: (*machine).queryEvent},
	trace.OpQueryStream:       {perform: nothing},
	trace.OpDestroyEvent:      {perform: (*machine).destroyEvent},
	trace.OpHostAccess:        {perform: nothing},
	trace.OpWaitThread:        {perform: nothing},
}

func nothing(*machine, *trace.Op) error { return nil }

func (m *machine) createStream(op *trace.Op) error {
	handle := m.header.Streams[op.Stream]
	if err := m.gpu.AddStream(op.Device, handle); err != nil {
		return err
	}
	m.streams[handle] = op.Device
	return nil
}

func (m *machine) synchronizeEvent(op *trace.Op) error {
	mark, made := m.marks[op.Event]
	if !made {
		return ErrSkipped
	}
	return m.gpu.SynchronizeEvent(mark.event)
}

func (m *machine) queryEvent(op *trace.Op) error {
	mark, made := m.marks[op.Event]
	if !made {
		return ErrSkipped
	}
	_, err := m.gpu.QueryEvent(mark.event)
	return err
}

func (m *machine) destroyEvent(op *trace.Op) error {
	mark, made := m.marks[op.Event]
	if !made {
		return ErrSkipped
	}
	delete(m.marks, op.Event)
	return m.gpu.DestroyEvent(mark.event)
}
