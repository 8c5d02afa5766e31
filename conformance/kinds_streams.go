package conformance

import (
	"gaugeblock/conformance/perform"
	"gaugeblock/spec/trace"
)

// Work on streams, and the order between streams.

var streamShares = []Share{
	{trace.OpWaitStream, 6}, {trace.OpRecordEvent, 4}, {trace.OpWaitEvent, 4},
	{trace.OpSynchronize, 3}, {trace.OpCopy, 6},
}

var streamKinds = map[trace.OpKind]kind{
	trace.OpKernel: {propose: (*Generator).kernel, allowed: (*Program).mayLaunch, did: (*Program).worked},
	trace.OpCopy:   {propose: (*Generator).copy, allowed: (*Program).mayCopy, did: (*Program).worked},
	trace.OpWaitStream: {
		propose: (*Generator).waitStream, allowed: (*Program).mayWaitStream, callsDriver: true,
		did: (*Program).waited,
	},
	trace.OpRecordEvent: {
		propose: (*Generator).recordEvent, allowed: always, did: (*Program).recordedEvent, callsDriver: true,
	},
	trace.OpWaitEvent: {
		propose: (*Generator).waitEvent, allowed: (*Program).mayWaitEvent, did: (*Program).waitedEvent, callsDriver: true,
	},
	trace.OpSynchronize: {
		propose: (*Generator).synchronize, allowed: (*Program).maySynchronize, callsDriver: true,
		did: func(p *Program, op *trace.Op, _ *perform.Result) {
			p.order.See(p.state(op).work.Clock())
			if p.area.late {
				p.drained(p.slot(op.Device, op.Stream))
			}
		},
		failed: func(p *Program, op *trace.Op, _ *perform.Result) {
			if k := p.state(op).capture; k != nil {
				k.spoiled = true
			}
		},
	},
}

func (g *Generator) kernel() trace.Op {
	if len(g.program.memory) > 0 {
		return g.carefulKernel()
	}
	op := g.onCaptured()
	for range g.Intn(3) {
		op.Reads = append(op.Reads, trace.OpRange{ID: g.anyMemory()})
	}
	if chance(g, 2) {
		op.Writes = append(op.Writes, trace.OpRange{ID: g.anyMemory()})
	}
	return op
}

// carefulKernel touches memory on a stream that may: its own, or another one that was
// recorded for it and waits for its own. It prefers memory that was allocated last,
// which others may have had just before, and streams that are not the owner's.
func (g *Generator) carefulKernel() trace.Op {
	if g.area.contract.Uses != UsesRecorded || len(g.area.Few) > 0 {
		return g.sharedKernel()
	}
	from := g.candidates()
	m := from[len(from)-1]
	slot := m.slot
	for tries := g.Intn(8); tries > 0 && slot == m.slot; tries-- {
		m = pick(g, from)
		slot = m.slot
		for _, u := range m.uses {
			if g.program.mayUse(u.slot, m) {
				slot = u.slot
			}
		}
	}
	s := &g.program.streams[slot]
	op := trace.Op{Device: s.device, Stream: s.index, Writes: []trace.OpRange{{ID: m.id}}}
	if chance(g, 3) {
		op.Reads, op.Writes = op.Writes, nil
	}
	return op
}

func (p *Program) mayLaunch(op *trace.Op) bool {
	if !p.mayCall(uint64(op.Thread), p.slot(op.Device, op.Stream)) {
		return false
	}
	ranges := len(op.Reads) + len(op.Writes)
	if ranges > 0 && !p.mayTouch(op) {
		return false
	}
	for _, side := range [][]trace.OpRange{op.Reads, op.Writes} {
		for _, r := range side {
			m := p.find(r.ID)
			if m == nil || m.lent || !p.reaches(op.Device, m.device) || r.Offset+r.Bytes > m.size ||
				!p.mayUse(p.slot(op.Device, op.Stream), m) {
				return false
			}
		}
	}
	return true
}

func (p *Program) mayTouch(op *trace.Op) bool {
	return p.state(op).capture != nil || p.runs(op)
}

// worked: outside of captures, work touches the pools that its memory is of.
func (p *Program) worked(op *trace.Op, _ *perform.Result) {
	slot := p.slot(op.Device, op.Stream)
	if k := p.streams[slot].capture; k != nil {
		p.captured(k, slot, op)
		return
	}
	if p.area.contract.Sleeps {
		s := &p.streams[slot]
		s.worked, s.latest = true, p.order.Submit(s.work).Epoch
	}
	for _, m := range p.ranges(op) {
		if p.area.contract.Uses != UsesRecorded {
			p.touches(m, slot)
		}
		if m.pool != nil {
			p.touched(m.pool, slot)
		}
	}
}

func (g *Generator) copy() trace.Op {
	op := g.called(g.on())
	op.Reads = []trace.OpRange{{ID: g.anyMemory()}}
	op.Writes = []trace.OpRange{{ID: g.anyMemory()}}
	return g.copyAcross(op)
}

func (p *Program) mayCopy(op *trace.Op) bool {
	if !p.mayCall(uint64(op.Thread), p.slot(op.Device, op.Stream)) {
		return false
	}
	if len(op.Reads) != 1 || len(op.Writes) != 1 || !p.mayTouch(op) {
		return false
	}
	from, to := p.find(op.Reads[0].ID), p.find(op.Writes[0].ID)
	if from == nil || to == nil || from.lent || to.lent || from == to || from.size == 0 || to.size == 0 {
		return false
	}
	if slot := p.slot(op.Device, op.Stream); !p.mayUse(slot, from) || !p.mayUse(slot, to) {
		return false
	}
	if op.Stream == 0 && from.device != to.device && p.defaultsHeld(op.Device, from.device, to.device) {
		return false
	}
	bytes := min(from.size, to.size)
	op.Reads[0] = trace.OpRange{ID: from.id, Bytes: bytes}
	op.Writes[0] = trace.OpRange{ID: to.id, Bytes: bytes}
	return true
}

