package conformance

import (
	"slices"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// What allocators other than PyTorch's do with memory that is allocated: let it grow and shrink where
// it is, and give all of it up for a while. To its neighbours an allocation that is resized is one that
// is freed and allocated again: so the program does before it what it does before a free, and those
// that use the memory afterwards come behind it.

var inPlaceKinds = map[trace.OpKind]kind{
	trace.OpResize: {
		propose: func(g *Generator) trace.Op { return g.resize(g.anyMemory()) },
		allowed: (*Program).mayResize,
		did:     (*Program).resized,
		ends:    (*Lifetimes).free,
		begins: func(l *Lifetimes, op *trace.Op, _ *perform.Result) {
			m := l.program.find(op.ID)
			l.begin(l.program.streams[m.slot].index, m.device, spec.Range{Ptr: m.ptr, Bytes: op.Size}, nil)
		},
		mayFail: func(_ *Trial, _ *trace.Op, err error) (bool, *Failure) {
			return trace.ErrorName(err) == trace.ErrorOOM, nil
		},
	},
	trace.OpSleep: {
		propose: (*Generator).sleep,
		allowed: (*Program).maySleep,
		did:     func(p *Program, _ *trace.Op, _ *perform.Result) { p.asleep = true },
	},
	trace.OpWake: {
		propose: func(*Generator) trace.Op { return trace.Op{} },
		allowed: func(p *Program, _ *trace.Op) bool { return p.asleep },
		did:     func(p *Program, _ *trace.Op, _ *perform.Result) { p.asleep = false },
		atEnd: ending{stageCaptures, func(p *Program) (trace.Op, bool) {
			return trace.Op{Kind: trace.OpWake}, p.asleep
		}},
	},
}

// resize lets an allocation grow or shrink, or does what has to come first.
func (g *Generator) resize(id int64) trace.Op {
	p := g.program
	m := p.find(id)
	if m == nil {
		return trace.Op{ID: id}
	}
	if g.area.contract.Uses != UsesRecorded {
		if op := p.joinAndFree(m, m.slot); op.Kind == trace.OpWaitStream || op.Kind == trace.OpSynchronize {
			g.planned = func() trace.Op { return g.resize(id) }
			return g.called(op)
		}
	}
	return trace.Op{Kind: trace.OpResize, Device: m.device, ID: id, Size: g.sizeNear(m.size)}
}

// sizeNear is a size that an allocation may be resized to: mostly a little more, or half of it, so that
// what lies behind it is concerned.
func (g *Generator) sizeNear(bytes uint64) uint64 {
	switch g.Intn(4) {
	case 0:
		return g.size()
	case 1:
		return max(1, bytes/2)
	}
	return bytes + pick(g, []uint64{1, 512, 4096, 40_000, bytes})
}

// mayResize: the allocation could be freed, and no use by another stream is recorded.
func (p *Program) mayResize(op *trace.Op) bool {
	m := p.find(op.ID)
	return m != nil && m.size > 0 && op.Size > 0 && op.Device == m.device && !p.asleep && len(m.uses) == 0 && m.pool == nil &&
		p.ownThread(m.slot) == 0 && p.mayFree(op)
}

func (p *Program) resized(op *trace.Op, _ *perform.Result) {
	m := p.find(op.ID)
	m.size = op.Size
	m.start = p.order.Submit(p.streams[m.slot].work).Epoch
	m.touched = nil
}

// sleep gives all memory up, once the host has waited for all work if the contract says that it does.
func (g *Generator) sleep() trace.Op {
	if slot, found := g.program.unfinished(); found && g.area.contract.SleepsIdle {
		g.planned = g.sleep
		s := &g.program.streams[slot]
		return g.called(trace.Op{Kind: trace.OpSynchronize, Device: s.device, Stream: s.index})
	}
	return trace.Op{Kind: trace.OpSleep}
}

func (p *Program) maySleep(*trace.Op) bool {
	_, found := p.unfinished()
	return !p.asleep && !(found && p.area.contract.SleepsIdle)
}

// unfinished is a stream with work that the host has not waited for.
func (p *Program) unfinished() (slot int, found bool) {
	slot = slices.IndexFunc(p.streams, func(s streamState) bool { return s.worked && !p.order.Seen(s.latest) })
	return slot, slot >= 0
}
