package conformance

import (
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// deviceProposals make up the operations on streams, events and graphs.
var deviceProposals = map[trace.OpKind]func(g *Generator) trace.Op{
	trace.OpBusy:        (*Generator).on,
	trace.OpDrain:       (*Generator).on,
	trace.OpSynchronize: (*Generator).synchronize,
	trace.OpKernel:      (*Generator).kernel,
	trace.OpCopy: func(g *Generator) trace.Op {
		op := g.on()
		op.Reads = []trace.OpRange{{ID: g.anyMemory()}}
		op.Writes = []trace.OpRange{{ID: g.anyMemory()}}
		return op
	},
	trace.OpWaitStream: (*Generator).waitStream,
	trace.OpRecordEvent: func(g *Generator) trace.Op {
		op := g.on()
		op.Event = g.Intn(4)
		return op
	},
	trace.OpWaitEvent: func(g *Generator) trace.Op {
		op := g.on()
		op.Event = g.Intn(4)
		return op
	},
	trace.OpCaptureBegin: func(g *Generator) trace.Op {
		op := g.on()
		op.Mode = pick(g, []spec.CaptureMode{spec.CaptureRelaxed, spec.CaptureRelaxed, spec.CaptureGlobal, spec.CaptureThreadLocal})
		return op
	},
	trace.OpCaptureEnd:   (*Generator).captureEnd,
	trace.OpGraphLaunch:  (*Generator).graphLaunch,
	trace.OpGraphDestroy: func(g *Generator) trace.Op { return trace.Op{Graph: g.anyGraph()} },
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
// recorded for it and waits for its own. It prefers memory that was given out last,
// which others may have had just before, and streams that are not the owner's.
func (g *Generator) carefulKernel() trace.Op {
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

// followOwner makes a stream that was recorded for memory wait for the memory's own;
// ok is false if there is none.
func (g *Generator) followOwner() (op trace.Op, ok bool) {
	for _, m := range g.program.memory {
		owner := &g.program.streams[m.slot]
		for _, u := range m.uses {
			s := &g.program.streams[u.slot]
			if s.device == owner.device && m.ready&(1<<u.slot) == 0 {
				return trace.Op{Device: s.device, Stream: s.index, On: owner.index}, true
			}
		}
	}
	return trace.Op{}, false
}

// waitStream joins what was forked, every other time, if anything was.
func (g *Generator) waitStream() trace.Op {
	if chance(g, 2) {
		if op, ok := g.followOwner(); ok {
			return op
		}
	}
	if q, slot, on, found := g.unsettledPool(); found && chance(g, 2) {
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

// fork lets any stream wait for one of a capture, which it joins if it is in none.
func (g *Generator) fork(k *captureState) trace.Op {
	op := g.on()
	op.On = g.program.streams[pick(g, k.members)].index
	return op
}

// join lets the origin of a capture wait for a stream that it does not come after.
func (g *Generator) join(k *captureState) trace.Op {
	op := trace.Op{Device: k.device, Stream: g.program.streams[k.origin].index}
	if m := k.unjoined(); m >= 0 {
		op.On = g.program.streams[m].index
	}
	return op
}

func (g *Generator) captureEnd() trace.Op {
	if len(g.program.captures) == 0 {
		return trace.Op{}
	}
	k := pick(g, g.program.captures)
	return trace.Op{Device: k.device, Stream: g.program.streams[k.origin].index, Graph: g.program.graphIDs}
}

// graphLaunch prefers a graph that can be launched, and a stream on which it can.
func (g *Generator) graphLaunch() trace.Op {
	const attempts = 4
	op := g.on()
	for range attempts {
		op.Graph = g.anyGraph()
		graph := g.program.graph(op.Graph)
		for try := 0; graph != nil && try < attempts; try++ {
			if op = g.on(); g.program.launchable(graph, g.program.slot(op.Device, op.Stream)) {
				op.Graph = graph.id
				return op
			}
		}
	}
	return op
}

// synchronize lets the host wait for a stream, every other time one behind which a
// pool of graphs can be used.
func (g *Generator) synchronize() trace.Op {
	if q, _, on, found := g.unsettledPool(); found && chance(g, 2) {
		return trace.Op{Device: q.device, Stream: g.program.streams[on].index}
	}
	return g.on()
}

// unsettledPool is one of those last made for graphs that some stream does not come
// behind, with that stream, and one that does.
func (g *Generator) unsettledPool() (q *poolState, slot, on int, found bool) {
	pools := g.program.pools
	for i := len(pools) - 1; i >= max(0, len(pools)-8); i-- {
		if slot, on, found = g.program.unsettled(pools[i]); found && pools[i].useCount > 0 {
			return pools[i], slot, on, true
		}
	}
	return nil, 0, 0, false
}

func (g *Generator) anyGraph() int {
	if len(g.program.graphs) == 0 {
		return -1
	}
	return pick(g, g.program.graphs).id
}
