package fakegpu

import (
	"fmt"
	"slices"
	"time"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// Streams. What is given to a stream gets a position in it: 1, 2, 3... A stream
// has done everything up to a position, and the rest waits in its queue, always:
//
//	len(queue) = given - done
//
// The queue of a stream that nothing holds is empty, because work completes at once, unless a
// Schedule chooses when. Three kinds of things can be in a queue: a gate, which the caller closed
// by Busy and opens by Drain; a wait for a position of another stream; and work.

// stream is a stream of one process.
type stream struct {
	// What every piece of work looks at comes first.
	device      spec.Device
	handle      spec.Stream // zero: the device's default stream
	given, done uint64
	capture     *capture            // nil unless the stream is being captured
	lane        *happensbefore.Lane // in the detector's order, nil until it is needed
	destroyed   bool                // has no handle any more, but still work
	// waits for the legacy default stream, and that for it (blocking.go)
	blocking bool

	id     uint64 // no other stream has it or had it
	queue  []item
	queued *queued
	stamps []stamp       // of events behind what waits in the queue
	clock  time.Duration // when what is done was over, for a schedule by time

	terminals []spec.GraphNode    // what the next node will depend on
	chain     *happensbefore.Lane // in the capture's order
}

// queued counts the items in the queues of a machine, those of them that wait for another
// stream, and those that are functions of the host.
type queued struct{ items, waits, functions int }

func (q *queued) add(i item, n int) {
	q.items += n
	if i.wait.stream != nil {
		q.waits += n
	}
	if i.work != nil && i.work.kind == workHost {
		q.functions += n
	}
}

// item is an entry of a queue. Exactly one of the first fields is set; a gate that was opened
// has none.
type item struct {
	gate bool  // closed
	wait mark  // for another stream
	work *work // to be done

	// For a schedule by time: when it was given, and when that was complete which it waits for.
	given time.Duration
	over  *time.Duration
	begun bool
	ends  time.Duration // if it has begun
}

// mark is a position in a stream. The zero mark is of no stream, and complete.
type mark struct {
	stream *stream
	at     uint64
}

func (m mark) complete() bool { return m.stream == nil || m.at <= m.stream.done }

// end is the position behind everything that was given to the stream.
func (s *stream) end() mark { return mark{s, s.given} }

func (s *stream) idle() bool { return s.given == s.done }

// push queues an item.
func (s *stream) push(i item) {
	s.given++
	s.queued.add(i, 1)
	s.queue = append(s.queue, i)
}

// String names the stream for people.
func (s *stream) String() string {
	if s.handle == 0 {
		return fmt.Sprintf("the default stream of device %d", s.device)
	}
	return fmt.Sprintf("stream %v", s.handle)
}

// advance does what can be done of the queue, and reports whether that was
// anything.
func (g *GPU) advance(s *stream) bool {
	before := s.done
	for s.runnable() {
		if w := s.take(); w != nil {
			g.run(w)
		} else {
			g.machine.clock += perWork
		}
		s.passed(g.machine.clock)
	}
	return s.done != before
}

// runnable reports whether nothing holds the head of the queue.
func (s *stream) runnable() bool {
	return len(s.queue) > 0 && !s.queue[0].gate && s.queue[0].wait.complete()
}

// take removes the head of the queue, and returns the work in it, if it has any.
func (s *stream) take() *work {
	next := s.queue[0]
	s.queue = s.queue[1:]
	s.queued.add(next, -1)
	s.done++
	return next.work
}

// advanceAll lets every stream advance until none can, unless that is for a schedule to
// decide. Streams take turns in order of creation.
func (g *GPU) advanceAll() {
	for moved := g.schedule == nil; moved; {
		moved = false
		for _, p := range g.all() {
			for _, s := range p.inOrder {
				moved = p.advance(s) || moved
			}
		}
	}
	kept := g.inOrder[:0]
	g.orphans = 0
	for _, s := range g.inOrder {
		switch {
		case !s.destroyed:
			kept = append(kept, s)
		case !s.idle():
			kept = append(kept, s)
			g.orphans++
		}
	}
	clear(g.inOrder[len(kept):])
	g.inOrder, g.destroyed = kept, 0
}

// CreateStream implements spec.Executor.
func (g *GPU) CreateStream(dev spec.Device) (spec.Stream, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callCreateStream); err != nil {
		return 0, err
	}
	if _, err := g.view(callCreateStream, dev); err != nil {
		return 0, err
	}
	handle := spec.Stream(g.newHandle())
	for g.streams[handle] != nil { // one that AddStream brought
		handle = spec.Stream(g.newHandle())
	}
	g.addStream(dev, handle)
	return handle, nil
}

// AddStream makes a stream with a given handle, as a replay of a recorded run
// needs it. The handle must be new and not zero, and the device must exist.
func (g *GPU) AddStream(dev spec.Device, handle spec.Stream) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if _, err := g.view(sayAddStream, dev); err != nil {
		return err
	}
	if handle == 0 || g.streams[handle] != nil {
		return cudaErrorInvalidResourceHandle.in(sayAddStream, "there is a stream %v already", handle)
	}
	g.addStream(dev, handle)
	return nil
}

