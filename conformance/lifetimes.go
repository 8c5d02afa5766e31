package conformance

import (
	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// The device has to be told when memory begins to be somebody's and when it ends:
// that is all that it needs in order to find hazards. See careful.go for what the
// program has to do.

// Lifetimes tells a device of the lifetimes of a program's memory.
type Lifetimes struct {
	program *Program
	gpu     *fakegpu.GPU
}

// Lifetimes are those of the program's memory on a device, from now on.
func (p *Program) Lifetimes(gpu *fakegpu.GPU) *Lifetimes { return &Lifetimes{p, gpu} }

// Before tells the device what an operation that is about to be performed will free; undo
// takes that back.
func (l *Lifetimes) Before(op *trace.Op) (undo func()) {
	if ends := l.program.kind(op.Kind).ends; ends != nil {
		return ends(l, op)
	}
	return func() {}
}

// After tells the device what an operation has allocated, and what callbacks freed. The
// program has not been told of the operation yet (Did).
func (l *Lifetimes) After(op *trace.Op, out *perform.Result) {
	l.end(out.Freed)
	if begins := l.program.kind(op.Kind).begins; begins != nil && out.Err == nil && !out.Skipped {
		begins(l, op, out)
	}
}

func (l *Lifetimes) end(ids []int64) {
	for _, id := range ids {
		l.gpu.EndLifetime(l.program.find(id).ptr)
	}
}

func (l *Lifetimes) begin(stream int, dev spec.Device, r spec.Range, pool *poolState) {
	life := fakegpu.Lifetime{Range: r, Device: dev, Stream: l.program.header.Streams[stream]}
	if pool != nil {
		life.Pool, life.Captured = pool.id, pool.graphs
	}
	l.gpu.BeginLifetime(life)
}

// recordStream tells the device that the allocator knows of a use.
func (l *Lifetimes) recordStream(op *trace.Op, _ *perform.Result) {
	if m := l.program.find(op.ID); m != nil {
		l.gpu.RecordUse(m.ptr, op.Device, l.program.header.Streams[op.Stream])
	}
}

// watches: after a failure that was planned, a program may not be careful any more,
// an operation of its own having failed.
func (t *Trial) watches() bool { return !t.faulted || t.program.area.contract.FailingEvents }
