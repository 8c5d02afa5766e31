package conformance

import (
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tests/replay"
)

// The device has to be told when memory begins to be somebody's and when it ends:
// that is all that it needs in order to find hazards. See careful.go for what the
// program has to do.

// endLife tells the device that memory is about to be given back.
func (t *Trial) endLife(op *trace.Op) (undo func()) {
	if m := t.program.find(op.ID); op.Kind == trace.OpFree && m != nil && t.watches() {
		return t.player.GPU().EndLifetime(m.ptr)
	}
	return func() {}
}

// beginLives tells the device what was given out, and what callbacks and restores
// have taken back. The program has not taken note of the operation yet.
func (t *Trial) beginLives(op *trace.Op, out *replay.Performed) {
	if !t.watches() {
		return
	}
	t.endLives(out.Freed)
	switch {
	case out.Err != nil || out.Skipped:
	case op.Kind == trace.OpMalloc && out.Ptr != 0:
		pool := t.program.diverted(op)
		t.giveOut(op.Stream, op.Device, spec.Range{Ptr: out.Ptr, Bytes: op.Size}, pool)
	case op.Kind == trace.OpRestore:
		t.endLives(op.Freed)
		saved := t.program.states[op.State]
		for i := range saved.live {
			m := &saved.live[i]
			if t.program.find(m.id) == nil { // what is out and stays out lives on
				index := t.program.streams[m.slot].index
				t.giveOut(index, m.device, spec.Range{Ptr: m.ptr, Bytes: m.size}, saved.pool)
			}
		}
	}
}

func (t *Trial) endLives(ids []int64) {
	for _, id := range ids {
		t.player.GPU().EndLifetime(t.program.find(id).ptr)
	}
}

func (t *Trial) giveOut(stream int, dev spec.Device, r spec.Range, pool *poolState) {
	l := fakegpu.Lifetime{Range: r, Device: dev, Stream: t.header.Streams[stream]}
	if pool != nil {
		l.Pool, l.Captured = pool.id, pool.graphs
	}
	t.player.GPU().BeginLifetime(l)
}

// watches: after a failure that was planned, a program may not be careful any more,
// an operation of its own having failed.
func (t *Trial) watches() bool { return !t.faulted }
