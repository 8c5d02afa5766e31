package whatif

import (
	"math"
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// Which pool a request went to is not in its entry (PyTorch up to 2.11). But the
// segments at the end of the trace say their pools, and a segment has the same pool
// all its life, so the pool of every block in a segment that is still there is known.
// Of segments that were returned meanwhile it is not; they count as the default
// pool's.

// poolsOfRanges says the pools of segments by the index of the entry that obtained
// them, as far as they are known. It is nil where no private pool is in sight.
func poolsOfRanges(f *snapshot.File, dev spec.Device, trace []snapshot.Entry) map[int]spec.PoolID {
	memory := memoryAtEnd(f.Segments, dev)
	if !slices.ContainsFunc(memory, func(r heldRange) bool { return !r.pool.IsDefault() }) {
		return nil
	}
	pools := map[int]spec.PoolID{}
	for i := len(trace) - 1; i >= 0; i-- {
		e := &trace[i]
		switch e.Action {
		case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
			if at := memory.around(e.Addr); at >= 0 && memory[at].poolKnown {
				pools[i] = memory[at].pool
			}
			memory.remove(spec.Range{Ptr: e.Addr, Bytes: e.Size})
		case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
			memory.add(returnedRange(e))
		}
	}
	return pools
}

// pool gives the number of the pool that an alloc entry was served from.
func (r *rebuilder) pool(e *snapshot.Entry) uint8 {
	id := e.Context.Pool
	if !e.Context.PoolKnown && r.pools != nil {
		at := r.memory.around(e.Addr)
		if at >= 0 {
			id = r.memory[at].pool
		}
		if at < 0 || !r.memory[at].poolKnown {
			r.Unknown.LostPools++
		}
	}
	return r.poolNumber(id)
}

// poolNumber gives the number of a pool, a new one to a pool that is new.
func (h *History) poolNumber(id spec.PoolID) uint8 {
	if id.IsDefault() {
		return 0
	}
	at := slices.Index(h.Pools, id)
	if at < 0 && len(h.Pools) < math.MaxUint8 {
		h.Pools = append(h.Pools, id)
		at = len(h.Pools) - 1
	}
	return uint8(at + 1)
}
