package invariant

import (
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Invariant 15: a graph keeps the addresses that its work used while it was
// captured, and uses them again whenever it is launched. So memory that a pool
// allocated in a capture stays with the pool as long as anybody may launch the
// graph, which is as long as the pool's use count is above zero. It does not
// matter whether the program freed the memory in between.

// poolHistory is a private pool while it is in use.
type poolHistory struct {
	device   spec.Device
	id       spec.PoolID
	useCount int
	captured []spec.Range // allocated in captures, in order of time, none within another
}

// poolRouting routes the allocations that it accepts to a pool.
type poolRouting struct {
	device  spec.Device
	id      spec.PoolID
	by      trace.PoolFilter
	thread  spec.Thread
	stream  spec.Stream
	capture int // by capture: its number
}

// PoolCreated: a pool was made, or its use count was raised.
func (h *History) PoolCreated(dev spec.Device, id spec.PoolID) {
	if p := h.pool(dev, id); p != nil {
		p.useCount++
		return
	}
	h.pools = append(h.pools, poolHistory{device: dev, id: id, useCount: 1})
}

// PoolBegun: a pool was made, or its use count was raised, and from now on it
// serves the requests of a thread, for a stream, or for streams in the capture that
// the stream takes part in.
func (h *History) PoolBegun(dev spec.Device, id spec.PoolID, by trace.PoolFilter, t spec.Thread, s spec.Stream) {
	h.PoolCreated(dev, id)
	h.routings = append(h.routings, poolRouting{
		dev, id, by, t, s, h.order.capture(spec.DeviceStream{Device: dev, Stream: s}),
	})
}

// PoolEnded ends what PoolBegun began.
func (h *History) PoolEnded(dev spec.Device, id spec.PoolID) {
	h.routings = slices.DeleteFunc(h.routings, func(r poolRouting) bool {
		return r.device == dev && r.id == id
	})
}

// PoolReleased: the pool's use count was lowered. At zero nobody can launch a graph
// that uses its memory any more.
func (h *History) PoolReleased(dev spec.Device, id spec.PoolID) {
	p := h.pool(dev, id)
	if p == nil {
		return
	}
	if p.useCount--; p.useCount == 0 {
		h.pools = slices.DeleteFunc(h.pools, func(q poolHistory) bool { return q.device == dev && q.id == id })
	}
}

// pool finds a pool in use, nil if there is none of that id.
func (h *History) pool(dev spec.Device, id spec.PoolID) *poolHistory {
	i := slices.IndexFunc(h.pools, func(p poolHistory) bool { return p.device == dev && p.id == id })
	if i < 0 {
		return nil
	}
	return &h.pools[i]
}

// routedTo is the pool that serves a request.
func (h *History) routedTo(g *Allocation) spec.PoolID {
	served := spec.DefaultPool
	for i := range h.routings {
		r := &h.routings[i]
		var accepts bool
		switch r.by {
		case trace.ByThread:
			accepts = r.thread == g.Thread
		case trace.ByStream:
			accepts = r.stream == g.Stream
		case trace.ByCapture:
			accepts = r.capture == h.order.capture(spec.DeviceStream{Device: g.Device, Stream: g.Stream})
		}
		if !accepts || r.device != g.Device {
			continue
		}
		if served = r.id; h.FirstRoutingWins {
			break
		}
	}
	return served
}

// rememberCaptured remembers memory that was allocated in a capture.
func (h *History) rememberCaptured(g *Allocation) {
	if g.Uncached || h.order.capture(spec.DeviceStream{Device: g.Device, Stream: g.Stream}) == 0 {
		return
	}
	p := h.pool(g.Device, h.routedTo(g))
	if p == nil {
		return // the default pool promises nothing
	}
	memory := spec.Range{Ptr: g.Ptr, Bytes: g.Bytes}
	if slices.ContainsFunc(p.captured, func(r spec.Range) bool { return r.Contains(memory) }) {
		return
	}
	p.captured = slices.DeleteFunc(p.captured, memory.Contains)
	p.captured = append(p.captured, memory)
}

// checkCaptured looks for the remembered memory in the pools' segments.
func (h *History) checkCaptured(s *spec.Snapshot, r *violationReport) {
	for i := range h.pools {
		p := &h.pools[i]
		for _, memory := range p.captured {
			if !poolHolds(s, p.device, p.id, memory) {
				r.add(capturedMemoryIsKept, p.device, memory.Ptr,
					"%v (%d bytes) was allocated in a capture from pool %v, which is in use, but no segment of the pool holds it",
					memory.Ptr, memory.Bytes, p.id)
			}
		}
	}
}

// poolHolds reports whether one of a pool's segments holds the memory.
func poolHolds(s *spec.Snapshot, dev spec.Device, id spec.PoolID, memory spec.Range) bool {
	return slices.ContainsFunc(s.Segments, func(g spec.Segment) bool {
		return g.Device == dev && g.Pool == id && spec.Range{Ptr: g.Address, Bytes: g.TotalSize}.Contains(memory)
	})
}
