package conformance

import (
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Work across devices. In a careful program only waits between streams put work in order, and
// these are between streams of one device. So with several devices events count as well: a
// stream of another device touches memory after RecordStream, and after it has waited for an
// event that was recorded in the memory's own stream since the allocation.

// across is a use of memory by a stream of another device that is not yet ordered after the
// memory's allocation; found is false if there is none.
func (g *Generator) across() (m *memory, slot int, found bool) {
	if g.program.header.Devices == 1 || chance(g, 3) {
		return nil, 0, false
	}
	for i := range g.program.memory {
		m := g.program.memory[len(g.program.memory)-1-i]
		for _, u := range m.uses {
			s := &g.program.streams[u.slot]
			if !u.captured && s.device != m.device && !g.program.order.Before(m.start, s.work) {
				return m, u.slot, true
			}
		}
	}
	return nil, 0, false
}

// recordEvent records an event; with several devices mostly where another device has to wait.
func (g *Generator) recordEvent() trace.Op {
	op := g.onEvent()
	if m, _, found := g.across(); found {
		op.Device, op.Stream = m.device, g.program.streams[m.slot].index
	}
	return op
}

// waitEvent waits for an event; with several devices mostly where that gives a missing order.
func (g *Generator) waitEvent() trace.Op {
	op := g.onEvent()
	m, slot, found := g.across()
	if !found {
		return op
	}
	for _, e := range g.program.events {
		if e.work.Covers(m.start) {
			s := &g.program.streams[slot]
			op.Device, op.Stream, op.Event = s.device, s.index, e.id
		}
	}
	return op
}

// copyAcross copies from or to memory of another device than that of the stream, if there is
// any that the stream may touch.
func (g *Generator) copyAcross(op trace.Op) trace.Op {
	if g.program.header.Devices == 1 || len(g.program.memory) == 0 {
		return op
	}
	work := g.carefulKernel()
	slot := g.program.slot(work.Device, work.Stream)
	other := int64(0)
	for _, m := range g.program.memory {
		if g.program.mayUse(slot, m) && (other == 0 || m.device != work.Device || chance(g, 3)) {
			other = m.id
		}
	}
	mine := append(work.Reads, work.Writes...)
	op.Device, op.Stream, op.Reads, op.Writes = work.Device, work.Stream, mine, []trace.OpRange{{ID: other}}
	if chance(g, 2) {
		op.Reads, op.Writes = op.Writes, op.Reads
	}
	return op
}

// defaultsHeld reports whether any of the devices' default streams is held. A copy between
// devices in a default stream puts these streams in order.
func (p *Program) defaultsHeld(devices ...spec.Device) bool {
	return slices.ContainsFunc(devices, func(dev spec.Device) bool { return p.held(p.slot(dev, 0)) != 0 })
}
