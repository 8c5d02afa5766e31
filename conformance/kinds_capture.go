package conformance

import (
	"slices"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Captures of streams, and the graphs that come of them.

var (
	captureShares = []Share{
		{trace.OpCaptureBegin, 4}, {trace.OpCaptureEnd, 5}, {trace.OpWaitStream, 8},
		{trace.OpGraphLaunch, 12}, {trace.OpGraphDestroy, 1}, {trace.OpSynchronize, 3},
	}
	captureMisuse = []trace.OpKind{trace.OpPoolEnd, trace.OpPoolBegin}
)

var captureKinds = map[trace.OpKind]kind{
	trace.OpCaptureBegin: {
		propose: (*Generator).captureBegin, allowed: (*Program).mayBeginCapture, did: (*Program).begunCapture,
		atEnd: ending{stageCaptures, (*Program).endNextCapture},
	},
	trace.OpCaptureEnd: {
		propose: (*Generator).captureEnd, allowed: (*Program).mayEndCapture, did: (*Program).endedCapture,
		failed: func(p *Program, op *trace.Op, _ *perform.Result) { p.endCapture(p.state(op).capture) },
		atEnd:  ending{stageGraphs, (*Program).destroyNext},
	},
	trace.OpMarkBegin: {
		notProposed: "captures are marked where they begin and end",
		allowed:     func(p *Program, _ *trace.Op) bool { return p.header.Marks },
		did:         func(p *Program, op *trace.Op, _ *perform.Result) { p.marked = append(p.marked, op.Device) },
	},
	trace.OpMarkEnd: {
		notProposed: "captures are marked where they begin and end",
		allowed:     func(p *Program, op *trace.Op) bool { return slices.Contains(p.marked, op.Device) },
		did: func(p *Program, op *trace.Op, _ *perform.Result) {
			at := slices.Index(p.marked, op.Device)
			p.marked = slices.Delete(p.marked, at, at+1)
		},
	},
	trace.OpGraphLaunch: {
		propose: (*Generator).graphLaunch, allowed: (*Program).mayLaunchGraph, did: (*Program).launchedGraph,
	},
	trace.OpGraphDestroy: {
		propose: func(g *Generator) trace.Op { return trace.Op{Graph: g.anyGraph()} },
		allowed: (*Program).mayDestroyGraph,
		did: func(p *Program, op *trace.Op, _ *perform.Result) {
			p.graphs = slices.DeleteFunc(p.graphs, func(g *graphState) bool { return g.id == op.Graph })
		},
	},
}

func (g *Generator) captureBegin() trace.Op {
	op := g.on()
	op.Mode = pick(g, []spec.CaptureMode{spec.CaptureRelaxed, spec.CaptureRelaxed, spec.CaptureGlobal, spec.CaptureThreadLocal})
	return op
}

// mayBeginCapture: requests have to be routed to a pool before, or by the very next operation.
// While one capture is under way another can begin only if both are relaxed: otherwise neither
// would become a graph that can be launched.
func (p *Program) mayBeginCapture(op *trace.Op) bool {
	alone := len(p.captures) == 0
	both := len(p.captures) == 1 && !p.strict(nil) && op.Mode == spec.CaptureRelaxed
	return op.Stream != 0 && p.state(op).capture == nil && (alone || both)
}

func (p *Program) begunCapture(op *trace.Op, _ *perform.Result) {
	k := p.newCapture(op)
	p.captures = append(p.captures, k)
	if !p.routed(op.Device) {
		p.unrouted = k
	}
}

// captured: work became a node. The graphs' private memory stays as long as its pool
// is in use; whatever else the work touches has to be allocated when the graph is launched.
func (p *Program) captured(k *captureState, slot int, op *trace.Op) {
	k.addNode(slot)
	for _, m := range p.ranges(op) {
		switch {
		case !m.private():
			k.needs = append(k.needs, m.id)
		case !slices.Contains(k.pools, m.pool):
			k.pools = append(k.pools, m.pool)
		}
	}
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

// endNextCapture is the next thing on the way to the end of a capture.
func (p *Program) endNextCapture() (op trace.Op, more bool) {
	if len(p.captures) == 0 {
		return trace.Op{}, false
	}
	k := p.captures[0]
	op = trace.Op{Device: k.device, Stream: p.streams[k.origin].index}
	switch m := k.unjoined(); {
	case p.unrouted == k:
		op.Kind, op.By = trace.OpPoolBegin, trace.ByCapture
		op.Pool = spec.PoolID{Capture: uint64(max(p.poolIDs, 1))}
	case m >= 0 && !k.spoiled:
		op.Kind, op.On = trace.OpWaitStream, p.streams[m].index
	default:
		op.Kind, op.Graph = trace.OpCaptureEnd, p.graphIDs
	}
	return op, true
}

// captureEnd ends a capture. Every other time memory of the capture that another stream uses is
// freed before, and the routing to its pool ends next, as in PyTorch: that free is often still
// deferred then. If there is no such memory it is allocated.
func (g *Generator) captureEnd() trace.Op {
	if len(g.program.captures) == 0 {
		return trace.Op{}
	}
	k := pick(g, g.program.captures)
	end := trace.Op{
		Kind: trace.OpCaptureEnd, Device: k.device, Stream: g.program.streams[k.origin].index, Graph: g.program.graphIDs,
	}
	if k.unjoined() >= 0 || chance(g, 2) {
		return end
	}
	inside := g.program.allocatedIn(k)
	used := slices.IndexFunc(inside, func(m *memory) bool { return len(m.uses) > 0 && m.pool != nil && m.pool.begun })
	if used >= 0 {
		return g.plan(trace.Op{Kind: trace.OpFree, ID: inside[used].id}, end, poolEnd(inside[used].pool))
	}
	return g.useAndEnd(k, end)
}

// useAndEnd lets another stream use memory of a capture, which is freed before the capture and the routing to the
// memory's pool end.
func (g *Generator) useAndEnd(k *captureState, end trace.Op) trace.Op {
	on := func(kind trace.OpKind, slot int) trace.Op {
		return trace.Op{Kind: kind, Device: g.program.streams[slot].device, Stream: g.program.streams[slot].index}
	}
	var others []int
	for slot := range g.program.streams {
		if s := &g.program.streams[slot]; slot != k.origin && s.index != 0 && s.device == k.device && (s.capture == nil || s.capture == k) {
			others = append(others, slot)
		}
	}
	malloc := on(trace.OpMalloc, k.origin)
	malloc.ID, malloc.Size, malloc.Thread = int64(g.program.ids), g.size(), g.thread()
	q := g.program.poolFor(&malloc)
	if q == nil || len(others) == 0 {
		return end
	}
	other := pick(g, others)
	fork, record, join := on(trace.OpWaitStream, other), on(trace.OpRecordStream, other), on(trace.OpWaitStream, k.origin)
	fork.On, join.On, record.ID = join.Stream, fork.Stream, malloc.ID
	return g.plan(fork, malloc, record, trace.Op{Kind: trace.OpFree, ID: malloc.ID}, join, end, poolEnd(q))
}

// poolEnd ends the routing to a pool.
func poolEnd(q *poolState) trace.Op {
	return trace.Op{Kind: trace.OpPoolEnd, Device: q.device, Pool: q.id}
}

func (p *Program) mayEndCapture(op *trace.Op) bool {
	k := p.state(op).capture
	return k != nil && k.origin == p.slot(op.Device, op.Stream) && (k.spoiled || k.unjoined() < 0) &&
		!p.strict(k) && p.graph(op.Graph) == nil
}

func (p *Program) endedCapture(op *trace.Op, _ *perform.Result) {
	k := p.state(op).capture
	p.endCapture(k)
	p.graphs = append(p.graphs, &graphState{id: op.Graph, device: op.Device, needs: k.needs, pools: k.pools, latest: k.origin})
	p.graphIDs = max(p.graphIDs, op.Graph+1)
}

// endCapture: a capture is over, whether it has given a graph or not.
func (p *Program) endCapture(k *captureState) {
	k.over = true
	for _, m := range k.members {
		p.streams[m].capture = nil
	}
	p.captures = slices.DeleteFunc(p.captures, func(o *captureState) bool { return o == k })
}

// InvalidateCaptures lets the program wait for streams that are being captured, which CUDA calls
// illegal and which invalidates the capture. Work is then given to no stream of it before it is ended.
func (p *Program) InvalidateCaptures() { p.spoils = true }

// addsToSpoiled reports whether a device would refuse an operation since it adds to a capture that
// yields nothing more.
func (p *Program) addsToSpoiled(op *trace.Op) bool {
	if op.Kind.Target() != trace.TargetDevice || op.Kind == trace.OpCaptureEnd {
		return false
	}
	if k := p.state(op).capture; k != nil && k.spoiled {
		return true
	}
	if op.Kind == trace.OpWaitEvent {
		e := p.event(op.Event)
		return e != nil && e.capture != nil && e.capture.spoiled
	}
	on := p.slot(op.Device, op.On)
	return op.Kind == trace.OpWaitStream && on >= 0 && p.streams[on].capture != nil && p.streams[on].capture.spoiled
}

// destroyNext destroys the graph that was made first.
func (p *Program) destroyNext() (op trace.Op, more bool) {
	if len(p.graphs) == 0 {
		return trace.Op{}, false
	}
	return trace.Op{Kind: trace.OpGraphDestroy, Device: p.graphs[0].device, Graph: p.graphs[0].id}, true
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

func (p *Program) mayLaunchGraph(op *trace.Op) bool {
	g := p.graph(op.Graph)
	slot := p.slot(op.Device, op.Stream)
	return g != nil && g.device == op.Device && p.launchable(g, slot) &&
		p.state(op).capture == nil && p.runs(op)
}

func (p *Program) launchedGraph(op *trace.Op, _ *perform.Result) {
	g, slot := p.graph(op.Graph), p.slot(op.Device, op.Stream)
	g.latest = slot
	for _, q := range g.pools {
		p.touched(q, slot)
	}
}

func (g *Generator) anyGraph() int {
	if len(g.program.graphs) == 0 {
		return -1
	}
	return pick(g, g.program.graphs).id
}

func (p *Program) mayDestroyGraph(op *trace.Op) bool {
	return p.graph(op.Graph) != nil && !p.strict(nil)
}
