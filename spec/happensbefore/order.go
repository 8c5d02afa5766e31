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
//	                 to any stream later (See, SynchronizeDevice), and before what it
//	                 does to memory itself (SubmitHost). Another thread has to be told
//	default stream   what is in the blocking streams of a device comes before what is
//	                 submitted to its legacy default stream, and that before what is
//	                 submitted to blocking streams later (GatherBlocking, ReleaseBlocking)
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

import (
	"slices"

	"gaugeblock/spec"
)

// An Order is what lanes and host threads know of each other. It is not for use by
// several goroutines at once. No call takes longer because there are many lanes, except
// for what the clocks that it joins have more of. With JoinLater, waits take no longer for
// that either.
type Order struct {
	lanes   []*Lane // by number; of several with one number the latest
	retired []*Lane // that may be reused
	devices map[spec.Device]*device
	threads []*thread
	byID    map[spec.Thread]*thread // the same
	current *thread                 // the caller of everything, until SetThread

	strangers bool   // see ExpectStrangers
	versions  uint64 // of what threads have seen, so far

	// Where clocks are joined later (past.go):
	nothing  *past    // what a new lane has heard of; nil: clocks are joined at once
	young    []*past  // in the order in which they were made
	keep     int      // how many of them are
	latest   Position // of the work of all lanes
	searches uint64
	credit   int     // steps that searches may take beyond the usual
	todo     []*past // room for those that a search is to look at
}

// device is what the lanes of a device have in common. Lanes of graphs are not among
// them.
type device struct {
	all, blocking gathering
	legacy        Clock // what comes before the blocking lanes' next work
	released      int   // how often legacy has changed
}

// gathering is what comes after some lanes, each of which may have changed since the
// last look.
type gathering struct {
	clock   Clock
	changed []*Lane
}

// gather is the clock of what comes after all of the lanes.
func (g *gathering) gather(flag func(*Lane) *bool) Clock {
	for _, l := range g.changed {
		g.clock.Join(l.clock)
		*flag(l) = false
	}
	clear(g.changed)
	g.changed = g.changed[:0]
	return g.clock
}

// Lane is a sequence of work in order. When a lane is retired and nobody remembers
// work of it that may still run, its number serves another lane, which goes on
// counting where the first one stopped.
type Lane struct {
	// What every wait and every piece of work looks at comes first, in 64 bytes: with many thousand
	// lanes that is one look at memory far away.
	// what comes before the next work, the lane's own work included; its own moment has the number
	clock             Clock
	heard             uint64 // the version of what a thread had seen when that was last joined
	blocking          bool   // see SetBlocking
	inAll, inBlocking bool   // among the changed ones of the device
	retired           bool
	forgotten         bool // retired, and nobody remembers work of it
	reused            bool // retired, and its number serves another lane

	number   int
	stream   spec.DeviceStream
	device   *device  // nil: a lane of a graph, or of a host thread
	released int      // see catchUp
	born     stamp    // what the number had come to before
	_        [16]byte // so that Go puts lanes at multiples of 128
}

// Stream is the one that the lane was made for.
func (l *Lane) Stream() spec.DeviceStream { return l.stream }

// Clock is what comes before the lane's next work, its own work included.
func (l *Lane) Clock() Clock {
	l.catchUp()
	return l.clock.kept()
}

// catchUp makes a blocking lane come after what was released to all of its kind.
func (l *Lane) catchUp() {
	if l.blocking && l.released != l.device.released {
		l.hear(l.device.legacy)
		l.released = l.device.released
	}
}

// hear makes the lane's next work come after all that a clock covers. Where clocks are joined
// later, the lane has another stamp from then on: a stamp tells what the lane has heard of.
func (l *Lane) hear(c Clock) {
	before := l.clock
	l.clock.Join(c)
	if l.clock.later == before.later {
		return
	}
	l.clock.partial = before.partial || c.partial || before.own.stamp.last()
	if !before.own.stamp.last() {
		l.clock.own.stamp++
	}
}

