package history

import (
	"math"
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// Trace entries of PyTorch up to 2.11 do not have the pool of the allocation. But the
// segments of the snapshot have their pools, and the pool of a segment never changes. So
// the pool of every block is known whose segment still exists at the end of the history.
// Segments that were freed before are taken to be of the default pool.

// poolsOfSegments returns the known pools of segments, by the index of the segment_alloc
// or segment_map entry. It is nil if the snapshot has no private pool.
func poolsOfSegments(f *snapshot.File, dev spec.Device, trace []snapshot.TraceEntry) map[int]spec.PoolID {
	reserved := reservedAtEnd(f.Segments, dev)
	if !slices.ContainsFunc(reserved, func(r reservedRange) bool { return !r.pool.IsDefault() }) {
		return nil
	}
	pools := map[int]spec.PoolID{}
	for i := len(trace) - 1; i >= 0; i-- {
		e := &trace[i]
		switch e.Action {
		case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
			if at := reserved.rangeAt(e.Addr); at >= 0 && reserved[at].poolKnown {
				pools[i] = reserved[at].pool
			}
			reserved.remove(spec.Range{Ptr: e.Addr, Bytes: e.Size})
		case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
			reserved.add(freedRange(e))
		}
	}
	return pools
}

// pool returns the number of the pool of an alloc entry.
func (r *snapshotRebuilder) pool(e *snapshot.TraceEntry) uint8 {
	id := e.Context.Pool
	if !e.Context.PoolKnown && r.pools != nil {
		at := r.reserved.rangeAt(e.Addr)
		if at >= 0 {
			id = r.reserved[at].pool
		}
		if at < 0 || !r.reserved[at].poolKnown {
			r.Unrecorded.UnknownPools++
		}
	}
	return r.PoolNumber(id)
}

// PoolNumber returns the number of a pool, and adds a new pool to PrivatePools.
func (w *Workload) PoolNumber(id spec.PoolID) uint8 {
	if id.IsDefault() {
		return 0
	}
	at := slices.Index(w.PrivatePools, id)
	if at < 0 && len(w.PrivatePools) < math.MaxUint8 {
		w.PrivatePools = append(w.PrivatePools, id)
		at = len(w.PrivatePools) - 1
	}
	return uint8(at + 1)
}

// PoolsAreKnown reports whether the private pool of every request is known, and nothing but requests
// allocates there. The trees of CUDA graphs also put back an earlier state of their pool, which only
// call stacks show.
func (w *Workload) PoolsAreKnown() bool {
	if w.Unrecorded.UnknownPools > 0 || w.Marks.GraphTrees {
		return false
	}
	for i := range w.Requests {
		if q := &w.Requests[i]; q.Kind == Malloc && q.Pool > 0 && len(framesOf(w.Entry(q))) == 0 {
			return false
		}
	}
	return true
}
