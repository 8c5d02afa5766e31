package fakegpu

import (
	"time"

	"gaugeblock/spec"
)

// Times of events. The machine has a clock that only work moves: each piece of work takes a
// microsecond, and a nanosecond for every thousand bytes that it reads or writes, one after the
// other, whatever the streams; a gate that is opened has taken a microsecond, too. So equal runs
// have equal times. An event has the time at which all before it in its stream was done.

const (
	perWork      = time.Microsecond
	bytesPerTick = 1000 // in a nanosecond
)

// duration is how long work takes.
func (w *work) duration() time.Duration {
	bytes := uint64(0)
	for _, ranges := range [][]spec.Range{w.reads, w.writes} {
		for _, r := range ranges {
			bytes += r.Bytes
		}
	}
	return perWork + time.Duration(bytes/bytesPerTick)
}

// stamp is an event's time, to be told when a stream has come to a position.
type stamp struct {
	at   uint64
	time *time.Duration
}

// timeEvent makes an event take the time at which its mark will be complete.
func (g *GPU) timeEvent(e *event) {
	e.time = new(time.Duration)
	if e.mark.complete() {
		*e.time = g.machine.clock
		if _, is := g.schedule.(*byTime); is {
			*e.time = e.mark.stream.clock
		}
		return
	}
	s := e.mark.stream
	s.stamps = append(s.stamps, stamp{e.mark.at, e.time})
}

// passed tells the events of a stream that has done something their times.
func (s *stream) passed(now time.Duration) {
	for len(s.stamps) > 0 && s.stamps[0].at <= s.done {
		*s.stamps[0].time = now
		s.stamps = s.stamps[1:]
	}
}

// CreateTimedEvent is CreateEvent for an event that has a time (cudaEventCreate).
func (g *GPU) CreateTimedEvent(dev spec.Device) (spec.EventHandle, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	return g.createEvent(dev, true)
}

// ElapsedTime is the time from one event to another of the same device (cudaEventElapsedTime).
// Which error comes first was measured on an H200.
func (g *GPU) ElapsedTime(from, to spec.EventHandle) (time.Duration, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callQueryEvent); err != nil {
		return 0, err
	}
	var both [2]*event
	for i, handle := range []spec.EventHandle{from, to} {
		e, err := g.event(callQueryEvent, handle)
		if err != nil {
			return 0, err
		}
		both[i] = e
	}
	if both[0].device != both[1].device {
		return 0, cudaErrorInvalidResourceHandle.in(callQueryEvent, "the events are of devices %d and %d", both[0].device, both[1].device)
	}
	for _, e := range both {
		switch {
		case e.capture != nil && (e.capture.over || e.capture.spoiled != ""):
			return 0, cudaErrorInvalidValue.in(callQueryEvent, "an event was recorded in a capture that yields nothing more")
		case e.capture != nil:
			return 0, cudaErrorCapturedEvent.in(callQueryEvent, "an event was recorded in a capture")
		case !e.timed || e.mark.stream == nil:
			return 0, cudaErrorInvalidResourceHandle.in(callQueryEvent, "an event has no time, or was never recorded")
		}
	}
	for _, e := range both {
		if !e.mark.complete() {
			return 0, cudaErrorNotReady.in(callQueryEvent, "an event is not complete")
		}
	}
	return *both[1].time - *both[0].time, nil
}