// freeze makes a version of the clock, which others join: its tree says so, and they share it.
func (l *Lane) freeze() Clock {
	c := &l.clock
	switch {
	case c.later != nil: // its moment tells what it has heard of
	// nothing has changed since
	case c.tree != nil && c.tree.of == l && c.tree.version == c.own.stamp:
	case c.own.stamp.last(): // a further version could not be told from this one
		c.tree = c.covering()
	default:
		c.own.stamp++
		c.tree = c.covering()
		c.tree.of, c.tree.version = l, c.own.stamp
	}
	return c.kept()
}

// Last is the lane's latest work; its position is 0 if there is none.
func (l *Lane) Last() Epoch { return Epoch{l.number, l.clock.stamp(l.number).position()} }

// thread is a host thread.
type thread struct {
	id     spec.Thread
	ended  bool
	seen   Clock  // what it has seen complete
	seeing uint64 // the version of that; 0: nothing
	// of what it does itself, nil before the first; where clocks are joined later, of what it has
	// seen as well
	lane *Lane
	at   int // where it is in Order.threads
}

// Moment is when a piece of work was submitted. Its clock is that of the lane.
type Moment struct {
	Epoch
	Clock Clock
}

// New is the order of a program that has done nothing, on thread 0.
func New() *Order {
	first := &thread{}
	return &Order{
		threads: []*thread{first}, byID: map[spec.Thread]*thread{0: first}, current: first,
		devices: map[spec.Device]*device{},
	}
}

// NewLane makes a lane for a stream.
func (o *Order) NewLane(s spec.DeviceStream) *Lane {
	l := o.newLane(s)
	l.device = o.devices[s.Device]
	if l.device == nil {
		l.device = &device{}
		o.devices[s.Device] = l.device
	}
	return l
}

// NewGraphLane makes a lane for what is captured from a stream. A wait for the device
// does not cover what is submitted to it, since that does not run.
func (o *Order) NewGraphLane(s spec.DeviceStream) *Lane { return o.newLane(s) }

func (o *Order) newLane(s spec.DeviceStream) *Lane {
	if old := o.reusable(); old != nil {
		old.reused = true
		l := &Lane{number: old.number, stream: s, born: old.clock.stamp(old.number)}
		l.clock.own, l.clock.later = moment{l.number, l.born}, o.nothing
		o.lanes[l.number] = l
		return l
	}
	l := &Lane{number: len(o.lanes), stream: s}
	l.clock.own.lane, l.clock.later = l.number, o.nothing
	o.lanes = append(o.lanes, l)
	return l
}

// patience is how many retired lanes are looked at when a new one is made. The next
// time it is the turn of others.
const patience = 4

// reusable takes a retired lane of which no work is remembered, nil if none was found.
func (o *Order) reusable() *Lane {
	for range min(patience, len(o.retired)) {
		l := o.retired[0]
		o.retired = o.retired[1:]
		if l.forgotten || o.SeenByAll(l.Last()) {
			return l
		}
		o.retired = append(o.retired, l)
	}
	return nil
}

// Retire says that nothing more will be submitted to a lane.
func (o *Order) Retire(l *Lane) {
	if !l.retired {
		l.retired = true
		o.retired = append(o.retired, l)
	}
}

// SetBlocking says that the lane is a blocking one: its stream was not created with
// cudaStreamNonBlocking.
func (o *Order) SetBlocking(l *Lane) {
	l.blocking = true
	o.changed(l)
}

// Lane is the latest one with a number.
func (o *Order) Lane(number int) *Lane { return o.lanes[number] }

// Lanes is how many numbers lanes have.
func (o *Order) Lanes() int { return len(o.lanes) }

// ForgetLanes says of which lanes, by number, work is still remembered. The others can
// be reused when they are retired.
func (o *Order) ForgetLanes(remembered []bool) {
	for _, l := range o.retired {
		l.forgotten = !remembered[l.number]
	}
	slices.SortStableFunc(o.retired, func(a, b *Lane) int { // the forgotten ones first
		switch {
		case a.forgotten == b.forgotten:
			return 0
		case a.forgotten:
			return -1
		}
		return 1
	})
}

// prepare lets a lane hear what the thread has seen, and what its device has released.
func (o *Order) prepare(l *Lane) {
	l.catchUp()
	if l.heard != o.current.seeing {
		l.hear(o.current.seen)
		l.heard = o.current.seeing
	}
	o.changed(l)
}

