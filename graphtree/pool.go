package graphtree

import (
	"errors"
	"runtime"

	"gaugeblock/spec"
)

// The pool and the device, as a manager uses them. All memory of graphs comes from one
// pool, for one stream, so that every recording can use all that is free at its
// beginning.

// usePool calls do with the requests of the manager's stream routed to the pool. The
// work is ordered after what the program has launched, and before what it launches
// next.
func (m *Manager) usePool(do func() error) error {
	if err := m.gpu.SynchronizeDevice(m.device); err != nil {
		return err
	}
	if err := m.wait(m.stream, m.program); err != nil {
		return err
	}
	if err := m.allocator.BeginAllocateToPool(m.device, m.pool, spec.ForStream(m.stream)); err != nil {
		return err
	}
	return errors.Join(
		do(),
		m.allocator.EndAllocateToPool(m.device, m.pool),
		m.allocator.ReleasePool(m.device, m.pool),
		m.wait(m.program, m.stream))
}

// capture makes a graph of what is launched on the manager's stream. Requests of the
// capture are routed to the pool. The graph keeps the pool live until it is destroyed.
func (m *Manager) capture(launch func() error) (spec.GraphExec, error) {
	if err := m.gpu.SynchronizeDevice(m.device); err != nil {
		return 0, err
	}
	// Nothing can be released during a capture, so the cache is emptied before.
	if err := m.allocator.EmptyCache(); err != nil {
		return 0, err
	}
	runtime.LockOSThread() // a capture must be ended by the thread that began it
	defer runtime.UnlockOSThread()
	if err := m.gpu.BeginCapture(m.device, m.stream, spec.CaptureThreadLocal); err != nil {
		return 0, err
	}
	err := m.markCapture(spec.CaptureMarker.MarkCaptureBegin)
	begun := false
	if err == nil {
		begun, err = m.launchInPool(launch)
	}
	graph, failure := m.endCapture()
	err = errors.Join(err, failure, m.markCapture(spec.CaptureMarker.MarkCaptureEnd))
	if begun {
		err = errors.Join(err, m.allocator.EndAllocateToPool(m.device, m.pool))
	}
	var exec spec.GraphExec
	if err == nil {
		exec, err = m.gpu.Instantiate(graph)
	}
	if graph != 0 {
		err = errors.Join(err, m.gpu.DestroyGraph(graph))
	}
	if err == nil {
		return exec, nil
	}
	if exec != 0 {
		err = errors.Join(err, m.gpu.DestroyGraphExec(exec))
	}
	if begun {
		err = errors.Join(err, m.allocator.ReleasePool(m.device, m.pool))
	}
	return 0, err
}

// launchInPool launches what is to be captured, with the requests of the capture routed
// to the pool. It reports whether they are routed now.
func (m *Manager) launchInPool(launch func() error) (begun bool, err error) {
	status, err := m.gpu.CaptureStatus(m.device, m.stream)
	if err != nil {
		return false, err
	}
	filter := spec.ForCapture(m.gpu, status.ID)
	if err := m.allocator.BeginAllocateToPool(m.device, m.pool, filter); err != nil {
		return false, err
	}
	whole := m.allocator
	defer func() { m.allocator = whole }()
	m.allocator = m.onStream()
	return true, launch()
}

// markCapture tells an allocator that wants to know that a capture has begun, or ended.
func (m *Manager) markCapture(mark func(spec.CaptureMarker, spec.Device) error) error {
	if marker, able := m.allocator.(spec.CaptureMarker); able {
		return mark(marker, m.device)
	}
	return nil
}

// onStream is the allocator as a thread uses it whose current stream is the manager's.
func (m *Manager) onStream() Allocator {
	aware, able := m.allocator.(spec.CallerAware)
	if !able {
		return m.allocator
	}
	view, whole := aware.For(spec.Caller{Current: spec.DeviceStream{Device: m.device, Stream: m.stream}}).(Allocator)
	if !whole {
		return m.allocator
	}
	return view
}

// endCapture ends the capture. If a call fails without ending it, it is tried again,
// since the stream would go on being captured.
func (m *Manager) endCapture() (spec.Graph, error) {
	graph, err := m.gpu.EndCapture(m.device, m.stream)
	if err == nil {
		return graph, nil
	}
	if status, failure := m.gpu.CaptureStatus(m.device, m.stream); failure != nil || status.Status == spec.CaptureNone {
		return 0, errors.Join(err, failure)
	}
	graph, failure := m.gpu.EndCapture(m.device, m.stream)
	return graph, errors.Join(err, failure)
}

// destroyGraph destroys a graph and releases its use of the pool.
func (m *Manager) destroyGraph(exec spec.GraphExec) error {
	return errors.Join(m.gpu.DestroyGraphExec(exec), m.allocator.ReleasePool(m.device, m.pool))
}

// wait makes later work on one stream wait for all present work on another.
func (m *Manager) wait(stream, awaited spec.Stream) error {
	event, err := m.gpu.CreateEvent(m.device)
	if err != nil {
		return err
	}
	err = m.gpu.RecordEvent(event, m.device, awaited)
	if err == nil {
		err = m.gpu.WaitEvent(m.device, stream, event)
	}
	return errors.Join(err, m.gpu.DestroyEvent(event))
}

// malloc allocates memory with one reference, from the pool to which requests of the
// stream are routed.
func (m *Manager) malloc(stream spec.Stream, bytes uint64) (*Tensor, error) {
	p, err := m.allocator.Malloc(spec.Request{Device: m.device, Stream: stream, Bytes: bytes})
	if err != nil {
		return nil, err
	}
	s := &storage{manager: m, memory: spec.Range{Ptr: p, Bytes: bytes}}
	if p != 0 {
		s.own()
	}
	return &Tensor{storage: s.addRef()}, nil
}

func (m *Manager) copy(stream spec.Stream, dst, src spec.Ptr, bytes uint64) error {
	if bytes == 0 {
		return nil
	}
	return m.gpu.Copy(spec.Copy{
		Device: m.device, Stream: stream,
		Dst: dst, DstDevice: m.device, Src: src, SrcDevice: m.device, Bytes: bytes,
	})
}
