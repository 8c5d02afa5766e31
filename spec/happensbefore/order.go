// Package happensbefore decides which work on GPUs is certain to be over before other
// work begins. One piece of work comes before another one only if CUDA promises it,
// whatever the two happened to do in a run:
//
//	stream order     work submitted to a stream comes before what is submitted to the
//	                 same stream later (Submit)
//	events           what was in a stream when an event was recorded comes before
//	                 what is submitted to a stream after that stream was told to wait
//	                 for the event (Record, Wait). Recording the event again does not
//	                 change what an earlier wait waits for; an event that was never
//	                 recorded orders nothing
//	host threads     what a thread has waited for (a stream, an event, a device), or
//	                 has been told is complete, comes before what that thread submits
//	                 to any stream later (See, SynchronizeDevice)
//	graphs           within a graph, a node comes after the nodes that it depends on.
//	                 The nodes captured from one stream depend on each other in a row,
//	                 so a capture has a lane for each of its streams, as a device has
//
// and chains of these. Nothing here depends on when work runs.
//
// A stream is a lane: a sequence of work in order. Each lane has a clock of what comes
// before its next work, and each host thread one of what it has seen complete. To wait
// for something is to join its clock; an event is the copy of a lane's clock.
//
//	A: work 1, work 2                 B waits for nothing
//	B waits for A                     B waits for A up to 2
//	A: work 3                         B waits for A up to 2
package happensbefore

import "gaugeblock/spec"

// An Order is what lanes and host threads know of each other. It is not for use by
// several goroutines at once.
type Order struct {
	lanes   []*Lane
	reused  map[spec.Device]Clock // by device: what lanes came after whose numbers were reused
	threads []*thread
	current *thread // the caller of everything, until SetThread
}

// Lane is a sequence of work in order. When a lane is retired and nobody remembers
// work of it that may still run, its number serves another lane, which goes on
// counting where the first one stopped.
type Lane struct {
	number    int
	stream    spec.DeviceStream
	graph     bool  // see NewGraphLane
	clock     Clock // what comes before the next work, the lane's own work included
	retired   bool
	forgotten bool // retired, and nobody remembers work of it
}

// Stream is the one that the lane was made for.
func (l *Lane) Stream() spec.DeviceStream { return l.stream }

// Clock is what comes before the lane's next work, its own work included. It changes
// with the lane.
func (l *Lane) Clock() Clock { return l.clock }

// Last is the lane's latest work; its position is 0 if there is none.
func (l *Lane) Last() Epoch { return Epoch{l.number, l.clock.Of(l.number)} }

// Retire says that nothing more will be submitted to the lane.
func (l *Lane) Retire() { l.retired = true }

// thread is a host thread.
type thread struct {
	id   spec.Thread
	seen Clock // what it has seen complete
}

// Moment is when a piece of work was submitted. Its clock is that of the lane, and
// good until the lane changes.
type Moment struct {
	Epoch
	Clock Clock
}

// New is the order of a program that has done nothing, on thread 0.
func New() *Order {
	first := &thread{}
	return &Order{threads: []*thread{first}, current: first, reused: map[spec.Device]Clock{}}
}

// NewLane makes a lane for a stream.
func (o *Order) NewLane(s spec.DeviceStream) *Lane {
	for _, l := range o.lanes {
		if last := l.Last(); l.retired && (l.forgotten || o.SeenByAll(last)) {
			if !l.graph {
				c := o.reused[l.stream.Device]
				c.Join(l.clock)
				o.reused[l.stream.Device] = c
			}
			*l = Lane{number: l.number, stream: s}
			l.clock.Raise(last)
			return l
		}
	}
	l := &Lane{number: len(o.lanes), stream: s}
	o.lanes = append(o.lanes, l)
	return l
}

// NewGraphLane makes a lane for what is captured from a stream. A wait for the device
// does not cover what is submitted to it, since that does not run.
func (o *Order) NewGraphLane(s spec.DeviceStream) *Lane {
	l := o.NewLane(s)
	l.graph = true
	return l
}

// Lane is the one with a number.
func (o *Order) Lane(number int) *Lane { return o.lanes[number] }

// Lanes is how many numbers lanes have.
func (o *Order) Lanes() int { return len(o.lanes) }

// ForgetLanes says of which lanes, by number, work is still remembered. The others can
// be reused when they are retired.
func (o *Order) ForgetLanes(remembered []bool) {
	for _, l := range o.lanes {
		l.forgotten = l.retired && !remembered[l.number]
	}
}

// Submit gives a lane work: it comes after the lane's earlier work, what the lane waits
// for, and what the thread has seen complete.
func (o *Order) Submit(l *Lane) Moment {
	l.clock.Join(o.current.seen)
	e := l.clock.Tick(l.number)
	return Moment{e, l.clock}
}

// Record makes an event of what comes before the lane's next work.
func (o *Order) Record(event *Clock, l *Lane) {
	l.clock.Join(o.current.seen)
	event.Set(l.clock)
}

// Wait makes the lane's next work come after an event.
func (o *Order) Wait(l *Lane, event Clock) {
	l.clock.Join(o.current.seen)
	l.clock.Join(event)
}

// WaitDevice makes the lane's next work come after all on its device, what is in
// retired lanes included.
func (o *Order) WaitDevice(l *Lane) {
	l.clock.Join(o.current.seen)
	o.joinDevice(&l.clock, l.stream.Device)
}

// joinDevice adds to a clock all that is on a device.
func (o *Order) joinDevice(c *Clock, dev spec.Device) {
	c.Join(o.reused[dev])
	for _, l := range o.lanes {
		if l.stream.Device == dev && !l.graph {
			c.Join(l.clock)
		}
	}
}

// See says that the thread has seen complete what a clock covers.
func (o *Order) See(c Clock) { o.current.seen.Join(c) }

// SeeWork says that the thread has seen a piece of work complete.
func (o *Order) SeeWork(e Epoch) { o.current.seen.Raise(e) }

// SynchronizeDevice says that the thread has seen all on a device complete, what is in
// retired lanes included.
func (o *Order) SynchronizeDevice(dev spec.Device) { o.joinDevice(&o.current.seen, dev) }

// Seen reports whether the thread has seen the work complete.
func (o *Order) Seen(e Epoch) bool { return o.current.seen.Covers(e) }

// SeenByAll reports whether every thread has. Then everything that will ever be
// submitted to any lane comes after it.
func (o *Order) SeenByAll(e Epoch) bool {
	for _, t := range o.threads {
		if !t.seen.Covers(e) {
			return false
		}
	}
	return true
}

// Before reports whether the work comes before whatever the thread submits to the lane
// next.
func (o *Order) Before(e Epoch, l *Lane) bool { return l.clock.Covers(e) || o.Seen(e) }

// Thread is the host thread that makes the calls.
func (o *Order) Thread() spec.Thread { return o.current.id }

// SetThread says which host thread makes the calls from here on.
func (o *Order) SetThread(id spec.Thread) { o.current = o.thread(id) }

// OrderThreads says that what one thread has done comes before whatever another one
// does from here on.
func (o *Order) OrderThreads(before, after spec.Thread) {
	from, to := o.thread(before), o.thread(after)
	to.seen.Join(from.seen)
}

// thread finds a host thread. One that is new was started by the present one, and has
// seen what that one has.
func (o *Order) thread(id spec.Thread) *thread {
	for _, t := range o.threads {
		if t.id == id {
			return t
		}
	}
	t := &thread{id: id}
	t.seen.Set(o.current.seen)
	o.threads = append(o.threads, t)
	return t
}
