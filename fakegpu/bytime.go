package fakegpu

import (
	"time"

	"gaugeblock/spec"
)

// A schedule by time. The host has a clock, which each call of the driver moves on; a stream has one as
// well, and a piece of work in it begins when the host has given it and all that it waits for is over.
// Work that is over by the host's clock is done. When the host waits, its clock goes on to the end of what
// it waits for. Equal runs have equal times.

// Durations says how long things take.
type Durations struct {
	Give   time.Duration // the host: to give a stream work, with all that a program does for it
	Call   time.Duration // the host: any other call
	Memory time.Duration // the host: to allocate memory of the driver, or to free it
	First  time.Duration // the host: to give the first work of a name, which loads its code
	// Work is how long work takes that moves so many bytes and computes so many operations.
	Work func(bytes, operations uint64) time.Duration
	// Late, if it is given, is by how much work of a name begins late, which is the nth that is given.
	Late func(name string, n uint64) time.Duration
}

// ByTime is a schedule by durations.
func ByTime(d Durations) Schedule { return &byTime{Durations: d, seen: map[string]bool{}} }

type byTime struct {
	Durations
	now   time.Duration // of the host
	seen  map[string]bool
	works uint64 // given so far
}

// Pick is for what has no time of its own: the nodes of a graph.
func (*byTime) Pick(int, bool) int { return 0 }

// called is what a call takes of the host's time.
func (b *byTime) called(c call) {
	switch c {
	case callLaunch, callFill, callCopy, callReadBack, callLaunchGraph:
		b.now += b.Give
	case callMalloc, callFree, callCreatePage, callReleasePage, callMapPage, callUnmapPage:
		b.now += b.Memory
	default:
		b.now += b.Call
	}
}

// given is when an item is given to a stream. The first work of a name takes longer.
func (b *byTime) given(w *work) time.Duration {
	if w != nil && !b.seen[w.name] {
		b.seen[w.name] = true
		b.now += b.First
	}
	return b.now
}

// late is by how much work begins late that is given now.
func (b *byTime) late(w *work) time.Duration {
	b.works++
	if b.Late == nil {
		return 0
	}
	return b.Late(w.name, b.works)
}

// takes is how long work takes. The nodes of a graph count like work that moves nothing.
func (b *byTime) takes(w *work) time.Duration {
	if w.kind == workGraph {
		return time.Duration(len(w.exec.nodes)) * b.Work(0, 0)
	}
	bytes := w.moves
	for _, r := range append(w.reads[:len(w.reads):len(w.reads)], w.writes...) {
		bytes += r.Bytes
	}
	return b.Work(bytes, w.operations)
}

// end is when the next work of a stream is over.
func (b *byTime) end(s *stream) time.Duration {
	next := s.queue[0]
	return max(s.clock, next.given) + next.late + b.takes(next.work)
}

// earliest is the stream whose next work is over first, of those that are ready.
func (b *byTime) earliest(ready []*stream) *stream {
	first := ready[0]
	for _, s := range ready[1:] {
		if b.end(s) < b.end(first) {
			first = s
		}
	}
	return first
}

// pass does the work that is over by the host's clock.
func (b *byTime) pass(g *GPU) {
	for g.machine.queued.items > 0 {
		ready := g.ready()
		if len(ready) == 0 {
			return
		}
		s := b.earliest(ready)
		if b.end(s) > b.now {
			return
		}
		b.step(g, s)
	}
}

func (b *byTime) step(g *GPU, s *stream) {
	s.clock = b.end(s)
	g.run(s.take())
	s.passed(s.clock)
}

// force does work until a mark is complete, or cannot be, and has the host wait until then.
func (b *byTime) force(g *GPU, m mark) {
	for !m.complete() {
		ready := g.ready()
		if m.complete() {
			break
		}
		if len(ready) == 0 || m.needed() == nil {
			return
		}
		b.step(g, b.earliest(ready))
	}
	if m.stream != nil {
		b.now = max(b.now, m.stream.clock)
	}
}

// EventSeen reports whether what an event marks is over, for somebody who looks beside the program: the host's clock
// stands still. In a schedule by time they look once in each period of that clock, and see what was over by then for some
// time.
func (g *GPU) EventSeen(handle spec.EventHandle, period, since time.Duration) bool {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	e, is := g.events[handle]
	if !is || e.capture != nil || !e.mark.complete() {
		return false
	}
	b, is := g.schedule.(*byTime)
	return !is || e.time == nil || *e.time+since <= b.now-b.now%period
}

// LaunchSized is Launch of a kernel that moves so many bytes and computes so many operations, for a schedule
// by time.
func (g *GPU) LaunchSized(l spec.Launch, bytes, operations uint64) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callLaunch); err != nil {
		return err
	}
	s, err := g.stream(callLaunch, l.Device, l.Stream)
	if err != nil {
		return err
	}
	if listener, is := g.devices[s.device].addresses.(launchListener); is {
		listener.launched(l.Name)
	}
	return g.give(callLaunch, s, work{
		kind: workKernel, name: l.Name, device: s.device, reader: s.device, writer: s.device, moves: bytes, operations: operations,
	})
}