// changed: what comes before a lane's next work has changed, or is going to.
func (o *Order) changed(l *Lane) {
	if l.inAll && (l.inBlocking || !l.blocking) {
		return
	}
	d := l.device
	if d == nil {
		return
	}
	// Retired ones, for the most part. The lane itself comes after that, as it may be going to change.
	if len(d.all.changed) > 2*len(o.lanes) {
		d.gatherAll()
		d.gatherBlocking()
	}
	if !l.inAll {
		l.inAll = true
		d.all.changed = append(d.all.changed, l)
	}
	if l.blocking && !l.inBlocking {
		l.inBlocking = true
		d.blocking.changed = append(d.blocking.changed, l)
	}
}

func (d *device) gatherAll() Clock { return d.all.gather(func(l *Lane) *bool { return &l.inAll }) }

func (d *device) gatherBlocking() Clock {
	return d.blocking.gather(func(l *Lane) *bool { return &l.inBlocking })
}

// Submit gives a lane work: it comes after the lane's earlier work, what the lane waits
// for, and what the thread has seen complete.
func (o *Order) Submit(l *Lane) Moment {
	o.prepare(l)
	e := o.tick(l)
	return Moment{e, l.clock.kept()}
}

// tick is the epoch of a lane's next work.
func (o *Order) tick(l *Lane) Epoch {
	if o.nothing == nil {
		return l.clock.Tick(l.number)
	}
	o.latest++
	l.clock.own.stamp = stampOf(o.latest)
	return Epoch{l.clock.own.lane, o.latest}
}

// SubmitHost is what the thread does itself, such as writing memory that the device
// reads as well. It comes after what the thread has seen complete, and before whatever
// the thread does or submits later.
func (o *Order) SubmitHost() Moment {
	t := o.current
	if t.lane == nil {
		t.lane = o.newLane(spec.DeviceStream{})
	}
	if o.nothing != nil {
		e := o.tick(t.lane)
		o.nowSeen(t, t.lane.clock)
		return Moment{e, t.seen}
	}
	t.lane.clock.Join(t.seen)
	e := t.lane.clock.Tick(t.lane.number)
	seen := t.seen
	seen.raise(t.lane.clock.own)
	o.nowSeen(t, seen)
	return Moment{e, t.lane.clock.kept()}
}

// Reached is what comes before whatever the thread submits to the lane next. To ask
// changes nothing.
func (o *Order) Reached(l *Lane) Clock {
	reached := l.Clock()
	reached.Join(o.current.seen)
	return reached.kept()
}

// Record makes an event of what comes before the lane's next work.
func (o *Order) Record(event *Clock, l *Lane) {
	o.prepare(l)
	event.Set(l.freeze())
}

// Wait makes the lane's next work come after an event.
func (o *Order) Wait(l *Lane, event Clock) {
	o.prepare(l)
	l.hear(event)
}

// WaitDevice makes the lane's next work come after all on its device, what is in
// retired lanes included.
func (o *Order) WaitDevice(l *Lane) {
	o.prepare(l)
	l.hear(o.onDevice(l.stream.Device))
}

// onDevice is the clock of what comes after all on a device.
func (o *Order) onDevice(dev spec.Device) Clock {
	d := o.devices[dev]
	if d == nil {
		return Clock{}
	}
	all := d.gatherAll()
	if d.released > 0 {
		all.Join(d.legacy)
	}
	return all
}

// GatherBlocking makes the next work of a lane, that of the legacy default stream, come
// after all in the blocking lanes of its device.
func (o *Order) GatherBlocking(l *Lane) {
	o.prepare(l)
	l.hear(l.device.gatherBlocking())
	l.hear(l.device.legacy)
}

// ReleaseBlocking makes the next work of the blocking lanes of the lane's device come
// after what is in the lane.
func (o *Order) ReleaseBlocking(l *Lane) {
	d := l.device
	before := d.legacy
	if d.legacy.Join(l.freeze()); d.legacy != before {
		d.released++
	}
}

// See says that the thread has seen complete what a clock covers.
func (o *Order) See(c Clock) { o.see(o.current, c) }

