package conformance

import (
	"slices"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// A careful program. The device finds hazards (fakegpu.Hazard): work on memory that other work
// may still be using. A hazard proves a fault of the allocator only if the program keeps the
// rules that a program written for PyTorch keeps:
//
//	another stream's memory    a stream touches it after RecordStream, and when its
//	                           work comes behind the moment at which it was allocated
//	in a capture               so too, by the order of the graph's nodes; what was
//	                           recorded outside of it does not count, nor the reverse
//	what a graph touches       is allocated when the graph is launched; the launch is a
//	                           use like any: of the stream's own memory, or recorded
//	a graph's private memory   comes from a pool that serves captures and nothing
//	                           else. Graphs that share it never run at the same time:
//	                           whoever touches any of it comes behind all who did
//	giving up such a pool      everything in it is over by then, or will be before
//	                           what its streams are given later
//
// The program makes all of these orders: by waits between streams, and by waits of the host for
// a stream. They are kept in the lanes streamState.work and streamState.nodes. A wait for an
// event would give the same order, but does not count, except across devices (across.go):
// programs here rely on less than they may.

// mayUse reports whether work that is given to a stream now may touch the memory.
func (p *Program) mayUse(slot int, m *memory) bool {
	s := &p.streams[slot]
	k := s.capture
	if p.asleep {
		return false
	}
	if slot != m.slot && !p.mayUseElsewhere(m, use{slot, k != nil}) {
		return false
	}
	switch {
	case k != nil:
		return m.captured != k || p.order.Before(m.node, s.nodes)
	case m.private():
		return p.mayTouchPool(slot, m.pool)
	}
	return p.order.Before(m.start, s.work)
}

// mayTouchPool reports whether the stream's work comes behind all that has touched
// memory of a pool of graphs.
func (p *Program) mayTouchPool(slot int, q *poolState) bool {
	return p.order.Before(q.latest, p.streams[slot].work)
}

// private reports whether the memory is of a pool that graphs use.
func (m *memory) private() bool { return m.pool != nil && m.pool.graphs }

// touched: work outside of captures, or a graph, uses memory of the pool. The next use of the
// pool must be ordered after it.
func (p *Program) touched(q *poolState, slot int) {
	if q.graphs {
		q.latest = p.order.Submit(p.streams[slot].work).Epoch
	}
}

// unordered finds two streams: one that is not ordered after the uses of a pool, and one that
// is; found is false if all are.
func (p *Program) unordered(q *poolState) (slot, on int, found bool) {
	if !q.graphs {
		return 0, 0, false
	}
	for i, s := range p.streams {
		switch {
		case s.device != q.device:
		case p.mayTouchPool(i, q):
			on = i
		default:
			slot, found = i, true
		}
	}
	return slot, on, found
}

// serves reports whether a careful program lets a pool serve a request.
func (q *poolState) serves(captured bool) bool {
	return q == nil || !q.graphs && !q.others || q.graphs == captured
}

// serve records that it did.
func (q *poolState) serve(captured bool) {
	if q == nil {
		return
	}
	q.graphs = q.graphs || captured
	q.others = q.others || !captured
}

// forgotten reports whether upstream would forget streams that use the memory, if the memory
// were freed now. In two cases upstream takes these uses for uses in a graph, which need no
// event because the graph has an order of its own:
//
//   - The streams were recorded outside of any capture while requests were routed to a pool, and
//     the memory is freed while requests still are.
//   - The streams were recorded before a capture that they are part of now, and
//     graph_capture_record_stream_reuse is on.
//
// The reference does the same (deviations kept/use-not-captured and kept/use-joins-capture).
// Programs avoid these two cases and forgetsCapture, and nothing else that they may do.
// tests/earlyreuse shows that the device notices them (TestForgottenUses and the test after
// it).
func (p *Program) forgotten(m *memory) bool {
	if m.routed && p.routed(m.device) {
		return true
	}
	return p.config.GraphCaptureRecordStreamReuse && slices.ContainsFunc(m.uses, func(u use) bool {
		return !u.captured && p.streams[u.slot].capture != nil
	})
}

// forgetsCapture reports whether upstream, asked for memory for a stream that is not captured, would
// forget the uses in a capture that is under way of memory that was freed meanwhile (deviation
// kept/capture-forgotten-outside), or record events of earlier uses in it, which cannot be queried
// (captures/eager-use): those of streams that are part of it, also of one that came to it after the free.
func (p *Program) forgetsCapture(op *trace.Op) bool {
	return p.rules.Captures == upstream.CapturesByMark && p.state(op).capture == nil &&
		slices.ContainsFunc(p.captures, func(k *captureState) bool { return k.freed && k.device == op.Device })
}

// defers reports whether a free of memory with uses may be deferred.
func (p *Program) defers(dev spec.Device) bool {
	if p.rules.Captures == upstream.CapturesByMark {
		return p.capturing(dev)
	}
	return p.routed(dev)
}

// eventsRecorded: a malloc for a stream that is not captured has recorded the events of deferred frees. Where any routing
// counts as a capture it does so only without one.
func (p *Program) eventsRecorded(dev spec.Device) {
	if p.rules.Captures == upstream.CapturesByMark || !p.routed(dev) {
		p.deferred = slices.DeleteFunc(p.deferred, func(u deferredUse) bool { return u.device == dev })
	}
}

// endCompletesDeferred reports whether the end of the routing to a pool completes the frees that were deferred, or
// records their events.
func (p *Program) endCompletesDeferred() bool {
	return p.rules.PoolEndCompletesDeferred && p.config.GraphCaptureRecordStreamReuse
}

// endedRouting: requests are no longer routed to a pool.
func (p *Program) endedRouting(op *trace.Op, _ *perform.Result) {
	q := p.pool(op.Device, op.Pool)
	q.begun = false
	if p.endCompletesDeferred() {
		p.deferred = slices.DeleteFunc(p.deferred, func(u deferredUse) bool { return u.pool == q })
	}
}

// endsInCapture reports whether the end of the routing to a pool would complete frees of memory that a captured stream
// uses: it would forget the uses in the capture, which goes on, and record events of others in it (captures/eager-use).
func (p *Program) endsInCapture(q *poolState) bool {
	return p.endCompletesDeferred() && slices.ContainsFunc(p.deferred, func(u deferredUse) bool {
		return u.pool == q && p.streams[u.slot].capture != nil
	})
}

// beside lets another thread make a call while a capture is under way, every third time: one whose current stream
// is the default stream. Where any routing counts as a capture that decides nothing.
func (g *Generator) beside(op *trace.Op) {
	if len(g.program.captures) == 0 || g.program.rules.Captures != upstream.CapturesByMark || !chance(g, 3) {
		return
	}
	switch op.Kind {
	case trace.OpFree, trace.OpRecordStream, trace.OpEmptyCache:
		op.Current = new(int)
	}
}

// besideCaptures reports whether an operation is called by a thread whose current stream is not captured, and whether
// that decides anything.
func (p *Program) besideCaptures(op *trace.Op) bool {
	return p.rules.Captures == upstream.CapturesByMark && op.Current != nil &&
		p.streams[p.slot(op.Device, *op.Current)].capture == nil
}

// usedInCapture reports whether a stream that is being captured uses memory: the event of a free by a thread beside
// the capture would be recorded in it (captures/eager-use).
func (p *Program) usedInCapture(m *memory) bool {
	return slices.ContainsFunc(m.uses, func(u use) bool { return p.streams[u.slot].capture != nil })
}

// mayEmptyBeside reports whether a thread beside the captures may empty the cache: none forbids it, and none
// would have its deferred frees completed (captures/memory-freed).
func (p *Program) mayEmptyBeside() bool {
	return !p.strict(nil) && !slices.ContainsFunc(p.captures, func(k *captureState) bool { return k.freed })
}

// ExposeForgottenUses lets the program do what it otherwise keeps away from: it frees
// memory whose uses are forgotten, records a stream for the same memory in a capture and
// outside, and asks for memory that a capture under way uses.
func (p *Program) ExposeForgottenUses() { p.exposes = true }

// allocatedIn lists what was allocated in a capture and still is.
func (p *Program) allocatedIn(k *captureState) (list []*memory) {
	for _, m := range p.memory {
		if m.captured == k {
			list = append(list, m)
		}
	}
	return list
}

// ranges lists the allocations that an operation names.
func (p *Program) ranges(op *trace.Op) (list []*memory) {
	for _, side := range [][]trace.OpRange{op.Reads, op.Writes} {
		for _, r := range side {
			list = append(list, p.find(r.ID))
		}
	}
	return list
}
