package perform

import (
	"errors"
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Host threads, in traces in which something depends on them (trace.Header.Threads).

// A ThreadEnder is an allocator that runs in threads of its own, one for each of the trace.
type ThreadEnder interface {
	EndThread(t spec.Thread) error
}

// theLock is the number of a thread that stands for the allocator's lock: its release by one
// call comes before its acquisition by the next. So each call of the allocator knows what
// earlier calls have waited for, whichever threads made them.
const theLock = spec.Thread(1 << 30)

// pointers are the numbers of threads that stand for pointers: the allocator's return of a
// pointer comes before its use. So a user of memory knows what the allocator had waited for
// when it allocated the memory, also if another thread made that call.
const pointers = theLock + 1

// onThread says which thread makes the calls of the operation.
func (m *machine) onThread(op *trace.Op) (over func()) {
	if m.header.Threads == 0 {
		return func() {}
	}
	m.fake.SetThread(op.Thread)
	if op.Kind.Target() != trace.TargetAllocator {
		for _, used := range [][]trace.OpRange{op.Reads, op.Writes} {
			for _, r := range used {
				m.fake.OrderThreads(pointers+spec.Thread(r.ID), op.Thread)
			}
		}
		return func() {}
	}
	m.fake.OrderThreads(theLock, op.Thread)
	return func() {
		m.fake.OrderThreads(op.Thread, theLock)
		if op.Kind == trace.OpMalloc {
			m.fake.OrderThreads(op.Thread, pointers+spec.Thread(op.ID))
		}
	}
}

// asCaller has the allocator called by the operation's thread, with the stream that is current in
// it. A malloc has both in its request.
func (m *machine) asCaller(op *trace.Op) (over func()) {
	aware, able := m.allocator.(spec.CallerAware)
	caller := spec.Caller{Thread: op.Thread, Current: spec.DeviceStream{Device: op.Device, Stream: m.current(op)}}
	if !able || op.Kind == trace.OpMalloc || op.Kind.Target() != trace.TargetAllocator || caller.Thread == 0 && caller.Current.Stream == 0 {
		return func() {}
	}
	whole := m.allocator
	m.allocator = aware.For(caller)
	return func() { m.allocator = whole }
}

// current is the stream that is current in the operation's thread. Programs of the lockstep that name
// no release were recorded while a malloc left its stream current.
func (m *machine) current(op *trace.Op) spec.Stream {
	if op.Current != nil {
		return m.stream(op, *op.Current)
	}
	if m.header.Release == "" && m.header.Source == "gaugeblock torch" {
		return m.latest[op.Device]
	}
	for _, c := range slices.Backward(m.captured) {
		if c.Device == op.Device {
			return c.Stream
		}
	}
	return 0
}

func (m *machine) destroyStream(op *trace.Op) error {
	handle := m.stream(op, op.Stream)
	if err := m.gpu.DestroyStream(op.Device, handle); err != nil {
		return err
	}
	delete(m.streams, handle)
	return nil
}

// endThread ends a thread, and destroys those of its default streams that did not end with
// it.
func (m *machine) endThread(op *trace.Op) error {
	var failed error
	if ender, able := m.allocator.(ThreadEnder); able {
		failed = ender.EndThread(op.Thread)
	}
	for dev := range m.header.Devices {
		handle := m.header.Streams[m.header.OwnStream(spec.Device(dev), op.Thread)]
		if _, there := m.fake.StreamDevice(handle); there {
			failed = errors.Join(failed, m.gpu.DestroyStream(spec.Device(dev), handle))
		}
		delete(m.streams, handle)
	}
	return failed
}
