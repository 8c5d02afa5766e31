package bounded

import (
	"maps"
	"slices"

	"gaugeblock/model"
	"gaugeblock/spec/trace"
)

// Private pools in a trace. A redirection stands for the capture of a stream, as far as
// an allocator is concerned; nothing is captured in fact.

// A savedPool is a checkpoint: its number in the trace, and the allocations that were
// out.
type savedState struct {
	state int
	ids   map[int]int64 // by address in units
}

// poolStep appends what a step that has to do with pools is in a trace.
func (t *tracer) poolStep(from, to *model.State, name string, arguments []int) bool {
	switch name {
	case "BeginAllocateToPool":
		t.begin(from, to, arguments[0], arguments[1])
	case "EndAllocateToPool":
		t.add(to, trace.Op{Kind: trace.OpPoolEnd, Pool: PoolID(uint64(arguments[0]))})
	case "ReleasePool":
		t.add(to, trace.Op{Kind: trace.OpPoolRelease, Pool: PoolID(uint64(arguments[0]))})
	case "Checkpoint":
		t.checkpointCount++
		t.checkpoints[arguments[0]] = savedState{t.checkpointCount, t.liveIn(from, arguments[0])}
		t.add(to, trace.Op{Kind: trace.OpCheckpoint, Pool: PoolID(uint64(arguments[0])), State: t.checkpointCount})
	case "SetCheckpointPoolState":
		t.restore(from, to, arguments[0])
	default:
		return false
	}
	return true
}

// begin redirects a stream. A pool that is to be marked is made before, which counts as
// a use, too; that one ends again.
func (t *tracer) begin(from, to *model.State, number, stream int) {
	id := PoolID(uint64(number))
	marked := slices.ContainsFunc(to.Pools, func(p model.Pool) bool { return p.ID == id && p.UseOnOOM })
	isNew := marked && useCount(from, id) < 0
	if isNew {
		t.ops = append(t.ops, trace.Op{Kind: trace.OpPoolCreate, Pool: id, UseOnOOM: true})
	}
	t.add(to, trace.Op{Kind: trace.OpPoolBegin, Pool: id, By: trace.ByStream, Stream: stream})
	if isNew {
		t.ops = append(t.ops, trace.Op{Kind: trace.OpPoolRelease, Pool: id})
	}
}

// idsIn are the allocations of a pool that are out.
func (t *tracer) liveIn(s *model.State, number int) map[int]int64 {
	ids := maps.Clone(t.live)
	maps.DeleteFunc(ids, func(address int, _ int64) bool {
		_, g := blockAt(s, address)
		return poolNumber(g.Pool) != number
	})
	return ids
}

// restore sets a pool back: what was out then is out again, the rest is not.
func (t *tracer) restore(from, to *model.State, number int) {
	saved := t.checkpoints[number]
	op := trace.Op{Kind: trace.OpRestore, Pool: PoolID(uint64(number)), State: saved.state}
	op.Live = slices.Sorted(maps.Values(saved.ids))
	for address, id := range t.liveIn(from, number) {
		delete(t.live, address)
		if !slices.Contains(op.Live, id) {
			op.Freed = append(op.Freed, id)
		}
	}
	slices.Sort(op.Freed)
	maps.Copy(t.live, saved.ids)
	t.add(to, op)
}
