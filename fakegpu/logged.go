package fakegpu

import (
	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// For whoever does again what a log says: tools/check. A log says what became of the
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

// WithoutEffects says that kernels, fills and copies change no memory, and are not in Violations:
// only their order is of interest. Functions of the host are called.
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

// A LoggedStream is a stream that need not be found again by its handle for each line. When it
// has been destroyed, it stands for whichever stream has its handle.
type LoggedStream struct{ stream *stream }

// LoggedStream finds the stream with a handle; 0 is the legacy default stream of the device. Its
// errors are those of Launch. What it returns with an error must not be used.
func (g *GPU) LoggedStream(dev spec.Device, handle spec.Stream) (LoggedStream, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	s, err := g.stream(sayAddStream, dev, handle)
	return LoggedStream{s}, err
}

// logged is the stream that a call of the driver is about.
func (g *GPU) logged(c call, l LoggedStream) (*stream, error) {
	if s := l.stream; !s.destroyed {
		return s, nil
	}
	return g.stream(c, l.stream.device, l.stream.handle)
}

// Reached is what comes before whatever the present thread submits to a stream next; the
// zero clock if the stream is gone.
func (g *GPU) Reached(on LoggedStream) happensbefore.Clock {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	return g.reached(on)
}

func (g *GPU) reached(on LoggedStream) happensbefore.Clock {
	s, err := g.logged(sayAddStream, on)
	if err != nil {
		return happensbefore.Clock{}
	}
	d := g.detect()
	return d.order.Reached(d.lane(s))
}

// SeeStream says that the present thread has seen everything in a stream complete, as by
// a query that says so.
func (g *GPU) SeeStream(s LoggedStream) { g.See(g.Reached(s)) }

// Allocated does what BeginLifetime does for memory that was allocated for a stream of the log, and
// tells what was Known and Reached before.
func (g *GPU) Allocated(l Lifetime, on LoggedStream) (known, reached happensbefore.Clock) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	known, reached = g.detect().order.Known(), g.reached(on)
	s, _ := g.logged(sayAddStream, on)
	l.Device, l.Stream = on.stream.device, on.stream.handle
	g.beginLifetime(l, s)
	return known, reached
}

// Freed does what EndLifetime does; it cannot be undone.
func (g *GPU) Freed(p spec.Ptr) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	g.detect().owners.byPtr.Delete(p)
}

// LaunchOn does what Launch does, on a stream of the log, whatever device and stream the launch
// names.
func (g *GPU) LaunchOn(on LoggedStream, l spec.Launch) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callLaunch); err != nil {
		return err
	}
	s, err := g.logged(callLaunch, on)
	if err != nil {
		return err
	}
	return g.giveKernel(s, l, nil)
}

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
	if g.detector == nil {
		return 0
	}
	return len(g.detector.found)
}

// WaitStream makes a stream wait for all that another one has been given, as by an event.
// It does nothing, and says so, if one of the two is being captured.
func (g *GPU) WaitStream(waiting, awaited LoggedStream) (done bool, err error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	s, err := g.logged(callWaitEvent, waiting)
	if err != nil {
		return true, err
	}
	other, err := g.logged(callRecordEvent, awaited)
	if err != nil {
		return true, err
	}
	if s.capture != nil || other.capture != nil {
		return false, nil
	}
	e := event{device: s.device}
	if err := g.recordMark(&e, other); err != nil {
		return true, err
	}
	return true, g.waitMark(s, &e)
}
