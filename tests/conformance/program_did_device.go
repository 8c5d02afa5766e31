package conformance

import (
	"slices"

	"gaugeblock/spec/trace"
)

// didDevice takes note of what was asked of the device.
func (p *Program) didDevice(op *trace.Op) {
	slot := p.slot(op.Device, op.Stream)
	s := &p.streams[slot]
	switch op.Kind {
	case trace.OpBusy:
		s.busy = true
	case trace.OpDrain:
		p.drained(slot)
	case trace.OpKernel, trace.OpCopy:
		if s.capture != nil {
			p.captured(s.capture, slot, op)
			return
		}
		for _, m := range p.ranges(op) {
			if m.pool != nil {
				m.pool.touched(slot)
			}
		}
	case trace.OpSynchronize:
		p.synchronized(slot)
	case trace.OpGraphLaunch:
		g := p.graph(op.Graph)
		g.latest = slot
		for _, q := range g.pools {
			q.touched(slot)
		}
	case trace.OpWaitStream:
		p.waited(slot, p.slot(op.Device, op.On))
		p.orders(slot, p.slot(op.Device, op.On))
	case trace.OpRecordEvent:
		p.recordedEvent(op.Event, slot)
	case trace.OpWaitEvent:
		p.waitedEvent(slot, p.event(op.Event))
	case trace.OpCaptureBegin:
		k := p.newCapture(op)
		p.captures = append(p.captures, k)
		if !p.redirected(op.Device) {
			p.orphan = k
		}
	case trace.OpCaptureEnd:
		p.endedCapture(op)
	case trace.OpGraphDestroy:
		p.graphs = slices.DeleteFunc(p.graphs, func(g *graphState) bool { return g.id == op.Graph })
	}
}

// captured: work became a node. The graphs' private memory stays as long as its pool
// is in use; whatever else the work touches has to be out when the graph is launched.
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

func (p *Program) waited(slot, on int) {
	k := p.streams[on].capture
	if k == nil {
		p.hold(slot, p.held(on))
		return
	}
	if p.streams[slot].capture == nil {
		p.join(k, slot)
	}
	k.follow(slot, k.after[on])
}

func (p *Program) recordedEvent(id, slot int) {
	e := p.event(id)
	if e == nil {
		e = &eventState{id: id}
		p.events = append(p.events, e)
		p.eventIDs = max(p.eventIDs, id+1)
	}
	e.behind, e.capture, e.reached = 0, p.streams[slot].capture, nil
	if e.capture != nil {
		e.reached = slices.Clone(e.capture.after[slot])
	} else {
		e.behind = p.held(slot)
	}
}

func (p *Program) waitedEvent(slot int, e *eventState) {
	if e.capture == nil {
		p.hold(slot, e.behind)
		return
	}
	if p.streams[slot].capture == nil {
		p.join(e.capture, slot)
	}
	e.capture.follow(slot, e.reached)
}

func (p *Program) endedCapture(op *trace.Op) {
	k := p.state(op).capture
	k.over = true
	for _, m := range k.members {
		p.streams[m].capture = nil
	}
	p.captures = slices.DeleteFunc(p.captures, func(o *captureState) bool { return o == k })
	p.graphs = append(p.graphs, &graphState{id: op.Graph, device: op.Device, needs: k.needs, pools: k.pools, latest: k.origin})
	p.graphIDs = max(p.graphIDs, op.Graph+1)
}
