package fakegpu

import "gaugeblock/spec"

// What happens before what. A piece of work is certain to be over before another
// one begins only if CUDA promises it, whatever the two happened to do in a run:
//
//	stream order     what was given to a stream earlier comes before what is given
//	                 to it later
//	events           what was in a stream when an event was recorded comes before
//	                 whatever is given to a stream after that stream was told to
//	                 wait for the event; recording the event anew does not change
//	                 what a wait made earlier waits for, and an event that was never
//	                 recorded orders nothing
//	the host         what a host thread has waited for (a stream, an event, a
//	                 device), or has been told is complete (QueryEvent said true),
//	                 comes before whatever that thread gives to any stream later.
//	                 The answer false orders nothing
//	Free             waits for its device (cudaFree), so it does as a wait for it
//	graphs           a launch is one piece of its stream. Inside, a node comes after
//	                 the nodes that it depends on, and nothing else is promised. A
//	                 launch of an executable graph also comes after all earlier
//	                 launches of the same one, on whatever stream
//	default stream   with Config.BlockingStreams, see blocking.go; otherwise the
//	                 default stream is a stream like any other
//
// and chains of these. Each stream is a lane, and has a clock of what comes before
// the next work it is given; each host thread has a clock of what it has seen
// complete. Waiting for something is joining its clock.
//
// None of this depends on when work is done. A program that is wrong is found to be
// wrong in a run in which all went well.

// order is what a process's streams and host threads know of each other.
type order struct {
	lanes   []*lane
	threads []*thread
	current *thread // who makes the present call
}

// lane is a sequence of work in order, which is what a stream is. When a stream is
// gone and nobody remembers work of it, its lane serves another stream, which goes
// on counting where it had stopped.
type lane struct {
	number int
	device spec.Device
	given  uint64 // the position of the latest work
	behind clock  // what comes before the next, the lane's own work included
	gone   bool   // no stream has it
	unused bool   // and no work of it is remembered
}

// thread is a host thread.
type thread struct {
	id    spec.Thread
	knows clock
}

func newOrder() order {
	first := &thread{}
	return order{threads: []*thread{first}, current: first}
}

// lane is that of a stream, which gets it when it is first needed.
func (o *order) lane(s *stream) *lane {
	if s.lane == nil {
		s.lane = o.newLane(s.device)
	}
	return s.lane
}

func (o *order) newLane(dev spec.Device) *lane {
	for _, l := range o.lanes {
		if l.gone && (l.unused || o.known(l.number, l.given)) {
			*l = lane{number: l.number, device: dev, given: l.given}
			l.behind.raise(l.number, l.given)
			return l
		}
	}
	l := &lane{number: len(o.lanes), device: dev}
	o.lanes = append(o.lanes, l)
	return l
}

// known reports whether every thread knows a position. Then everything that will
// ever be given to any stream comes after it.
func (o *order) known(lane int, at uint64) bool {
	for _, t := range o.threads {
		if t.knows.of(lane) < at {
			return false
		}
	}
	return true
}

// submit is the lane of a stream that the present thread gives something to: it
// comes after what the thread has seen complete.
func (o *order) submit(s *stream) *lane {
	l := o.lane(s)
	l.behind.join(o.current.knows)
	return l
}

// give takes the next position of a stream for a piece of work.
func (o *order) give(s *stream) moment {
	l := o.submit(s)
	l.given++
	l.behind.raise(l.number, l.given)
	return moment{lane: l.number, at: l.given, clock: l.behind}
}

// record notes in a clock what comes before the end of a stream.
func (o *order) record(into *clock, s *stream) { into.set(o.submit(s).behind) }

// wait lets a stream's next work come after what a clock knows.
func (o *order) wait(s *stream, until clock) { o.submit(s).behind.join(until) }

// waitDevice lets a stream's next work come after all that is on its device, work
// of streams that are gone included.
func (o *order) waitDevice(s *stream) {
	for _, l := range o.lanes {
		if l.device == s.device {
			o.wait(s, l.behind)
		}
	}
}

// seen: the present thread knows now what a clock knows.
func (o *order) seen(c clock) { o.current.knows.join(c) }

// seenStream: the present thread knows that all in a stream is over.
func (o *order) seenStream(s *stream) { o.seen(o.lane(s).behind) }

// seenDevice: the present thread knows that all on a device is over, work of
// streams that are gone included.
func (o *order) seenDevice(dev spec.Device) {
	for _, l := range o.lanes {
		if l.device == dev {
			o.seen(l.behind)
		}
	}
}

// thread finds a host thread. One that is new has been started by the present
// one, and knows what that one knows.
func (o *order) thread(id spec.Thread) *thread {
	for _, t := range o.threads {
		if t.id == id {
			return t
		}
	}
	t := &thread{id: id}
	t.knows.set(o.current.knows)
	o.threads = append(o.threads, t)
	return t
}

// moment is when a piece of work is given to a stream: its epoch, and what comes
// before it. The clock is good until something else is done.
type moment struct {
	lane  int
	at    uint64
	clock clock
	node  *node // of a graph
}

// after reports whether an earlier access is certain to be over at the moment.
// Within one launch of a graph the graph decides; a piece of work other than a
// graph is in order with itself.
func (m *moment) after(f *footprint) bool {
	if f.lane == m.lane && f.at == m.at && m.node != nil {
		return m.node.comesAfter(f.node)
	}
	return m.clock.of(f.lane) >= f.at
}
