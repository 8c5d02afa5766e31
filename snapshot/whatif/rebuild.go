package whatif

import (
	"fmt"
	"maps"
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// HistoryError is a snapshot that tells nothing of the past.
type HistoryError struct{ Reason string }

func (e *HistoryError) Error() string { return e.Reason }

// Rebuild reads from a snapshot what the program asked of a device's allocator.
//
// A trace has what the allocator did. Most of it has one cause: an alloc entry is a
// request that was served, an oom entry one that failed, free_requested a free. What
// remains is how the allocator went about it, and is not read, with two exceptions:
// where free_completed does not follow at once another stream used the memory, and
// segments that were returned without need were returned because the program emptied
// the cache (returns.go).
func Rebuild(f *snapshot.File, dev spec.Device) (*History, error) {
	if dev < 0 || int(dev) >= len(f.Traces) || len(f.Traces[dev]) == 0 {
		return nil, &HistoryError{fmt.Sprintf("the snapshot has no history of device %d: it must be recorded with torch.cuda.memory._record_memory_history()", dev)}
	}
	trace := f.Traces[dev]
	h := &History{Device: dev, trace: trace, Config: spec.DefaultConfig(spec.DefaultGeometry())}
	if f.Settings != nil {
		h.Config = f.Settings.Config
	}
	start := rewind(f, dev, trace)
	h.Unknown.Contradictions = start.wrong
	h.Start = start.segments(dev, h.Config)
	if first, last := trace[0].TimeUS, trace[len(trace)-1].TimeUS; first > 0 {
		h.Micros = last - first
	}
	r := &rebuilder{
		History: h, memory: start.memory, ids: map[spec.Ptr]int32{}, waiting: map[spec.Ptr]int32{},
		pools: poolsOfRanges(f, dev, trace),
	}
	r.begin()
	for i := range trace {
		r.entry(i)
	}
	r.end()
	h.checkStart()
	return h, nil
}

// rebuilder goes forwards through a trace.
type rebuilder struct {
	*History
	memory  heldMemory
	ids     map[spec.Ptr]int32  // what is given out
	waiting map[spec.Ptr]int32  // freed and not yet back: the number of the free
	pools   map[int]spec.PoolID // of segment_alloc and segment_map entries, by index; see pools.go
	returns returns
}

// begin gives numbers to what is out at the start.
func (r *rebuilder) begin() {
	streams := map[spec.Stream]bool{}
	for i := range r.Start {
		for _, b := range r.Start[i].Blocks {
			if b.State == spec.Inactive {
				continue
			}
			id := r.newID()
			r.Held = append(r.Held, id)
			if b.State == spec.ActiveAllocated {
				r.ids[b.Address] = id
			} else {
				r.waiting[b.Address] = int32(len(r.Requests))
				r.add(Request{Kind: Free, ID: id, Held: true})
				r.Unknown.Held++
			}
		}
		streams[r.Start[i].Stream] = true
		r.poolNumber(r.Start[i].Pool)
	}
	for i := range r.trace {
		streams[r.trace[i].Stream] = true
	}
	r.Streams = slices.Sorted(maps.Keys(streams))
	r.returns = findReturns(r.trace, r.Start, r.Config)
	r.Limit = r.returns.limit
}

func (r *rebuilder) newID() int32 {
	r.Allocations++
	return int32(r.Allocations - 1)
}

func (r *rebuilder) add(q Request) { r.Requests = append(r.Requests, q) }

// entry reads one entry.
func (r *rebuilder) entry(i int) {
	e := &r.trace[i]
	if r.returns.emptied[i] {
		r.Unknown.EmptyCaches++
		r.add(Request{Kind: EmptyCache, Entry: int32(i)})
	}
	switch e.Action {
	case spec.ActionAlloc:
		id := r.newID()
		r.ids[e.Addr] = id
		r.Mallocs++
		r.add(Request{Kind: Malloc, ID: id, Bytes: e.Size, Stream: e.Stream, Pool: r.pool(e), Entry: int32(i)})
	case spec.ActionOOM:
		r.Mallocs++
		r.Unknown.Failed++
		r.add(Request{Kind: Failing, ID: r.newID(), Bytes: e.Size, Stream: e.Stream, Entry: int32(i)})
	case spec.ActionFreeRequested:
		r.free(i)
	case spec.ActionFreeCompleted:
		if at, waits := r.waiting[e.Addr]; waits {
			r.Requests[at].Until = int32(len(r.Requests))
			delete(r.waiting, e.Addr)
		}
	case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
		pool, known := r.pools[i]
		r.memory.add(heldRange{Range: spec.Range{Ptr: e.Addr, Bytes: e.Size}, stream: e.Stream, pool: pool, poolKnown: known})
	case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
		r.memory.remove(spec.Range{Ptr: e.Addr, Bytes: e.Size})
	}
}

// free reads a free, of which the entry that follows says whether it was complete.
func (r *rebuilder) free(i int) {
	e := &r.trace[i]
	id, isOut := r.ids[e.Addr]
	if !isOut {
		r.Unknown.Contradictions++
		return
	}
	delete(r.ids, e.Addr)
	q := Request{Kind: Free, ID: id, Stream: e.Stream, Entry: int32(i)}
	if i+1 >= len(r.trace) || r.trace[i+1].Action != spec.ActionFreeCompleted || r.trace[i+1].Addr != e.Addr {
		q.Held = true
		r.Unknown.Held++
		r.waiting[e.Addr] = int32(len(r.Requests))
	}
	r.add(q)
}

// end leaves what never came back waiting for ever.
func (r *rebuilder) end() {
	for _, at := range r.waiting {
		r.Requests[at].Until = int32(len(r.Requests))
	}
}
