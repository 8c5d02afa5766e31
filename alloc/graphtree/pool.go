package graphtree

import (
	"errors"
	"runtime"

	"gaugeblock/spec"
)

// The pool and the device, as the tree uses them. All memory that graphs know
// comes from one pool, for one stream, so that every recording can use what is
// free at its beginning, whoever had it.

// intoPool does something on the tree's stream, whose requests go to the pool
// meanwhile. It comes after what the program has launched, and before what the
// program launches next.
func (m *Manager) intoPool(do func() error) error {
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

// capture makes a graph of what is launched on the tree's stream. Requests of the
// capture go to the pool, and the graph keeps the pool until it is destroyed.
func (m *Manager) capture(launch func() error) (spec.GraphExec, error) {
	if err := m.gpu.SynchronizeDevice(m.device); err != nil {
		return 0, err
	}
	// Nothing can be given back during a capture, so it is done before.
	if err := m.allocator.EmptyCache(); err != nil {
		return 0, err
	}
	runtime.LockOSThread() // a thread's capture is ended by that thread
	defer runtime.UnlockOSThread()
	if err := m.gpu.BeginCapture(m.device, m.stream, spec.CaptureThreadLocal); err != nil {
		return 0, err
	}
	begun, err := m.divertCapture(launch)
	graph, failure := m.endCapture()
	err = errors.Join(err, failure)
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

// divertCapture launches what is to be captured, with the requests of the capture
// diverted to the pool. It reports whether they are diverted now.
func (m *Manager) divertCapture(launch func() error) (begun bool, err error) {
	status, err := m.gpu.CaptureStatus(m.device, m.stream)
	if err != nil {
		return false, err
	}
	filter := spec.ForCapture(m.gpu, status.ID)
	if err := m.allocator.BeginAllocateToPool(m.device, m.pool, filter); err != nil {
		return false, err
	}
	return true, launch()
}

// endCapture ends the capture, whatever happens: a call that failed may have
// changed nothing, and the stream would then go on being captured.
func (m *Manager) endCapture() (spec.Graph, error) {
	graph, err := m.gpu.EndCapture(m.device, m.stream)
	if err == nil {
		return graph, nil
	}
	if status, failure := m.gpu.CaptureStatus(m.device, m.stream); failure != nil || status.State == spec.CaptureNone {
		return 0, errors.Join(err, failure)
	}
	graph, failure := m.gpu.EndCapture(m.device, m.stream)
	return graph, errors.Join(err, failure)
}

// discard destroys a graph and ends its hold on the pool.
func (m *Manager) discard(exec spec.GraphExec) error {
	return errors.Join(m.gpu.DestroyGraphExec(exec), m.allocator.ReleasePool(m.device, m.pool))
}

// wait makes one stream's later work wait for all that another has been given.
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

// malloc gives out memory with one holder, from wherever requests of the stream
// go.
func (m *Manager) malloc(stream spec.Stream, bytes uint64) (*Tensor, error) {
	p, err := m.allocator.Malloc(spec.Request{Device: m.device, Stream: stream, Bytes: bytes})
	if err != nil {
		return nil, err
	}
	s := &storage{manager: m, memory: spec.Range{Ptr: p, Bytes: bytes}}
	if p != 0 {
		s.own()
	}
	return &Tensor{storage: s.hold()}, nil
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
