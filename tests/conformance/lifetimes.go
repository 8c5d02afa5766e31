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

// beginLives tells the device what an operation allocated, and what callbacks freed. The
// program has not performed the operation yet.
func (t *Trial) beginLives(op *trace.Op, out *replay.Performed) {
	if !t.watches() {
		return
	}
	t.endLives(out.Freed)
	if begins := kinds[op.Kind].begins; begins != nil && out.Err == nil && !out.Skipped {
		begins(t, op, out)
	}
}

func (t *Trial) endLives(ids []int64) {
	for _, id := range ids {
		t.player.GPU().EndLifetime(t.program.find(id).ptr)
	}
}

func (t *Trial) beginLife(stream int, dev spec.Device, r spec.Range, pool *poolState) {
	l := fakegpu.Lifetime{Range: r, Device: dev, Stream: t.header.Streams[stream]}
	if pool != nil {
		l.Pool, l.Captured = pool.id, pool.graphs
	}
	t.player.GPU().BeginLifetime(l)
}

// watches: after a failure that was planned, a program may not be careful any more,
// an operation of its own having failed.
func (t *Trial) watches() bool { return !t.faulted }
