package conformance

import (
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/tests/replay"
)

// The device finds hazards (fakegpu.Hazard): work on memory that somebody else's
// work may still be using. It has to be told when memory begins to be somebody's and
// when it ends. That is worth something only if the program itself is careful: it
// lets a stream touch another stream's memory only when that stream waits for the
// owner's, and after recording it. So areas say whether their programs are
// (Area.Careful).

// mayUse reports whether a careful program lets work of the stream touch the memory.
func (p *Program) mayUse(slot int, m *memory) bool {
	if !p.area.Careful || slot == m.slot {
		return true
	}
	for _, u := range m.uses {
		if u.slot == slot {
			return m.ready&(1<<slot) != 0
		}
	}
	return false
}

// orders notes that a stream comes behind everything in another one: whatever is
// ready there is ready here.
func (p *Program) orders(slot, on int) {
	for _, m := range p.memory {
		if m.ready&(1<<on) != 0 {
			m.ready |= 1 << slot
		}
	}
}

// endLife tells the device that memory is about to be given back.
func (t *Trial) endLife(op *spec.Op) (undo func()) {
	if m := t.program.find(op.ID); op.Kind == spec.OpFree && m != nil && t.watches() {
		return t.player.GPU().TakeBack(m.ptr)
	}
	return func() {}
}

// beginLives tells the device what was given out.
func (t *Trial) beginLives(op *spec.Op, out *replay.Performed) {
	if !t.watches() {
		return
	}
	for _, id := range out.Freed {
		t.player.GPU().TakeBack(t.program.find(id).ptr)
	}
	if op.Kind != spec.OpMalloc || out.Err != nil || out.Ptr == 0 {
		return
	}
	pool := spec.DefaultPool
	if q := t.program.diverted(op); q != nil {
		pool = q.id
	}
	t.player.GPU().GiveOut(fakegpu.Lifetime{
		Range: spec.Range{Ptr: out.Ptr, Bytes: op.Size}, Device: op.Device,
		Stream: t.header.Streams[op.Stream], Pool: pool,
	})
}

func (t *Trial) watches() bool { return t.program.area.Careful && !t.faulted }
