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
	Give   func() time.Duration // the host: to give a stream work, with all that a program does for it
	Call   time.Duration        // the host: any other call
	Memory time.Duration        // the host: to allocate memory of the driver, or to free it
	Page   time.Duration        // the host: the same for a page, with all that maps it
	Pin    time.Duration        // the host: to let devices reach a MiB of its memory
	// Copies is for how many copies from the host it waits before it allocates or frees memory of the driver, of those
	// that are under way or follow at once: the driver writes its tables by the engine that copies.
	Copies int
	// First is how long it takes the host to give the first work of some code, which is then loaded, beside Give, and
	// whether it waits for the device before.
	First func(name string, operations uint64) (takes time.Duration, waits bool)
	// Work is how long work takes that moves so many bytes and computes so many operations, and has the device's
	// multiprocessors for itself: a start, and then what takes so large a share of them, at most 1.
	Work func(bytes, operations uint64) (starts, computes time.Duration, share float64)
	Link uint64 // by how much slower bytes go to the host and from it than within a device, at least 1
	// On says what does work of a name.
	On func(name string) Engine
	// Behind, if it is given, is by which share of the time for which the host works other ranks fall behind meanwhile, from
	// a time on. They catch up while it waits. What is Beside has a part in each rank, and begins when the last of them has
	// given it.
	Behind func(from time.Duration) float64
}

// An Engine is what does work.
type Engine uint8

const (
	Multiprocessors Engine = iota // work shares them
	FromHost                      // copies, one after the other
	ToHost                        // the same
	Beside                        // what ranks do together, which is in nobody's way
)

// ByTime is a schedule by durations.
func ByTime(d Durations) Schedule {
	return &byTime{Durations: d, seen: map[codeOf]bool{}, busy: map[engineOf]*usage{}}
}

type byTime struct {
	Durations
	now    time.Duration // of the host
	behind time.Duration // by so much other ranks are
	seen   map[codeOf]bool
	busy   map[engineOf]*usage
}

// codeOf is code that is loaded as a whole: that of a number, or of a kernel alone.
type codeOf struct {
	code uint64
	name string
}

type engineOf struct {
	device spec.Device
	engine Engine
}

// Pick is for what has no time of its own: the nodes of a graph.
func (*byTime) Pick(int, bool) int { return 0 }

// called is what a call takes of the host's time.
func (b *byTime) called(g *GPU, c call) {
	switch c {
	case callLaunch, callFill, callCopy, callReadBack, callLaunchGraph:
		b.works(b.Give())
	case callMalloc, callFree:
		b.awaitCopies(g)
		b.works(b.Memory)
	case callCreatePage, callReleasePage:
		b.awaitCopies(g)
		b.works(b.Page)
	default:
		b.works(b.Call)
	}
}

// works lets the host work for some time, and other ranks fall behind.
func (b *byTime) works(d time.Duration) {
	if b.Behind != nil {
		b.behind = max(0, b.behind+time.Duration(b.Behind(b.now)*float64(d)))
	}
	b.now += d
}

// waits lets the host wait until a time, and other ranks catch up.
func (b *byTime) waits(until time.Duration) {
	if until > b.now {
		b.behind = max(0, b.behind-(until-b.now))
		b.now = until
	}
}

// awaitCopies lets the host wait for copies from the host.
func (b *byTime) awaitCopies(g *GPU) {
	for range b.Copies {
		b.pass(g)
		for at, u := range b.busy {
			if at.engine == FromHost {
				b.waits(u.last())
			}
		}
	}
}

// pinned is what it takes to let devices reach memory of the host.
func (b *byTime) pinned(bytes uint64) {
	b.works(time.Duration(float64(b.Pin) * float64(bytes) / float64(spec.MiB)))
}

// given is when work is given to a stream, by all that have a part in it. The first of its code takes longer.
func (b *byTime) given(g *GPU, w *work) time.Duration {
	code := codeOf{w.code, w.name}
	if w.code != 0 {
		code.name = ""
	}
	if !b.seen[code] && b.First != nil {
		takes, waits := b.First(w.name, w.operations)
		if waits {
			g.forceDevice(w.device)
		}
		b.works(takes)
	}
	b.seen[code] = true
	if b.engine(w) == Beside {
		return b.now + b.behind
	}
	return b.now
}

// engine is what does work.
func (b *byTime) engine(w *work) Engine {
	if b.On == nil {
		return Multiprocessors
	}
	return b.On(w.name)
}

// begin begins the next work of a stream. The nodes of a graph count like work that moves nothing.
func (b *byTime) begin(s *stream) {
	next := &s.queue[0]
	w, from := next.work, b.from(s)
	if w.kind == workGraph {
		starts, _, _ := b.Work(0, 0)
		next.begun, next.ends = true, from+time.Duration(len(w.exec.nodes))*starts
		return
	}
	bytes := w.moves
	for _, r := range append(w.reads[:len(w.reads):len(w.reads)], w.writes...) {
		bytes += r.Bytes
	}
	at := engineOf{s.device, b.engine(w)}
	if at.engine == FromHost || at.engine == ToHost {
		bytes *= max(1, b.Link)
	}
	starts, computes, share := b.Work(bytes, w.operations)
	switch at.engine {
	case Beside:
		next.begun, next.ends = true, from+starts+computes
		return
	case FromHost, ToHost:
		share = 1
	}
	if b.busy[at] == nil {
		b.busy[at] = &usage{}
	}
	next.begun, next.ends = true, b.busy[at].take(from+starts, computes, share)
}

// from is when the next work of a stream can begin.
func (b *byTime) from(s *stream) time.Duration {
	return max(s.clock, s.queue[0].given)
}

// next is the stream in which something happens first, of those that are ready, and when: its next work begins, or what
// has begun is over. What begins first has the device before what begins later, so that nothing changes when work is
// over that has begun.
func (b *byTime) next(ready []*stream) (first *stream, at time.Duration) {
	for _, s := range ready {
		t := s.queue[0].ends
		if !s.queue[0].begun {
			t = b.from(s)
		}
		if first == nil || t < at {
			first, at = s, t
		}
	}
	return first, at
}

// happen lets that happen.
func (b *byTime) happen(g *GPU, s *stream) {
	if !s.queue[0].begun {
		b.begin(s)
		return
	}
	s.clock = s.queue[0].ends
	g.run(s.take())
	s.passed(s.clock)
}

// pass does the work that is over by the host's clock.
func (b *byTime) pass(g *GPU) {
	for g.machine.queued.items > 0 {
		ready := g.ready()
		s, at := b.next(ready)
		if s == nil || at > b.now {
			return
		}
		b.happen(g, s)
	}
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
		s, _ := b.next(ready)
		b.happen(g, s)
	}
	if m.stream != nil {
		b.waits(m.stream.clock)
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
// by time. Kernels of one code, which has a number, are loaded together; one of the code 0 is loaded alone.
func (g *GPU) LaunchSized(l spec.Launch, bytes, operations, code uint64) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callLaunch); err != nil {
		return err
	}
	s, err := g.stream(callLaunch, l.Device, l.Stream)
	if err != nil {
		return err
	}
	g.devices[s.device].launches(l.Name, bytes)
	return g.give(callLaunch, s, work{
		kind: workKernel, name: l.Name, device: s.device, reader: s.device, writer: s.device, moves: bytes, operations: operations, code: code,
	})
}