// waitStream joins what was forked, every other time, if anything was.
func (g *Generator) waitStream() trace.Op {
	if chance(g, 2) {
		if op, ok := g.followOwner(); ok {
			return op
		}
	}
	if q, slot, on, found := g.unorderedPool(); found && chance(g, 2) {
		s := g.program.streams
		return trace.Op{Device: q.device, Stream: s[slot].index, On: s[on].index}
	}
	if k := g.program.captures; len(k) > 0 && chance(g, 2) {
		if chance(g, 2) {
			return g.fork(pick(g, k))
		}
		return g.join(pick(g, k))
	}
	op := g.on()
	op.On = g.Intn(len(g.program.header.Streams))
	return op
}

// followOwner makes a stream that was recorded for memory wait for the memory's own;
// ok is false if there is none.
func (g *Generator) followOwner() (op trace.Op, ok bool) {
	for _, m := range g.program.memory {
		owner := &g.program.streams[m.slot]
		for _, u := range m.uses {
			s := &g.program.streams[u.slot]
			if s.device == owner.device && !g.program.order.Before(m.start, s.work) {
				return trace.Op{Device: s.device, Stream: s.index, On: owner.index}, true
			}
		}
	}
	return trace.Op{}, false
}

// mayWaitStream: a captured stream cannot wait for one that is not, and a capture
// not for another one. A stream that waits for a captured one joins the capture,
// which the default stream cannot.
func (p *Program) mayWaitStream(op *trace.Op) bool {
	on := p.slot(op.Device, op.On)
	if on < 0 || op.On == op.Stream {
		return false
	}
	if capture := p.streams[on].capture; capture != nil {
		return p.mayFollow(op, capture)
	}
	return p.state(op).capture == nil && p.mayHoldUp(p.slot(op.Device, op.Stream), p.held(on))
}

func (p *Program) mayFollow(op *trace.Op, capture *captureState) bool {
	s := p.state(op)
	if s.capture == nil {
		return op.Stream != 0 && s.device == capture.device
	}
	return s.capture == capture
}

func (p *Program) waited(op *trace.Op, _ *perform.Result) {
	slot, on := p.slot(op.Device, op.Stream), p.slot(op.Device, op.On)
	s, other := &p.streams[slot], &p.streams[on]
	k := other.capture
	if k == nil {
		p.order.Wait(s.busy, other.busy.Clock())
		p.order.Wait(s.work, other.work.Clock())
		return
	}
	if s.capture == nil {
		p.join(k, slot)
	}
	k.follow(slot, k.after[on])
	p.order.Wait(s.nodes, other.nodes.Clock())
}

// onEvent proposes a stream and an event.
func (g *Generator) onEvent() trace.Op {
	op := g.on()
	op.Event = g.Intn(4)
	return op
}

func (p *Program) recordedEvent(op *trace.Op, _ *perform.Result) {
	id, slot := op.Event, p.slot(op.Device, op.Stream)
	e := p.event(id)
	if e == nil {
		e = &eventState{id: id}
		p.events = append(p.events, e)
		p.eventIDs = max(p.eventIDs, id+1)
	}
	if e.capture = p.streams[slot].capture; e.capture != nil {
		e.clock.Set(e.capture.after[slot])
	} else {
		p.order.Record(&e.clock, p.streams[slot].busy)
		if p.header.Devices > 1 {
			p.order.Record(&e.work, p.streams[slot].work)
		}
	}
}

func (p *Program) mayWaitEvent(op *trace.Op) bool {
	e := p.event(op.Event)
	switch {
	case e == nil:
		return false
	case e.capture != nil:
		return !e.capture.over && p.mayFollow(op, e.capture)
	}
	return p.state(op).capture == nil && p.mayHoldUp(p.slot(op.Device, op.Stream), p.holding(e.clock))
}

func (p *Program) waitedEvent(op *trace.Op, _ *perform.Result) {
	slot, e := p.slot(op.Device, op.Stream), p.event(op.Event)
	if e.capture == nil {
		p.order.Wait(p.streams[slot].busy, e.clock)
		p.order.Wait(p.streams[slot].work, e.work)
		return
	}
	if p.streams[slot].capture == nil {
		p.join(e.capture, slot)
	}
	e.capture.follow(slot, e.clock)
}

// synchronize lets the host wait for a stream, every other time one behind which a
// pool of graphs can be used.
func (g *Generator) synchronize() trace.Op {
	if captures := g.program.captures; g.program.spoils && len(captures) > 0 && chance(g, 3) {
		k := pick(g, captures)
		return trace.Op{Device: k.device, Stream: g.program.streams[pick(g, k.members)].index}
	}
	if q, _, on, found := g.unorderedPool(); found && chance(g, 2) {
		return trace.Op{Device: q.device, Stream: g.program.streams[on].index}
	}
	return g.on()
}

// unorderedPool is one of those last made for graphs that some stream does not come
// behind, with that stream, and one that does.
func (g *Generator) unorderedPool() (q *poolState, slot, on int, found bool) {
	pools := g.program.pools
	for i := len(pools) - 1; i >= max(0, len(pools)-8); i-- {
		if slot, on, found = g.program.unordered(pools[i]); found && pools[i].useCount > 0 {
			return pools[i], slot, on, true
		}
	}
	return nil, 0, 0, false
}

func (p *Program) maySynchronize(op *trace.Op) bool {
	if p.state(op).capture != nil {
		return p.spoils
	}
	return p.runs(op) && !p.strict(nil)
}
