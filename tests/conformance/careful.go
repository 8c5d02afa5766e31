package conformance

import (
	"slices"

	"gaugeblock/spec/trace"
)

// A careful program. The device finds hazards (fakegpu.Hazard): work on memory that
// somebody else's work may still be using. That proves something about an allocator
// only if the program keeps its side of the bargain, as one does that is written for
// PyTorch:
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
// All of these orders are the program's: waits between streams, and the host's for a
// stream. That one stream's work comes behind another's is kept as a set of streams
// (by slot) that come behind the point in question.

// everyone is the set of all streams.
const everyone = ^uint64(0)

// mayUse reports whether work that is given to a stream now may touch the memory.
func (p *Program) mayUse(slot int, m *memory) bool {
	k, bit := p.streams[slot].capture, uint64(1)<<slot
	if slot != m.slot && !slices.Contains(m.uses, use{slot, k != nil}) {
		return false
	}
	switch {
	case k != nil:
		return m.captured != k || m.readyIn&bit != 0
	case m.private():
		return m.pool.ready&bit != 0
	}
	return m.ready&bit != 0
}

// private reports whether the memory is of a pool that graphs use.
func (m *memory) private() bool { return m.pool != nil && m.pool.graphs }

// touched: work outside of captures, or a graph, uses memory of the pool. What comes
// next has to come behind it.
func (q *poolState) touched(slot int) {
	if q.graphs {
		q.ready = 1 << slot
	}
}

// orders records that a stream comes behind everything in another one: whatever is
// ready there is ready here. While the stream is captured that is true of the graph
// only.
func (p *Program) orders(slot, on int) {
	capture := p.streams[slot].capture
	for _, m := range p.memory {
		if capture == nil {
			follow(&m.ready, slot, on)
		} else if m.captured == capture {
			follow(&m.readyIn, slot, on)
		}
	}
	for _, q := range p.pools {
		if capture == nil {
			follow(&q.ready, slot, on)
		}
	}
}

func follow(ready *uint64, slot, on int) {
	if *ready&(1<<on) != 0 {
		*ready |= 1 << slot
	}
}

// synchronized: the host has waited for a stream, and all that is done later comes
// behind what was in it.
func (p *Program) synchronized(slot int) {
	for _, m := range p.memory {
		if m.ready&(1<<slot) != 0 {
			m.ready = everyone
		}
	}
	for _, q := range p.pools {
		if q.ready&(1<<slot) != 0 {
			q.ready = everyone
		}
	}
}

// unordered is a stream that does not come behind what was done in a pool, and one
// that does; found is false if all do.
func (p *Program) unordered(q *poolState) (slot, on int, found bool) {
	if !q.graphs {
		return 0, 0, false
	}
	for i, s := range p.streams {
		switch {
		case s.device != q.device:
		case q.ready&(1<<i) != 0:
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
	if captured && !q.graphs {
		q.graphs, q.ready = true, everyone
	}
	q.others = q.others || !captured
}

// forgotten reports whether upstream would forget streams that use the memory if it
// were freed now. Both times it takes them for streams that use it in a graph, whose
// order makes up for an event:
//
//   - They were recorded, outside of any capture, while requests were routed to a pool, and
//     the memory is freed while requests still are.
//   - They were recorded before a capture that they now are a part of, and
//     graph_capture_record_stream_reuse is on.
//
// The reference does the same (docs/deviations.md, weaknesses that are kept). This is
// all that programs keep away from though they would have the right to do it;
// tests/suites/watch shows that the device notices (TestForgottenUses and the next).
func (p *Program) forgotten(m *memory) bool {
	if m.routed && p.routed(m.device) {
		return true
	}
	return p.config.GraphCaptureRecordStreamReuse && slices.ContainsFunc(m.uses, func(u use) bool {
		return !u.captured && p.streams[u.slot].capture != nil
	})
}

// ExposeForgottenUses lets the program do what it otherwise keeps away from: it frees
// memory whose uses are forgotten, and records a stream for the same memory in a capture and
// outside.
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
