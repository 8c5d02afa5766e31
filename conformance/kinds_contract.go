package conformance

import (
	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Programs for other contracts than PyTorch's (contract.go): a stream uses memory of another
// one without telling the allocator, and waits make the free legal. Streams wait for each other
// only where a use or a free needs it, and the host waits hardly ever, since each wait gives an
// order that the allocator would otherwise have to give itself.

var contractKinds = map[trace.OpKind]kind{
	trace.OpDestroyStream: {
		propose: (*Generator).on, allowed: (*Program).mayDestroyStream,
		did: func(p *Program, op *trace.Op, _ *perform.Result) { p.renewStream(p.slot(op.Device, op.Stream)) },
	},
	trace.OpEndThread: {
		propose: func(g *Generator) trace.Op {
			return trace.Op{Thread: spec.Thread(1 + g.Intn(max(g.program.header.Threads, 1)))}
		},
		allowed: (*Program).mayEndThread,
		did: func(p *Program, op *trace.Op, _ *perform.Result) {
			for slot := range p.streams {
				if p.ownThread(slot) == int(op.Thread) {
					p.renewStream(slot)
				}
			}
		},
	},
}

// size is that of a request: one of few, if the area has few, so that memory fits again.
func (g *Generator) size() uint64 {
	if few := g.area.Few; len(few) > 0 {
		return pick(g, few)
	}
	return size(g, g.program.header.Geometry, g.near, g.program.header.TotalMemory/2)
}

// called makes the thread that calls an operation one that may name its stream.
func (g *Generator) called(op trace.Op) trace.Op {
	if g.program.header.Threads == 0 {
		return op
	}
	op.Thread = spec.Thread(g.Intn(g.program.header.Threads + 1))
	if owner := g.program.ownThread(g.program.slot(op.Device, op.Stream)); owner != 0 {
		op.Thread = spec.Thread(owner)
	}
	return op
}

// gone is the free of no allocation, which no program may perform: another operation is made up in its place.
var gone = trace.Op{Kind: trace.OpFree, ID: -1}

// sharedKernel touches memory on any stream of its device. What has to come first is proposed
// first. It prefers memory that was allocated last.
func (g *Generator) sharedKernel() trace.Op {
	p := g.program
	m := p.memory[len(p.memory)-1]
	if chance(g, 2) {
		m = pick(g, p.memory)
	}
	slot := m.slot
	if chance(g, 2) {
		slot = g.slotOf(m.device)
	}
	return g.useOn(m.id, slot)
}

// useOn is a kernel on a stream that touches an allocation, or what has to be done before: the
// stream is recorded, if the contract says so, and waits for the memory's own.
func (g *Generator) useOn(id int64, slot int) trace.Op {
	p, s := g.program, &g.program.streams[slot]
	m := p.find(id)
	if m == nil { // a callback has freed it
		return gone
	}
	again := func() trace.Op { return g.useOn(id, slot) }
	switch {
	case slot != m.slot && !p.mayUseElsewhere(m, use{slot, false}):
		g.planned = again
		return g.called(trace.Op{Kind: trace.OpRecordStream, Device: s.device, Stream: s.index, ID: id})
	case slot != m.slot && !p.order.Before(m.start, s.work):
		g.planned = again
		return g.called(trace.Op{Kind: trace.OpWaitStream, Device: s.device, Stream: s.index, On: p.streams[m.slot].index})
	}
	op := g.called(trace.Op{Kind: trace.OpKernel, Device: s.device, Stream: s.index, Writes: []trace.OpRange{{ID: id}}})
	if chance(g, 3) {
		op.Reads, op.Writes = op.Writes, nil
	}
	return op
}

// slotOf is any stream of a device.
func (g *Generator) slotOf(dev spec.Device) int {
	for {
		if slot := g.Intn(len(g.program.streams)); g.program.streams[slot].device == dev {
			return slot
		}
	}
}

// free frees an allocation; in other contracts than PyTorch's, what has to be waited for
// comes first.
func (g *Generator) free() trace.Op {
	op := trace.Op{ID: g.anyMemory()}
	m := g.program.find(op.ID)
	if m == nil || g.area.contract.Uses == UsesRecorded {
		return op
	}
	return g.freeFrom(op.ID, m.slot)
}

// freeFrom is the free of an allocation on a stream, or a wait that has to come before.
func (g *Generator) freeFrom(id int64, slot int) trace.Op {
	m := g.program.find(id)
	if m == nil {
		return gone
	}
	op := g.program.joinAndFree(m, slot)
	if op.Kind == trace.OpWaitStream || op.Kind == trace.OpSynchronize {
		g.planned = func() trace.Op { return g.freeFrom(id, slot) }
	}
	return g.called(op)
}

// freeOn frees an allocation on any stream of its device.
func (g *Generator) freeOn() trace.Op {
	m := g.program.find(g.anyMemory())
	if m == nil {
		return trace.Op{ID: -1}
	}
	slot := m.slot
	if g.area.contract.Uses == UsesBeforeFree && !chance(g, 3) {
		slot = g.slotOf(m.device)
	}
	return g.freeFrom(m.id, slot)
}

// joinAndFree is the free of an allocation on a stream, or the next thing that has to be done
// before: the stream waits for a use.
func (p *Program) joinAndFree(m *memory, slot int) trace.Op {
	s := &p.streams[slot]
	op := trace.Op{Device: s.device, Stream: s.index, Thread: spec.Thread(p.ownThread(slot))}
	if t, found := p.unjoined(m, slot); found {
		if p.area.contract.Uses == UsesWaited {
			u := &p.streams[t.slot]
			return trace.Op{Kind: trace.OpSynchronize, Device: u.device, Stream: u.index}
		}
		op.Kind, op.On = trace.OpWaitStream, p.streams[t.slot].index
		return op
	}
	op.Kind, op.ID = trace.OpFreeOn, m.id
	if slot == m.slot && op.Thread == 0 {
		return trace.Op{Kind: trace.OpFree, ID: m.id}
	}
	return op
}

// mayFreeByContract reports whether everything is waited for that a free of the memory's own
// stream has to come behind.
func (p *Program) mayFreeByContract(op *trace.Op, m *memory) bool {
	if p.area.contract.Uses == UsesRecorded {
		return true
	}
	_, found := p.unjoined(m, m.slot)
	return !found && p.mayCall(uint64(op.Thread), m.slot)
}

func (p *Program) mayFreeOn(op *trace.Op) bool {
	m, slot := p.find(op.ID), p.slot(op.Device, op.Stream)
	if m == nil || p.streams[slot].device != m.device || !p.mayCall(uint64(op.Thread), slot) {
		return false
	}
	if p.area.contract.Uses != UsesBeforeFree && slot != m.slot {
		return false
	}
	_, found := p.unjoined(m, slot)
	return !found
}

// mayDestroyStream: no allocation belongs to the stream, and none has a use by it that later
// work could not be made to wait for.
func (p *Program) mayDestroyStream(op *trace.Op) bool {
	slot := p.slot(op.Device, op.Stream)
	return p.area.contract.DestroysStreams && op.Stream != 0 && p.state(op).capture == nil &&
		p.ownThread(slot) == 0 && p.unused(slot)
}

// unused reports whether the program can do without a stream. On a device that does not wait nothing could end what
// keeps a destroyed stream busy: it would be waited for without end.
func (p *Program) unused(slot int) bool {
	if !p.header.Waits && p.held(slot) != 0 {
		return false
	}
	for _, m := range p.memory {
		if m.slot == slot {
			return false
		}
		for _, u := range m.uses {
			if u.slot == slot {
				return false
			}
		}
		for _, t := range m.touched {
			if t.slot == slot && !p.order.Before(t.epoch, p.streams[m.slot].work) {
				return false
			}
		}
	}
	return true
}

// mayEndThread: the program can do without the thread's default streams.
func (p *Program) mayEndThread(op *trace.Op) bool {
	if op.Thread < 1 || int(op.Thread) > p.header.Threads {
		return false
	}
	for slot := range p.streams {
		if p.ownThread(slot) == int(op.Thread) && !p.unused(slot) {
			return false
		}
	}
	return true
}

// renewStream: the stream is destroyed, and the next of its name is another one.
func (p *Program) renewStream(slot int) {
	s := &p.streams[slot]
	name := spec.DeviceStream{Device: s.device, Stream: p.header.Streams[s.index]}
	s.busy, s.work, s.nodes = p.order.NewLane(name), p.order.NewLane(name), p.order.NewGraphLane(name)
}