func (g *GPU) addStream(dev spec.Device, handle spec.Stream) {
	g.created++
	s := &stream{
		device: dev, handle: handle, id: MaxDevices + g.created,
		blocking: g.machine.config.BlockingStreams, queued: &g.machine.queued,
	}
	g.streams[handle] = s
	g.inOrder = append(g.inOrder, s)
}

// stream finds a stream.
func (g *GPU) stream(c call, dev spec.Device, handle spec.Stream) (*stream, error) {
	v, err := g.view(c, dev)
	if err != nil {
		return nil, err
	}
	if handle == 0 {
		return v.stream, nil
	}
	s := g.streams[handle]
	switch {
	case s == nil:
		return nil, cudaErrorInvalidResourceHandle.in(c, "there is no stream %v", handle)
	case s.device != dev:
		return nil, cudaErrorInvalidResourceHandle.in(c, "stream %v is of device %d, not %d", handle, s.device, dev)
	}
	return s, nil
}

// DestroyStream implements spec.Executor. As on a real device the handle is gone
// at once, and work that is not complete stays until it is; Drain and DrainAll
// still reach it. A capture that the stream takes part in is invalidated, and is
// over if the stream began it.
func (g *GPU) DestroyStream(dev spec.Device, handle spec.Stream) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callDestroyStream); err != nil {
		return err
	}
	s, err := g.stream(callDestroyStream, dev, handle)
	if err != nil {
		return err
	}
	if handle == 0 {
		return cudaErrorInvalidResourceHandle.in(callDestroyStream, "the default stream cannot be destroyed")
	}
	if s.capture != nil {
		g.leaveCapture(s)
	}
	s.destroyed = true
	if s.lane != nil {
		g.detector.order.Retire(s.lane)
	}
	delete(g.streams, handle)
	if g.destroyed++; g.machine.queued.items > 0 || 2*g.destroyed > len(g.inOrder) {
		g.advanceAll()
	}
	return nil
}

// Busy closes a gate at the end of a stream: what is given to the stream from here
// on does not complete until Drain. Like AddStream and Drain it is not a call of
// the driver: it is not counted, and cannot be made to fail.
func (g *GPU) Busy(dev spec.Device, handle spec.Stream) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	s, err := g.stream(sayBusy, dev, handle)
	if err != nil {
		return err
	}
	if s.capture != nil {
		return cudaErrorStreamCaptureUnsupported.in(sayBusy, "%v is being captured and runs nothing that could be held", s)
	}
	g.gatherQueued(s) // a gate is no work: it puts nothing in order for the hazard detector
	s.push(item{gate: true})
	g.releaseQueued(s)
	return nil
}

// Drain opens the gates of a stream, so that everything in it completes. If it
// cannot, because it waits for another stream that is busy, the error wraps
// ErrEndlessWait; the gates are open all the same.
func (g *GPU) Drain(dev spec.Device, handle spec.Stream) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if _, err := g.view(sayDrain, dev); err != nil {
		return err
	}
	drained := g.openGates(dev, handle)
	if g.schedule != nil && drained != nil {
		g.force(drained.end())
	}
	if g.machine.queued.waits == 0 && g.schedule == nil && drained != nil && g.destroyed+g.orphans == 0 {
		g.advance(drained) // nothing else can
	} else {
		g.advanceAll()
	}
	switch {
	case drained == nil:
		return cudaErrorInvalidResourceHandle.in(sayDrain, "there is no stream %v", handle)
	case !drained.idle():
		return endless(sayDrain, drained.end(), "the gates are open, but")
	}
	return nil
}

// openGates opens the gates of the streams that have, or had, a handle. It returns the
// latest of them, nil if there is none.
func (g *GPU) openGates(dev spec.Device, handle spec.Stream) (latest *stream) {
	if s := g.streams[handle]; s != nil && g.destroyed+g.orphans == 0 && s.device == dev {
		s.openGates()
		return s
	}
	for _, s := range g.inOrder {
		if s.device == dev && s.handle == handle && !(s.destroyed && s.idle()) {
			s.openGates()
			latest = s
		}
	}
	return latest
}

// DrainAll opens all gates of all streams, so that everything completes.
func (g *GPU) DrainAll() {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	for _, s := range g.inOrder {
		s.openGates()
	}
	if g.schedule != nil {
		for dev := range g.devices {
			g.forceDevice(spec.Device(dev))
		}
	}
	g.advanceAll()
}

// Idle reports whether nothing is left to do in a stream. Like Busy it is not a call
// of the driver, and it orders nothing.
func (g *GPU) Idle(dev spec.Device, handle spec.Stream) bool {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	return !slices.ContainsFunc(g.inOrder, func(s *stream) bool {
		return s.device == dev && s.handle == handle && !s.idle()
	})
}

func (s *stream) openGates() {
	for i := range s.queue {
		s.queue[i].gate = false
	}
}
