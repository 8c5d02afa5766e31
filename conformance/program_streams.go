package conformance

import (
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
	"gaugeblock/spec/trace"
)

// What a program knows of its streams: which are held, and, while they are
// captured, how far each has come behind the others.

type streamState struct {
	device spec.Device
	index  int // in the trace; 0 is the default stream

	capture *captureState
	// The stream has three lanes in Program.order, because a careful program relies on
	// less than CUDA promises. Each lane has its own list of what orders it.
	busy  *happensbefore.Lane // what keeps it busy: waits for streams and for events
	work  *happensbefore.Lane // uses of memory (careful.go): waits for streams, and the host's
	nodes *happensbefore.Lane // the same in a capture: waits for streams

	worked bool                // it has had work; looked at where memory sleeps
	latest happensbefore.Epoch // the latest of it
}

// held is the set of streams (a bit for each slot) that keep a stream's next work from
// completing, itself included if it is busy. It says which streams have to be drained
// first; it is found from the clocks each time, and kept nowhere.
func (p *Program) held(slot int) uint64 { return p.holding(p.streams[slot].busy.Clock()) }

// behind is that set without the stream itself.
func (p *Program) behind(slot int) uint64 { return p.held(slot) &^ (1 << slot) }

// holding is the set of streams that are busy with what a clock covers.
func (p *Program) holding(c happensbefore.Clock) (set uint64) {
	for slot := range p.streams {
		if last := p.streams[slot].busy.Last(); c.Covers(last) && !p.order.Seen(last) {
			set |= 1 << slot
		}
	}
	return set
}

// mayHoldUp reports whether a stream can wait for others without one of them waiting for it,
// directly or not. (Even then its wait could be legal, if the other one waits for an older part
// of its work only; but then no stream could be drained first.)
//
// A stream that is held up is not held up by further streams: its earlier work would complete
// first, and an invariant.History cannot tell that work from the later. The same goes for a
// busy stream, if a wait of the allocator can end that.
func (p *Program) mayHoldUp(slot int, others uint64) bool {
	if p.area.late {
		return true
	}
	reached := others &^ (1 << slot)
	behind := p.behind(slot)
	busy := p.held(slot) != behind
	if p.header.Waits && busy && reached != 0 {
		return false
	}
	if behind != 0 && reached&^behind != 0 {
		return false
	}
	for before := uint64(0); reached != before; {
		before = reached
		for i := range p.streams {
			if reached&(1<<i) != 0 {
				reached |= p.held(i)
			}
		}
	}
	return reached&(1<<slot) == 0
}

// anyHeld reports whether any stream is.
func (p *Program) anyHeld() bool {
	for slot := range p.streams {
		if p.held(slot) != 0 {
			return true
		}
	}
	return false
}

// drained: a stream that waits for no other is not busy any more.
func (p *Program) drained(slot int) {
	p.order.SeeWork(p.streams[slot].busy.Last())
	if !p.area.late {
		return
	}
	// Its work has completed after earlier work of others. That work is over too, even if those
	// streams are held up again.
	for other := range p.streams {
		if last := p.streams[other].busy.Last(); p.streams[slot].busy.Clock().Covers(last) {
			p.order.SeeWork(last)
		}
	}
}

// captureState is a capture that is under way. Each of its streams is a lane, and has
// a clock of the nodes that its next node comes after.
type captureState struct {
	device  spec.Device
	mode    spec.CaptureMode
	origin  int                   // slot
	members []int                 // slots, the origin first
	after   []happensbefore.Clock // by slot; lanes are slots

	needs []int64      // memory outside of private pools that the graph touches
	pools []*poolState // whose memory it touches
	over  bool
	// spoiled: a call was made that is illegal in a capture
	spoiled bool
	// freed: memory that its streams used was freed while it was under way
	freed bool
}

func (p *Program) newCapture(op *trace.Op) *captureState {
	slot := p.slot(op.Device, op.Stream)
	k := &captureState{
		device: op.Device, mode: op.Mode, origin: slot, after: make([]happensbefore.Clock, len(p.streams)),
	}
	p.join(k, slot)
	return k
}

// join makes a stream a part of the capture.
func (p *Program) join(k *captureState, slot int) {
	k.members = append(k.members, slot)
	p.streams[slot].capture = k
	k.freed = k.freed || slices.ContainsFunc(p.deferred, func(u deferredUse) bool { return u.slot == slot })
}

// addNode: the stream was given work.
func (k *captureState) addNode(slot int) { k.after[slot].Tick(slot) }

// follow: the stream's later work comes after what another had come to.
func (k *captureState) follow(slot int, reached happensbefore.Clock) { k.after[slot].Join(reached) }

// unjoined is a member with work that the origin does not come after, or -1.
func (k *captureState) unjoined() int {
	for _, m := range k.members {
		if !k.after[k.origin].CoversAll(k.after[m]) {
			return m
		}
	}
	return -1
}

// strict reports whether a capture other than the given one forbids what a relaxed
// one allows.
func (p *Program) strict(but *captureState) bool {
	return slices.ContainsFunc(p.captures, func(k *captureState) bool {
		return k != but && k.mode != spec.CaptureRelaxed
	})
}

// capturing reports whether any stream of the device is being captured.
func (p *Program) capturing(dev spec.Device) bool {
	return slices.ContainsFunc(p.captures, func(k *captureState) bool { return k.device == dev })
}

// graphState is a graph that can be launched as long as what it touches is there.
type graphState struct {
	id     int
	device spec.Device
	needs  []int64
	pools  []*poolState
	latest int // slot of its latest launch
}

// launchable reports whether the memory that the graph touches is still there, and
// the stream may touch it. The next launch of a graph waits for the one before, which
// must not hold up another stream.
func (p *Program) launchable(g *graphState, slot int) bool {
	if g.latest != slot && p.held(g.latest) != 0 {
		return false
	}
	for _, id := range g.needs {
		if m := p.find(id); m == nil || m.lent || !p.mayUse(slot, m) {
			return false
		}
	}
	return !slices.ContainsFunc(g.pools, func(q *poolState) bool { return q.useCount == 0 || !p.mayTouchPool(slot, q) })
}

func (p *Program) graph(id int) *graphState {
	for _, g := range p.graphs {
		if g.id == id {
			return g
		}
	}
	return nil
}

// eventState is an event of the program's own.
type eventState struct {
	id      int
	capture *captureState       // it was recorded in
	clock   happensbefore.Clock // in that capture, or in Program.order
	work    happensbefore.Clock // what work it comes behind, where that counts: see across.go
}

func (p *Program) event(id int) *eventState {
	for _, e := range p.events {
		if e.id == id {
			return e
		}
	}
	return nil
}
