package whatif

import (
	"errors"

	"gaugeblock/spec"
)

// A request can be refused although a free block is large enough for it. There are two
// ways, and a history does not name them.
//
// The block was freed with stream uses, and became free only when the refused request
// waited for the streams. After that wait PyTorch asks the driver again, but does not look
// for a free block again. So the request fails, and would succeed if it were made again.
// In the history the free_completed entry is directly before those of the request.
//
// Or the block is in another pool. Requests inside of a torch.cuda.MemPool, or while a CUDA
// graph is captured, are served by a private pool, and up to 2.11 the history does not
// record which requests these are.

// maxRepairs bounds how many refused requests are looked at.
const maxRepairs = 64

// explainRefusals finds refused requests for which there was a free block, and takes the
// block to have been freed later, or else the request to be one of a private pool.
func (w *Workload) explainRefusals() {
	if len(w.rooms) == 0 || w.Unrecorded.InconsistentEntries > 0 || w.Config.GarbageCollectionThreshold > 0 {
		return // what is collected depends on the limit, which is not known yet
	}
	for range maxRepairs {
		i, served := w.firstServed()
		switch {
		case !served:
			return
		case w.completeLater(i):
		case w.Requests[i].Kind == FailedMalloc && w.Requests[i].Pool == 0:
			w.Requests[i].Pool = w.poolNumber(failurePool)
			w.Unrecorded.PoolFailures++
		default:
			return
		}
	}
}

// failurePool stands for the pools of requests that failed in a private pool.
var failurePool = spec.PoolID{User: 1 << 62}

// firstServed is the first refused request that a replay serves without the driver.
func (w *Workload) firstServed() (i int32, served bool) {
	r := &runner{Workload: w, ptrs: make([]spec.Ptr, w.Allocations), states: map[int]spec.PoolState{}}
	r.options = RunOptions{Settings: w.recordedSettings(), Reading: Reading{EmptyCache: !w.Limit.Refused()}, Assumptions: measuredDriver, asRefused: true}
	if r.begin() != nil {
		return 0, false
	}
	for i := range w.Requests {
		q := &w.Requests[i]
		r.driver.now = int32(i)
		r.refuseAsRecorded(int32(i))
		_, refused := w.rooms[int32(i)]
		before := r.driver.asked
		if q.Kind == FailedMalloc {
			r.mallocs++
			p, err := r.allocate(q.Pool, spec.Request{Stream: q.Stream, Bytes: q.Bytes, Thread: q.Thread})
			if err == nil && refused {
				return int32(i), true
			}
			if err != nil && !errors.Is(err, spec.ErrOutOfMemory) || r.alloc.Free(p) != nil {
				return 0, false
			}
			continue
		}
		if r.perform(q) != nil {
			return 0, false
		}
		if refused && r.driver.asked == before {
			return int32(i), true
		}
	}
	return 0, false
}

// completeLater lets the frees that completed directly before a refused request complete
// when it waits for them. It reports whether there are such frees.
func (w *Workload) completeLater(i int32) bool {
	changed := false
	for e := w.Requests[i].Entry - 1; e >= 0; e-- {
		switch a := w.trace[e].Action; {
		case a == spec.ActionFreeCompleted:
			if at := w.freeOf(w.trace[e].Addr, i); at >= 0 {
				q := &w.Requests[at]
				if !q.PendingFree {
					q.PendingFree = true
					w.Unrecorded.PendingFrees++
				}
				changed = changed || q.CompletedBefore <= i
				q.CompletedBefore = i + 1
			}
		case !frees(a) && a != spec.ActionSegmentAlloc && a != spec.ActionSegmentMap:
			return changed
		}
	}
	return changed
}

// freeOf is the last free of an address before a request, -1 if there is none.
func (w *Workload) freeOf(p spec.Ptr, before int32) int32 {
	for i := before - 1; i >= 0; i-- {
		if q := &w.Requests[i]; q.Kind == Free && w.trace[q.Entry].Addr == p {
			return i
		}
	}
	return -1
}
