package whatif

import (
	"fmt"
	"maps"
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// WorkloadError is an input that has no workload: a snapshot without history, or a trace
// whose operations cannot be repeated under other settings.
type WorkloadError struct{ Reason string }

func (e *WorkloadError) Error() string { return e.Reason }

// FromSnapshot finds the requests of a device's allocator in the history of a snapshot.
//
// The history records what the allocator did. An alloc entry is a request, an oom entry
// a request that failed, a free_requested entry a free. The other entries are decisions
// of the allocator and are not read, with two exceptions. Where free_completed does not
// follow a free_requested at once, the memory had stream uses. And segments that were
// freed without need were freed by empty_cache (segment_frees.go).
func FromSnapshot(f *snapshot.File, dev spec.Device) (*Workload, error) {
	if dev < 0 || int(dev) >= len(f.DeviceTraces) || len(f.DeviceTraces[dev]) == 0 {
		return nil, &WorkloadError{fmt.Sprintf("the snapshot has no history of device %d: it must be recorded with torch.cuda.memory._record_memory_history()", dev)}
	}
	trace := f.DeviceTraces[dev]
	w := &Workload{Device: dev, trace: trace, Config: spec.DefaultConfig(spec.DefaultGeometry())}
	if f.AllocatorSettings != nil {
		w.Config = f.AllocatorSettings.Config
	}
	start := stateAtStart(f, dev, trace)
	w.Unrecorded.InconsistentEntries = start.inconsistent
	w.InitialSegments = start.segments(dev, w.Config)
	if first, last := trace[0].TimeUS, trace[len(trace)-1].TimeUS; first > 0 {
		w.DurationUS = last - first
	}
	r := &snapshotRebuilder{
		Workload: w, reserved: start.reserved, allocated: map[spec.Ptr]int32{}, pending: map[spec.Ptr]int32{},
		pools: poolsOfSegments(f, dev, trace),
	}
	r.begin()
	for i := range trace {
		r.entry(i)
	}
	r.end()
	w.checkInitialLayout()
	return w, nil
}

// snapshotRebuilder reads a history from its start.
type snapshotRebuilder struct {
	*Workload
	reserved     reservedMemory
	allocated    map[spec.Ptr]int32  // the IDs
	pending      map[spec.Ptr]int32  // freed, not completed: the number of the free
	pools        map[int]spec.PoolID // of segment_alloc and segment_map entries, by index; see pools.go
	segmentFrees segmentFrees
}

// begin gives IDs to the initial blocks.
func (r *snapshotRebuilder) begin() {
	streams := map[spec.Stream]bool{}
	for i := range r.InitialSegments {
		for _, b := range r.InitialSegments[i].Blocks {
			if b.State == spec.Inactive {
				continue
			}
			id := r.newID()
			if b.State == spec.ActiveAllocated {
				r.allocated[b.Address] = id
			} else {
				r.pending[b.Address] = int32(len(r.Requests))
				r.add(Request{Kind: Free, ID: id, PendingFree: true})
				r.Unrecorded.PendingFrees++
			}
		}
		streams[r.InitialSegments[i].Stream] = true
		r.poolNumber(r.InitialSegments[i].Pool)
	}
	for i := range r.trace {
		streams[r.trace[i].Stream] = true
	}
	r.Streams = slices.Sorted(maps.Keys(streams))
	r.segmentFrees = inferSegmentFrees(r.trace, r.InitialSegments, r.Config)
	r.Limit = r.segmentFrees.limit
}

func (r *snapshotRebuilder) newID() int32 {
	r.Allocations++
	return int32(r.Allocations - 1)
}

func (r *snapshotRebuilder) add(q Request) { r.Requests = append(r.Requests, q) }

// entry reads one entry.
func (r *snapshotRebuilder) entry(i int) {
	e := &r.trace[i]
	if r.segmentFrees.emptied[i] {
		r.Unrecorded.EmptyCaches++
		r.add(Request{Kind: EmptyCache, Entry: int32(i)})
	}
	switch e.Action {
	case spec.ActionAlloc:
		id := r.newID()
		r.allocated[e.Addr] = id
		r.Mallocs++
		r.add(Request{Kind: Malloc, ID: id, Bytes: e.Size, Stream: e.Stream, Pool: r.pool(e), Entry: int32(i)})
	case spec.ActionOOM:
		r.Mallocs++
		r.Unrecorded.OOMs++
		r.add(Request{Kind: FailedMalloc, ID: r.newID(), Bytes: e.Size, Stream: e.Stream, Entry: int32(i)})
	case spec.ActionFreeRequested:
		r.free(i)
	case spec.ActionFreeCompleted:
		if at, pending := r.pending[e.Addr]; pending {
			r.Requests[at].CompletedBefore = int32(len(r.Requests))
			delete(r.pending, e.Addr)
		}
	case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
		pool, known := r.pools[i]
		r.reserved.add(reservedRange{Range: spec.Range{Ptr: e.Addr, Bytes: e.Size}, stream: e.Stream, pool: pool, poolKnown: known})
	case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
		r.reserved.remove(spec.Range{Ptr: e.Addr, Bytes: e.Size})
	}
}

// free reads a free. The next entry shows whether it completed at once.
func (r *snapshotRebuilder) free(i int) {
	e := &r.trace[i]
	id, isAllocated := r.allocated[e.Addr]
	if !isAllocated {
		r.Unrecorded.InconsistentEntries++
		return
	}
	delete(r.allocated, e.Addr)
	q := Request{Kind: Free, ID: id, Stream: e.Stream, Entry: int32(i)}
	if i+1 >= len(r.trace) || r.trace[i+1].Action != spec.ActionFreeCompleted || r.trace[i+1].Addr != e.Addr {
		q.PendingFree = true
		r.Unrecorded.PendingFrees++
		r.pending[e.Addr] = int32(len(r.Requests))
	}
	r.add(q)
}

// end lets the frees that never completed complete after the last request.
func (r *snapshotRebuilder) end() {
	for _, at := range r.pending {
		r.Requests[at].CompletedBefore = int32(len(r.Requests))
	}
}
