package conformance

import (
	"errors"

	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/spec/trace"
)

// What a device does by itself.

var deviceKinds = map[trace.OpKind]kind{
	trace.OpBusy: {
		propose: (*Generator).on, allowed: (*Program).mayHold,
		did:   func(p *Program, op *trace.Op, _ *perform.Result) { p.order.Submit(p.state(op).busy) },
		atEnd: ending{stageStreams, (*Program).drainNext},
	},
	trace.OpDrain: {
		propose: (*Generator).on, allowed: (*Program).mayDrain,
		did: func(p *Program, op *trace.Op, _ *perform.Result) { p.drained(p.slot(op.Device, op.Stream)) },
		mayFail: func(t *Trial, _ *trace.Op, err error) (explained bool, f *Failure) {
			return t.program.area.late && errors.Is(err, fakegpu.ErrEndlessWait), nil
		},
	},
	trace.OpDeviceFree: {
		propose: func(g *Generator) trace.Op {
			return trace.Op{Device: g.device(), Size: uint64(g.Intn(8)) * g.program.header.TotalMemory / 8}
		},
		allowed: always, did: nothing, before: (*Trial).setFree,
	},
	trace.OpFault: {
		notProposed: "RunFaults puts faults into programs that are known",
		allowed:     always, did: nothing,
		before: func(t *Trial, _ *trace.Op) { t.faulted = true },
	},
}

// mayHold: a stream that waits for another one, or is busy, is not made busy as well. Its
// earlier work could still complete, and an invariant.History could not tell that work from the
// later work.
func (p *Program) mayHold(op *trace.Op) bool {
	return p.state(op).capture == nil && p.held(p.slot(op.Device, op.Stream)) == 0
}

// drainNext drains a stream that is busy and waits for no other. Where streams may wait for
// each other's earlier work there need not be one: then the host waits.
func (p *Program) drainNext() (op trace.Op, more bool) {
	for slot := range p.streams {
		if p.area.late && p.held(slot) != 0 {
			s := &p.streams[slot]
			return trace.Op{Kind: trace.OpSynchronize, Device: s.device, Stream: s.index}, true
		}
		if p.held(slot) == 1<<slot {
			s := &p.streams[slot]
			return trace.Op{Kind: trace.OpDrain, Device: s.device, Stream: s.index}, true
		}
	}
	return trace.Op{}, false
}

// mayDrain: a stream that waits for another one cannot be drained before that is. Where streams
// may wait for each other's earlier work, its own work goes on as far as it can.
func (p *Program) mayDrain(op *trace.Op) bool {
	return p.area.late || p.behind(p.slot(op.Device, op.Stream)) == 0
}

// setFree foresees what device_free does: from then on the device can give its argument in
// bytes, beside what it has given.
func (t *Trial) setFree(op *trace.Op) {
	free, total, err := t.player.GPU().MemInfo(op.Device)
	if err != nil { // a fault that was meant for the allocator; it happens once
		free, total, err = t.player.GPU().MemInfo(op.Device)
	}
	if err == nil {
		given := t.limit[op.Device] - free
		t.limit[op.Device] = given + min(op.Size, total-given)
	}
}
