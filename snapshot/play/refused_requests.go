package play

import (
	"errors"
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
	"gaugeblock/upstream"
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

// FromSnapshot finds the requests of a device's allocator in the history of a snapshot, and
// repeats them as recorded for what the entries alone do not show.
func FromSnapshot(f *snapshot.File, dev spec.Device) (*history.Workload, error) {
	return FromSnapshotOf(f, dev, history.ReleasesOf(f.Version))
}

// FromSnapshotOf takes the snapshot for one of the given releases: that by whose rules most
// of the record is reproduced, or else the first.
func FromSnapshotOf(f *snapshot.File, dev spec.Device, releases []upstream.Release) (*history.Workload, error) {
	var best *history.Workload
	var reproduced Verification
	for _, r := range releases {
		w, err := fromSnapshot(f, dev, r)
		if err != nil {
			return nil, err
		}
		if len(releases) == 1 {
			return w, nil
		}
		v := Verify(w)
		switch {
		case best == nil || v.Exact() && !reproduced.Exact() || !reproduced.Exact() && v.Entries > reproduced.Entries:
			best, reproduced = w, v
		case v.Exact() == reproduced.Exact():
			best.OtherReleases = append(best.OtherReleases, r)
		}
	}
	return best, nil
}

func fromSnapshot(f *snapshot.File, dev spec.Device, release upstream.Release) (*history.Workload, error) {
	emptied := map[int]bool{}
	for range maxRepairs {
		w, err := history.Read(f, dev, release, emptied)
		if err != nil {
			return nil, err
		}
		checkInitialLayout(w)
		explainRefusals(w)
		at, found := emptiedAfterAll(w)
		if !found {
			explainGarbage(w)
			return w, nil
		}
		emptied[at] = true
	}
	return history.Read(f, dev, release, emptied)
}

// explainRefusals finds refused requests for which there was a free block, and takes the
// block to have been freed later, or else the request to be one of a private pool.
func explainRefusals(w *history.Workload) {
	if len(w.Refused) == 0 || w.Unrecorded.InconsistentEntries > 0 || w.Settings.Config.GarbageCollectionThreshold > 0 {
		return // what is collected depends on the limit, which is not known yet
	}
	i, served := firstServed(w)
	for range maxRepairs {
		if !served {
			return
		}
		before, pending := slices.Clone(w.Requests), w.Unrecorded.PendingFrees
		if completeLater(w, i) {
			next, still := firstServed(w)
			if !still || next > i {
				i, served = next, still
				continue
			}
			w.Requests, w.Unrecorded.PendingFrees = before, pending
		}
		switch {
		case w.Requests[i].Kind == history.FailedMalloc && w.Requests[i].Pool == 0:
			w.Requests[i].Pool = w.PoolNumber(failurePool)
			w.Unrecorded.PoolFailures++
		default:
			return
		}
		i, served = firstServed(w)
	}
}

// emptiedAfterAll finds frees of segments that may have been those of a refused request, and
// are not: a replay of that request frees other segments, under a full device and under a memory
// fraction, which refuses pages of expandable segments earlier. So the program called
// empty_cache. It returns the first of them, as an index into the history.
func emptiedAfterAll(w *history.Workload) (entry int, found bool) {
	doubtful := func(q history.Request) bool { return q.Kind == history.EmptyCache && q.Doubtful }
	if w.Unrecorded.InconsistentEntries > 0 || w.Settings.Config.GarbageCollectionThreshold > 0 || !slices.ContainsFunc(w.Requests, doubtful) {
		return 0, false
	}
	for _, limits := range []history.Limits{{Device: w.Limit.Least}, {Fraction: w.Limit.OfFraction[0]}} {
		v, _ := reproduce(w, history.Reading{Limits: limits}, true, nil)
		i := slices.IndexFunc(w.Requests, func(q history.Request) bool {
			return doubtful(q) && int(q.Entry) <= v.differs && v.differs < endOfFrees(w, int(q.Entry))
		})
		if v.Exact() || v.differs < 0 || i < 0 {
			return 0, false
		}
		if !found {
			entry, found = int(w.Requests[i].Entry), true
		}
	}
	return entry, found
}

// explainGarbage finds out whether freed segments were garbage, which is collected only
// under a memory fraction. Garbage is the old segments only: empty_cache, and a refused
// request, free all that are cached. If a replay without a memory fraction reproduces the
// record it may have been these as well.
func explainGarbage(w *history.Workload) {
	b := &w.Limit
	if w.Settings.Config.GarbageCollectionThreshold == 0 || !b.ByGarbage && b.Kind != history.UnknownLimit {
		return
	}
	readings := []history.Reading{{EmptyCache: true}}
	for i := range uint64(history.ReadingSteps) {
		room := b.OfDevice[0] + (b.OfDevice[1]-min(b.OfDevice[0], b.OfDevice[1]))*i/(history.ReadingSteps-1)
		readings = append(readings, history.Reading{Limits: history.Limits{Device: room}, EmptyCache: true}, history.Reading{Limits: history.Limits{Device: room}})
	}
	otherwise := slices.ContainsFunc(readings, func(r history.Reading) bool {
		v, _ := reproduce(w, r, false, nil)
		return v.Exact()
	})
	switch {
	case otherwise && b.ByGarbage:
		b.Kind, w.DoubtfulGarbage = history.UnknownLimit, true
		b.Least, b.Most = b.OfDevice[0], max(b.OfDevice[1], b.OfFraction[1])
	case otherwise || b.ByGarbage:
	default:
		if v, _ := reproduce(w, bisectLimit(w, nil), false, nil); v.Exact() {
			b.Kind, b.Least, b.Most = history.FractionLimit, b.OfFraction[0], b.OfFraction[1]
			w.Unrecorded.DoubtfulFrees, b.Doubtful = 0, history.UpperBounds{}
		}
	}
}

// endOfFrees is the index of the entry behind a sequence of frees of segments, and the
// request that they were for.
func endOfFrees(w *history.Workload, i int) int {
	for i < len(w.Trace) && w.Trace[i].Action != spec.ActionAlloc && w.Trace[i].Action != spec.ActionOOM {
		i++
	}
	return i + 1
}

// failurePool stands for the pools of requests that failed in a private pool.
var failurePool = spec.PoolID{User: 1 << 62}

// firstServed is the first refused request that a replay serves without the driver.
func firstServed(w *history.Workload) (i int32, served bool) {
	r := &runner{Workload: w, ptrs: make([]spec.Ptr, w.Allocations), states: map[int]spec.PoolState{}}
	r.options = RunOptions{Settings: w.Settings, Reading: history.Reading{EmptyCache: !w.Limit.Refused()}, Assumptions: MeasuredDriver, asRefused: true}
	if r.begin() != nil {
		return 0, false
	}
	for i := range w.Requests {
		q := &w.Requests[i]
		r.driver.now = int32(i)
		if r.refuseAsRecorded(int32(i)) != nil {
			return 0, false
		}
		if q.Kind == history.FailedMalloc {
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
		if _, refused := w.Refused[int32(i)]; refused && r.driver.asked == before {
			return int32(i), true
		}
	}
	return 0, false
}

// completeLater lets the frees that completed directly before a refused request complete
// when it waits for them. It reports whether there are such frees.
func completeLater(w *history.Workload, i int32) bool {
	changed := false
	for e := w.Requests[i].Entry - 1; e >= 0; e-- {
		switch a := w.Trace[e].Action; {
		case a == spec.ActionFreeCompleted:
			if at := freeOf(w, w.Trace[e].Addr, i); at >= 0 {
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
func freeOf(w *history.Workload, p spec.Ptr, before int32) int32 {
	for i := before - 1; i >= 0; i-- {
		if q := &w.Requests[i]; q.Kind == history.Free && w.Trace[q.Entry].Addr == p {
			return i
		}
	}
	return -1
}
