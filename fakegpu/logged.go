package fakegpu

import (
	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// For whoever does again what a log says: tests/check. A log says what became of the
// calls, and where it says so; nothing here is a call of the driver.

// At says that the calls from here on are made by a host thread, and are in a line of a
// log. It does what SetThread does.
func (g *GPU) At(t spec.Thread, line int) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	g.line = line
	d := g.detect()
	d.order.SetThread(t)
	if d.order.PastsDue() {
		d.order.ForgetPasts(d.uses.oldest(d.order.Lanes()))
	}
}

// ExpectManyStreams prepares for a log in which many streams wait for each other. It must be
// called before anything else turns the detection of hazards on. Then calls of At say where
// nobody is looking at a hazard any more: clocks that were got from here before an At are good
// for work that is remembered, and that of the present call.
func (g *GPU) ExpectManyStreams() {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	g.detect().order.JoinLater()
}

// WithoutEffects says that work changes no memory: only its order is of interest.
func (g *GPU) WithoutEffects() {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	g.noEffects = true
}

// AddMapped makes memory of a device appear at a range of addresses, as by mapping pages
// of any size. Neighbouring ranges are one piece of memory. The range must be vacant and
// not empty.
func (g *GPU) AddMapped(dev spec.Device, r spec.Range) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	v, err := g.view(callMapPage, dev)
	if err != nil {
		return err
	}
	if r.Bytes == 0 || r.End() < r.Ptr || !g.space.vacant(r) {
		return driverInvalidValue.in(callMapPage, "%d bytes at %v are not vacant addresses", r.Bytes, r.Ptr)
	}
	a := g.space.mapped(r.Ptr-1, dev)
	if a == nil {
		a = &area{Range: spec.Range{Ptr: r.Ptr}, kind: areaMapped, device: dev, backing: &v.mapped}
		g.space.areas.Set(a.Ptr, a)
	}
	a.Bytes += r.Bytes
	if next := g.space.mapped(r.End(), dev); next != nil {
		a.Bytes += next.Bytes
		a.managed = a.managed || next.managed
		g.space.areas.Delete(next.Ptr)
	}
	return nil
}

// RemoveMapped takes memory of AddMapped away. All of the range must be there. What is
// around it stays.
func (g *GPU) RemoveMapped(r spec.Range) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	a := g.space.around(r.Ptr)
	if r.Bytes == 0 || r.End() < r.Ptr || a == nil || a.kind != areaMapped || !a.Contains(r) {
		return driverInvalidValue.in(callUnmapPage, "%d bytes at %v are not all mapped", r.Bytes, r.Ptr)
	}
	if g.detector != nil {
		g.detector.returned(callUnmapPage, r, 0)
	}
	if rest := uint64(a.End() - r.End()); rest > 0 {
		after := *a
		after.Range = spec.Range{Ptr: r.End(), Bytes: rest}
		g.space.areas.Set(after.Ptr, &after)
	}
	if a.Bytes = uint64(r.Ptr - a.Ptr); a.Bytes == 0 {
		g.space.areas.Delete(a.Ptr)
	}
	return nil
}

// mapped finds the memory of AddMapped of a device that an address is in, nil if there is
// none.
func (s *space) mapped(p spec.Ptr, dev spec.Device) *area {
	if a := s.around(p); a != nil && a.kind == areaMapped && a.device == dev {
		return a
	}
	return nil
}

// Reached is what comes before whatever the present thread submits to a stream next; the
// zero clock if there is no such stream.
func (g *GPU) Reached(dev spec.Device, handle spec.Stream) happensbefore.Clock {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	s, err := g.stream(sayAddStream, dev, handle)
	if err != nil {
		return happensbefore.Clock{}
	}
	d := g.detect()
	return d.order.Reached(d.lane(s))
}

// SeeStream says that the present thread has seen everything in a stream complete, as by
// a query that says so.
func (g *GPU) SeeStream(dev spec.Device, handle spec.Stream) { g.See(g.Reached(dev, handle)) }

// ReportRaces does what Config.Races does, from here on.
func (g *GPU) ReportRaces() {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	g.detect().races = true
}

// HazardCount is how many hazards there are in Hazards.
func (g *GPU) HazardCount() int {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	return len(g.detect().found)
}

// WaitStream makes a stream wait for all that another one has been given, as by an event.
// It does nothing, and says so, if one of the two is being captured.
func (g *GPU) WaitStream(dev spec.Device, handle, awaited spec.Stream) (done bool, err error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	s, err := g.stream(callWaitEvent, dev, handle)
	if err != nil {
		return true, err
	}
	other, err := g.stream(callRecordEvent, dev, awaited)
	if err != nil {
		return true, err
	}
	if s.capture != nil || other.capture != nil {
		return false, nil
	}
	e := event{device: dev}
	if err := g.recordMark(&e, other); err != nil {
		return true, err
	}
	return true, g.waitMark(s, &e)
}
