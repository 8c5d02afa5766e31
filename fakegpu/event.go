package fakegpu

import (
	"fmt"
	"time"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// event is a point in a stream's work. It has been recorded in a stream that runs
// (mark), in one that was being captured (capture), or not at all (neither).
type event struct {
	device  spec.Device
	mark    mark
	capture *capture
	nodes   []spec.GraphNode    // what a stream that waits for it depends on
	before  happensbefore.Clock // what it comes after: in the capture, or for the detector

	timed    bool
	time     *time.Duration // of the latest record, if it is timed or the schedule is: see event_time.go
	recorder *GPU           // who recorded it last
	opened   map[*GPU]bool  // by these processes, whose own it is not
}

// CreateEvent implements spec.Driver.
func (g *GPU) CreateEvent(dev spec.Device) (spec.EventHandle, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	return g.createEvent(dev, false)
}

func (g *GPU) createEvent(dev spec.Device, timed bool) (spec.EventHandle, error) {
	if err := g.enter(callCreateEvent); err != nil {
		return 0, err
	}
	if _, err := g.view(callCreateEvent, dev); err != nil {
		return 0, err
	}
	handle := spec.EventHandle(g.newHandle())
	g.events[handle] = &event{device: dev, timed: timed}
	return handle, nil
}

// event finds an event.
func (g *GPU) event(c call, handle spec.EventHandle) (*event, error) {
	if e := g.events[handle]; e != nil {
		return e, nil
	}
	return nil, cudaErrorInvalidResourceHandle.in(c, "there is no event %#x", uint64(handle))
}

// DestroyEvent implements spec.Driver. Streams that wait for the event go on
// waiting for what it marked.
func (g *GPU) DestroyEvent(handle spec.EventHandle) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callDestroyEvent); err != nil {
		return err
	}
	if _, err := g.event(callDestroyEvent, handle); err != nil {
		return err
	}
	delete(g.events, handle)
	return nil
}

// RecordEvent implements spec.Driver. In a stream that is being captured it notes
// what the stream's next node would depend on; it makes no node. The event must
// be of the stream's device (cudaErrorInvalidResourceHandle otherwise).
func (g *GPU) RecordEvent(ev spec.EventHandle, dev spec.Device, handle spec.Stream) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callRecordEvent); err != nil {
		return err
	}
	s, err := g.stream(callRecordEvent, dev, handle)
	if err != nil {
		return err
	}
	e, err := g.event(callRecordEvent, ev)
	if err != nil {
		return err
	}
	if e.device != dev {
		return cudaErrorInvalidResourceHandle.in(callRecordEvent, "event %#x is of device %d, %v of device %d", uint64(ev), e.device, s, dev)
	}
	if s.capture == nil {
		return g.recordMark(e, s)
	}
	if err := s.capture.usable(callRecordEvent); err != nil {
		return err
	}
	e.mark, e.capture = mark{}, s.capture
	s.capture.order.Record(&e.before, s.chain)
	e.nodes = append([]spec.GraphNode(nil), s.terminals...)
	return nil
}

// recordMark records an event in a stream that runs.
func (g *GPU) recordMark(e *event, s *stream) error {
	if err := g.barred(callRecordEvent, s); err != nil {
		return err
	}
	g.gatherBlocking(s)
	e.mark, e.capture, e.nodes, e.recorder = s.end(), nil, nil, g
	if _, is := g.schedule.(*byTime); is || e.timed {
		g.timeEvent(e)
	}
	if g.detector != nil {
		g.detector.order.Record(&e.before, g.detector.lane(s))
	}
	g.releaseBlocking(s)
	return nil
}

// QueryEvent implements spec.Driver.
func (g *GPU) QueryEvent(handle spec.EventHandle) (complete bool, err error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	return g.queryEvent(handle)
}

func (g *GPU) queryEvent(handle spec.EventHandle) (complete bool, err error) {
	if err := g.enter(callQueryEvent); err != nil {
		return false, err
	}
	e, err := g.askable(callQueryEvent, handle)
	if err != nil {
		return false, err
	}
	if complete = e.mark.complete(); !complete && g.polled() {
		complete = g.await(callQueryEvent, e.mark, "the event") == nil
	}
	if complete && g.detector != nil && e.follows(g) {
		g.detector.order.See(e.before)
	}
	return complete, nil
}

// SynchronizeEvent implements spec.Driver.
func (g *GPU) SynchronizeEvent(handle spec.EventHandle) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callSynchronizeEvent); err != nil {
		return err
	}
	e, err := g.askable(callSynchronizeEvent, handle)
	if err != nil {
		return err
	}
	if !e.mark.complete() {
		if err := g.await(callSynchronizeEvent, e.mark, fmt.Sprintf("event %#x", uint64(handle))); err != nil {
			return err
		}
	}
	if g.detector != nil && e.follows(g) {
		g.detector.order.See(e.before)
	}
	return nil
}

// askable finds an event whose progress may be asked for. The progress of one
// that was recorded in a capture may not, and asking spoils the capture; after the
// capture the event cannot be used until it is recorded anew. Under a capture
// that is not relaxed, no event may be asked.
func (g *GPU) askable(c call, handle spec.EventHandle) (*event, error) {
	e, err := g.event(c, handle)
	switch {
	case err != nil:
		return nil, err
	case e.capture == nil:
		return e, g.forbid(c, cudaErrorStreamCaptureUnsupported)
	case e.capture.over || e.capture.spoiled != "":
		return nil, cudaErrorInvalidValue.in(c, "event %#x was recorded in a capture that yields nothing more", uint64(handle))
	}
	return nil, e.capture.spoil(c, cudaErrorCapturedEvent, "event %#x was recorded in a capture", uint64(handle))
}

// WaitEvent implements spec.Executor. Across a capture's border:
//
//	the stream runs, the event is captured    the stream joins the capture
//	both belong to the same capture           the stream depends on the event's nodes as well
//	they belong to two captures               error, both captures are invalidated
//	the stream is captured, the event is not  error, the capture is invalidated
func (g *GPU) WaitEvent(dev spec.Device, handle spec.Stream, ev spec.EventHandle) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callWaitEvent); err != nil {
		return err
	}
	s, err := g.stream(callWaitEvent, dev, handle)
	if err != nil {
		return err
	}
	e, err := g.event(callWaitEvent, ev)
	if err != nil {
		return err
	}
	if s.capture != nil {
		if err := s.capture.usable(callWaitEvent); err != nil {
			return err
		}
	}
	switch {
	case e.capture != nil:
		return g.waitCaptured(s, e)
	case e.mark.stream == nil: // never recorded
		return nil
	case s.capture != nil:
		return s.capture.spoil(callWaitEvent, cudaErrorStreamCaptureIsolation, "%v is being captured and event %#x is outside", s, uint64(ev))
	}
	return g.waitMark(s, e)
}

// waitMark makes a stream that runs wait for an event that was recorded in one that
// ran.
func (g *GPU) waitMark(s *stream, e *event) error {
	if err := g.barred(callWaitEvent, s); err != nil {
		return err
	}
	g.gatherBlocking(s)
	if !e.mark.complete() {
		i := item{wait: e.mark}
		if b, is := g.schedule.(*byTime); is {
			i.given, i.over = b.now, e.time
		}
		s.push(i)
	}
	if g.detector != nil && e.follows(g) {
		g.detector.order.Wait(g.detector.lane(s), e.before)
	}
	g.releaseBlocking(s)
	return nil
}
