package conformance

import (
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// The rules of the device: what may be asked of streams, captures and graphs.

func (p *Program) state(op *trace.Op) *streamState { return &p.streams[p.slot(op.Device, op.Stream)] }

// mayHold: a stream that waits for another one, or is busy, is not made busy on top of
// that. What was given to it before could come to its end all the same, which a
// spec.History cannot tell from what was given later.
func (p *Program) mayHold(op *trace.Op) bool {
	return p.state(op).capture == nil && p.held(p.slot(op.Device, op.Stream)) == 0
}

// mayDrain: a stream that waits for another one cannot be drained before that is.
func (p *Program) mayDrain(op *trace.Op) bool { return p.state(op).behind == 0 }

func (p *Program) maySynchronize(op *trace.Op) bool {
	return p.runs(op) && p.state(op).capture == nil && !p.strict(nil)
}

// runs reports whether the stream goes on, at the latest when somebody waits for it.
// On a device that does not wait (spec.TraceHeader.Waits) work that touches memory is
// given only to streams that run, or are captured: there the allocator's frees do not
// wait for streams that are held, so that work of theirs could come to memory which
// is gone.
func (p *Program) runs(op *trace.Op) bool {
	return p.header.Waits || p.held(p.slot(op.Device, op.Stream)) == 0
}

func (p *Program) mayLaunch(op *trace.Op) bool {
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

func (p *Program) mayCopy(op *trace.Op) bool {
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
	bytes := min(from.size, to.size)
	op.Reads[0] = trace.OpRange{ID: from.id, Bytes: bytes}
	op.Writes[0] = trace.OpRange{ID: to.id, Bytes: bytes}
	return true
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

func (p *Program) mayWaitEvent(op *trace.Op) bool {
	e := p.event(op.Event)
	switch {
	case e == nil:
		return false
	case e.capture != nil:
		return !e.capture.over && p.mayFollow(op, e.capture)
	}
	return p.state(op).capture == nil && p.mayHoldUp(p.slot(op.Device, op.Stream), e.behind)
}

// mayBeginCapture: requests have to be redirected before, or in the very next
// operation. While one capture is under way another can begin if both are relaxed:
// otherwise neither could be made a graph that can be launched.
func (p *Program) mayBeginCapture(op *trace.Op) bool {
	alone := len(p.captures) == 0
	both := len(p.captures) == 1 && !p.strict(nil) && op.Mode == spec.CaptureRelaxed
	return op.Stream != 0 && p.state(op).capture == nil && (alone || both)
}

func (p *Program) mayEndCapture(op *trace.Op) bool {
	k := p.state(op).capture
	return k != nil && k.origin == p.slot(op.Device, op.Stream) && k.unjoined() < 0 &&
		!p.strict(k) && p.graph(op.Graph) == nil
}

func (p *Program) mayLaunchGraph(op *trace.Op) bool {
	g := p.graph(op.Graph)
	slot := p.slot(op.Device, op.Stream)
	return g != nil && g.device == op.Device && p.launchable(g, slot) &&
		p.state(op).capture == nil && p.runs(op)
}

func (p *Program) mayDestroyGraph(op *trace.Op) bool {
	return p.graph(op.Graph) != nil && !p.strict(nil)
}
