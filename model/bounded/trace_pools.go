package bounded

import (
	"maps"
	"slices"

	"gaugeblock/model"
	"gaugeblock/spec/trace"
)

// Private pools in a trace. The trace routes requests to pools, but captures nothing.

// A savedState is a checkpoint: its number in the trace, and the ids of the blocks that
// were allocated.
type savedState struct {
	state int
	ids   map[int]int64 // by address in units
}

// poolStep appends the operations of a step on pools.
func (t *Tracer) poolStep(from, to *model.State, name string, arguments []int) bool {
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

// begin routes a stream to a pool. A pool with a mark is created before, which adds a
// use; that use ends again.
func (t *Tracer) begin(from, to *model.State, number, stream int) {
	id := PoolID(uint64(number))
	i := slices.IndexFunc(to.Pools, func(p model.Pool) bool { return p.ID == id })
	p := &to.Pools[i]
	isNew := (p.UseOnOOM || p.NoSplit) && useCount(from, id) < 0
	if isNew {
		t.Ops = append(t.Ops, trace.Op{Kind: trace.OpPoolCreate, Pool: id, UseOnOOM: p.UseOnOOM, NoSplit: p.NoSplit})
	}
	t.add(to, trace.Op{Kind: trace.OpPoolBegin, Pool: id, By: trace.ByStream, Stream: stream})
	if isNew {
		t.Ops = append(t.Ops, trace.Op{Kind: trace.OpPoolRelease, Pool: id})
	}
}

// liveIn are the allocated blocks of a pool.
func (t *Tracer) liveIn(s *model.State, number int) map[int]int64 {
	ids := maps.Clone(t.live)
	maps.DeleteFunc(ids, func(address int, _ int64) bool {
		_, g := blockAt(s, address)
		return poolNumber(g.Pool) != number
	})
	return ids
}

// restore restores a pool: exactly the blocks that were allocated then are allocated.
func (t *Tracer) restore(from, to *model.State, number int) {
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