func (o *Order) see(t *thread, c Clock) {
	seen := t.seen
	if o.nothing == nil {
		seen.Join(c)
	} else {
		t.lane.hear(c)
		seen = t.lane.clock
	}
	o.nowSeen(t, seen)
}

// nowSeen sets what a thread has seen. Every change has a version of its own, so that lanes can
// tell whether they have heard of it.
func (o *Order) nowSeen(t *thread, seen Clock) {
	if t.seen != seen {
		o.versions++
		t.seen, t.seeing = seen, o.versions
	}
}

// SeeWork says that the thread has seen a piece of work complete.
func (o *Order) SeeWork(e Epoch) {
	t := o.current
	seen := t.seen
	if o.nothing == nil {
		seen.Raise(e)
	} else {
		t.lane.clock.Raise(e)
		seen = t.lane.clock
	}
	o.nowSeen(t, seen)
}

// SynchronizeDevice says that the thread has seen all on a device complete, what is in
// retired lanes included.
func (o *Order) SynchronizeDevice(dev spec.Device) { o.See(o.onDevice(dev)) }

// Known is what the thread has seen complete.
func (o *Order) Known() Clock {
	seen := o.current.seen
	if seen.later == o.nothing && seen.own.stamp == 0 && seen.tree == nil {
		return Clock{} // where clocks are joined later, a thread that has seen nothing has a clock of its lane
	}
	return seen.kept()
}

// Seen reports whether the thread has seen the work complete.
func (o *Order) Seen(e Epoch) bool { return o.current.seen.Covers(e) }

// SeenByAll reports whether every thread has. Then everything that will ever be
// submitted to any lane comes after it. After ExpectStrangers it is always false: a thread may appear that has seen nothing.
func (o *Order) SeenByAll(e Epoch) bool {
	if o.strangers {
		return false
	}
	for i, t := range o.threads {
		if !t.seen.Covers(e) {
			o.place(o.threads[0], i)
			o.place(t, 0) // it is the first to be asked again
			return false
		}
	}
	return true
}

// Before reports whether the work comes before whatever the thread submits to the lane
// next.
func (o *Order) Before(e Epoch, l *Lane) bool { return l.Clock().Covers(e) || o.Seen(e) }

// Thread is the host thread that makes the calls.
func (o *Order) Thread() spec.Thread { return o.current.id }

// ExpectStrangers says that threads will appear that have seen nothing, as in a record
// that does not say who has started them. Otherwise a thread that is new was started by
// the present one, and has seen what that one has.
func (o *Order) ExpectStrangers() { o.strangers = true }

// SetThread says which host thread makes the calls from here on.
func (o *Order) SetThread(id spec.Thread) {
	if o.current.id != id || o.current.ended {
		o.current = o.thread(id)
	}
}

// OrderThreads says that what one thread has done comes before whatever another one
// does from here on.
func (o *Order) OrderThreads(before, after spec.Thread) {
	from, to := o.thread(before), o.thread(after)
	o.see(to, from.seen)
}

// EndThread says that a thread makes no more calls. Whoever has its number later is
// another one.
func (o *Order) EndThread(id spec.Thread) {
	t := o.byID[id]
	if t == nil {
		return
	}
	t.ended = true
	if t.lane != nil {
		o.Retire(t.lane)
	}
	last := len(o.threads) - 1
	o.place(o.threads[last], t.at)
	o.threads[last] = nil
	o.threads = o.threads[:last]
	delete(o.byID, id)
}

// place puts a thread at an index of the threads, which are in no order.
func (o *Order) place(t *thread, at int) { o.threads[at], t.at = t, at }

// thread finds a host thread, or makes it.
func (o *Order) thread(id spec.Thread) *thread {
	if t := o.byID[id]; t != nil {
		return t
	}
	t := &thread{id: id, at: len(o.threads)}
	switch {
	case o.nothing != nil:
		o.giveLane(t)
		if !o.strangers {
			o.see(t, o.current.seen)
		}
	case !o.strangers:
		t.seen, t.seeing = o.current.seen, o.current.seeing
	}
	o.threads, o.byID[id] = append(o.threads, t), t
	return t
}
