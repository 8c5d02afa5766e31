package whatif

import (
	"errors"
	"slices"

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
	if len(w.refused) == 0 || w.Unrecorded.InconsistentEntries > 0 || w.Config.GarbageCollectionThreshold > 0 {
		return // what is collected depends on the limit, which is not known yet
	}
	i, served := w.firstServed()
	for range maxRepairs {
		if !served {
			return
		}
		before, pending := slices.Clone(w.Requests), w.Unrecorded.PendingFrees
		if w.completeLater(i) {
			next, still := w.firstServed()
			if !still || next > i {
				i, served = next, still
				continue
			}
			w.Requests, w.Unrecorded.PendingFrees = before, pending
		}
		switch {
		case w.Requests[i].Kind == FailedMalloc && w.Requests[i].Pool == 0:
			w.Requests[i].Pool = w.poolNumber(failurePool)
			w.Unrecorded.PoolFailures++
		default:
			return
		}
		i, served = w.firstServed()
	}
}

// emptiedAfterAll finds frees of segments that may have been those of a refused request, and
// are not: a replay of that request frees other segments. So the program called
// empty_cache. It returns the first of them, as an index into the history.
func (w *Workload) emptiedAfterAll() (entry int, found bool) {
	doubtful := func(q Request) bool { return q.Kind == EmptyCache && q.Doubtful }
	if w.Unrecorded.InconsistentEntries > 0 || w.Config.GarbageCollectionThreshold > 0 || !slices.ContainsFunc(w.Requests, doubtful) {
		return 0, false
	}
	v, _ := w.reproduce(Reading{Limits: Limits{Device: w.Limit.Least}}, true)
	i := slices.IndexFunc(w.Requests, func(q Request) bool {
		return doubtful(q) && int(q.Entry) <= v.differs && v.differs < w.endOfFrees(int(q.Entry))
	})
	if v.Exact() || v.differs < 0 || i < 0 {
		return 0, false
	}
	return int(w.Requests[i].Entry), true
}

// explainGarbage finds out whether freed segments were garbage, which is collected only
// under a memory fraction. Garbage is the old segments only: empty_cache, and a refused
// request, free all that are cached. If a replay without a memory fraction reproduces the
// record it may have been these as well.
func (w *Workload) explainGarbage() {
	b := &w.Limit
	if w.Config.GarbageCollectionThreshold == 0 || !b.byGarbage && b.Kind != UnknownLimit {
		return
	}
	readings := []Reading{{EmptyCache: true}}
	for i := range uint64(readingSteps) {
		room := b.ofDevice[0] + (b.ofDevice[1]-min(b.ofDevice[0], b.ofDevice[1]))*i/(readingSteps-1)
		readings = append(readings, Reading{Limits: Limits{Device: room}, EmptyCache: true}, Reading{Limits: Limits{Device: room}})
	}
	otherwise := slices.ContainsFunc(readings, func(r Reading) bool {
		v, _ := w.reproduce(r, false)
		return v.Exact()
	})
	switch {
	case otherwise && b.byGarbage:
		b.Kind, w.doubtfulGarbage = UnknownLimit, true
		b.Least, b.Most = b.ofDevice[0], max(b.ofDevice[1], b.ofFraction[1])
	case otherwise || b.byGarbage:
	default:
		if v, _ := w.reproduce(w.bisectLimit(), false); v.Exact() {
			b.Kind, b.Least, b.Most = FractionLimit, b.ofFraction[0], b.ofFraction[1]
			w.Unrecorded.DoubtfulFrees, b.doubtful = 0, upperBounds{}
		}
	}
}

// endOfFrees is the index of the entry behind a sequence of frees of segments, and the
// request that they were for.
func (w *Workload) endOfFrees(i int) int {
	for i < len(w.trace) && w.trace[i].Action != spec.ActionAlloc && w.trace[i].Action != spec.ActionOOM {
		i++
	}
	return i + 1
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
		if r.refuseAsRecorded(int32(i)) != nil {
			return 0, false
		}
		if q.Kind == FailedMalloc {
			r.mallocs++
			_, err := r.allocate(q.Pool, spec.Request{Stream: q.Stream, Bytes: q.Bytes, Thread: q.Thread})
			if err == nil { // what failed in the recorded run was refused
				return int32(i), true
			}
			if !errors.Is(err, spec.ErrOutOfMemory) {
				return 0, false
			}
			continue
		}
		before := r.driver.asked
		if r.perform(q) != nil {
			return 0, false
		}
		if _, refused := w.refused[int32(i)]; refused && r.driver.asked == before {
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
