package conformance

import (
	"slices"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Memory that another device or another process reaches.

var (
	sharingShares = []Share{{trace.OpShare, 2}, {trace.OpOpenShared, 5}, {trace.OpCloseShared, 4}}
	peerShares    = []Share{
		{trace.OpPeerAccess, 2}, {trace.OpCopy, 8}, {trace.OpRecordEvent, 8}, {trace.OpWaitEvent, 12},
		{trace.OpSetMemoryFraction, 1},
	}
	peerMisuse = []trace.OpKind{trace.OpPeerAccess}
)

var sharingKinds = map[trace.OpKind]kind{
	trace.OpPeerAccess: {
		propose: func(g *Generator) trace.Op { return trace.Op{Device: g.device(), Peer: g.device()} },
		allowed: func(_ *Program, op *trace.Op) bool { return op.Peer != op.Device },
		did: func(p *Program, op *trace.Op, _ *perform.Result) {
			p.peers = append(p.peers, [2]spec.Device{op.Device, op.Peer})
		},
		misuse: &misuse{
			propose: func(g *Generator) trace.Op {
				d := g.device()
				return trace.Op{Device: d, Peer: d}
			},
			wrong:  func(p *Program, op *trace.Op) bool { return op.Peer == op.Device },
			answer: trace.ErrorInvalidArgument,
		},
	},
	trace.OpShare: {propose: (*Generator).share, allowed: (*Program).mayShare, did: (*Program).didShare},
	trace.OpOpenShared: {
		propose: (*Generator).openShared, allowed: (*Program).mayOpenShared, did: (*Program).didOpenShared,
		atEnd: ending{stageShared, (*Program).closeNext},
	},
	trace.OpCloseShared: {
		propose: (*Generator).closeShared,
		allowed: func(p *Program, op *trace.Op) bool { return slices.Contains(p.opened, op.ID) },
		did: func(p *Program, op *trace.Op, _ *perform.Result) {
			p.opened = slices.DeleteFunc(p.opened, func(id int64) bool { return id == op.ID })
		},
	},
}

func (g *Generator) share() trace.Op {
	op := trace.Op{ID: g.anyMemory(), Handle: g.program.handleIDs}
	if m := g.program.find(op.ID); m != nil {
		op.Device = m.device
	}
	return op
}

func (p *Program) mayShare(op *trace.Op) bool {
	m := p.find(op.ID)
	return m != nil && m.size > 0 && !m.uncached && m.device == op.Device && p.handle(op.Handle) == nil
}

// didShare: a handle can be opened as long as its memory is allocated.
func (p *Program) didShare(op *trace.Op, _ *perform.Result) {
	p.find(op.ID).shared = true
	p.handles = append(p.handles, handle{op.Handle, op.ID})
	p.handleIDs = max(p.handleIDs, op.Handle+1)
}

func (g *Generator) openShared() trace.Op {
	op := trace.Op{Device: g.device(), ID: int64(g.program.ids), Handle: -1}
	if len(g.program.handles) > 0 {
		h := pick(g, g.program.handles)
		op.Handle, op.Device = h.number, g.program.find(h.of).device
	}
	return op
}

func (p *Program) mayOpenShared(op *trace.Op) bool {
	h := p.handle(op.Handle)
	return h != nil && p.find(h.of).device == op.Device && p.find(op.ID) == nil && !slices.Contains(p.opened, op.ID)
}

func (p *Program) didOpenShared(op *trace.Op, _ *perform.Result) {
	p.opened = append(p.opened, op.ID)
	p.ids = max(p.ids, int(op.ID)+1)
}

func (g *Generator) closeShared() trace.Op {
	if len(g.program.opened) == 0 {
		return trace.Op{ID: -1}
	}
	return trace.Op{ID: pick(g, g.program.opened)}
}

// closeNext closes what was opened first.
func (p *Program) closeNext() (op trace.Op, more bool) {
	if len(p.opened) == 0 {
		return trace.Op{}, false
	}
	return trace.Op{Kind: trace.OpCloseShared, ID: p.opened[0]}, true
}
