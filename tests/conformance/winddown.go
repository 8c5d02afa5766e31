package conformance

import (
	"errors"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// The end of a program: it joins and ends its captures, lets all work complete,
// gives back everything that it has and empties the cache. Then the device must
// have got back every byte, and nothing of the allocator's must be left on it.

// windDown performs the end and looks what is left. A driver that has been lost
// takes nothing back; then only the structures must be sound.
func (t *Trial) windDown() (f *Failure) {
	defer t.catch(&f)
	if t.lost {
		return t.checkAll()
	}
	// Each operation makes the next one possible, so they are found one by one.
	for op, more := t.program.lastThings(); more; op, more = t.program.lastThings() {
		if !t.program.Prepare(&op) {
			return t.fail(classNoWayOut, "a program at its end may not %s", op.Kind)
		}
		if f := t.insist(op); f != nil {
			return f
		}
	}
	if f := t.insist(trace.Op{Kind: trace.OpEmptyCache}); f != nil {
		return f
	}
	if f := t.checkAll(); f != nil {
		return f
	}
	return t.checkLeaks()
}

// insist performs an operation until it succeeds. It may fail for a fault that was
// planned and has only now come, and for no other reason.
func (t *Trial) insist(op trace.Op) *Failure {
	const attempts = 3
	for range attempts {
		if f := t.step(op); f != nil {
			return f
		}
		if t.skipped {
			return t.fail(classHistory, "%s is about something that is gone", op.Kind)
		}
		if t.answered == nil {
			return nil
		}
		if op.Kind == trace.OpPoolDelete {
			return nil
		}
	}
	return t.fail(classNothing, "%s goes on failing: %v", op.Kind, t.answered)
}

// lastThings is the next thing to be put away; more is false when there is none.
func (p *Program) lastThings() (op trace.Op, more bool) {
	if len(p.captures) > 0 {
		return p.lastOf(p.captures[0]), true
	}
	for slot := range p.streams {
		if s := &p.streams[slot]; s.busy && s.behind == 0 {
			return trace.Op{Kind: trace.OpDrain, Device: s.device, Stream: s.index}, true
		}
	}
	for _, q := range p.pools {
		switch {
		case q.begun:
			return trace.Op{Kind: trace.OpPoolEnd, Device: q.device, Pool: q.id}, true
		case q.useCount > 0:
			if slot, on, waits := p.unsettled(q); waits {
				s := &p.streams[slot]
				return trace.Op{Kind: trace.OpWaitStream, Device: s.device, Stream: s.index, On: p.streams[on].index}, true
			}
			return trace.Op{Kind: trace.OpPoolRelease, Device: q.device, Pool: q.id}, true
		}
	}
	switch {
	case len(p.graphs) > 0:
		return trace.Op{Kind: trace.OpGraphDestroy, Device: p.graphs[0].device, Graph: p.graphs[0].id}, true
	case len(p.opened) > 0:
		return trace.Op{Kind: trace.OpCloseShared, ID: p.opened[0]}, true
	case len(p.memory) > 0:
		return trace.Op{Kind: trace.OpFree, ID: p.memory[0].id}, true
	}
	return trace.Op{}, false
}

// lastOf is the next thing on the way to the end of a capture.
func (p *Program) lastOf(k *captureState) trace.Op {
	op := trace.Op{Device: k.device, Stream: p.streams[k.origin].index}
	switch m := k.unjoined(); {
	case p.orphan == k:
		op.Kind, op.By = trace.OpPoolBegin, trace.ByCapture
		op.Pool = spec.PoolID{Capture: uint64(max(p.poolIDs, 1))}
	case m >= 0:
		op.Kind, op.On = trace.OpWaitStream, p.streams[m].index
	default:
		op.Kind, op.Graph = trace.OpCaptureEnd, p.graphIDs
	}
	return op
}

// checkLeaks closes the allocator, if it can be closed, and looks what the devices
// still have given.
func (t *Trial) checkLeaks() *Failure {
	if allocator, able := t.player.Allocator().(interface{ Close() error }); able {
		var err error
		for range 3 {
			if err = allocator.Close(); err == nil || !t.driverError(err) {
				break
			}
		}
		if err != nil {
			return t.fail(classUnreleased, "%v", err)
		}
	}
	for dev := range t.header.Devices {
		stats, err := t.player.Allocator().Stats(spec.Device(dev))
		if errors.Is(err, spec.ErrNotSupported) {
			continue
		}
		if held := stats.ReservedBytes[spec.Aggregate].Current; err != nil || held != 0 {
			if f := t.fail("not returned", "device %d: %d bytes are reserved at the end (%v)", dev, held, err); f != nil {
				return f
			}
		}
	}
	if err := t.player.Close(); err != nil {
		return t.fail("not returned", "%v", err)
	}
	if leaks := t.player.Leaks(); len(leaks) > 0 {
		return t.fail("leak", "at the end the driver has not got back: %s (%d such things)", leaks[0], len(leaks))
	}
	return nil
}
