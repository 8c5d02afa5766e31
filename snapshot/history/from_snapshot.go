package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// WorkloadError is an input that has no workload: a snapshot without history, or a trace
// whose operations cannot be repeated under other settings.
type WorkloadError struct {
	Device spec.Device
	Reason string
}

func (e *WorkloadError) Error() string { return e.Reason }

// Read finds the requests of a device's allocator in the history of a snapshot. emptied are
// entries that are known to free segments because the program called empty_cache.
//
// The history records what the allocator did. An alloc entry is a request, an oom entry
// a request that failed, a free_requested entry a free. The other entries are decisions
// of the allocator and are not read, with two exceptions. Where free_completed does not
// follow a free_requested at once, the memory had stream uses. And segments that were
// freed without need were freed by empty_cache (segment_frees.go).
func Read(f *snapshot.File, dev spec.Device, release upstream.Release, emptied map[int]bool) (*Workload, error) {
	trace, err := historyOf(f, dev)
	if err != nil {
		return nil, err
	}
	w := &Workload{Device: dev, Settings: DefaultSettings(), Version: f.Version, Release: release, Refused: map[int32]uint64{}}
	if s := f.AllocatorSettings; s != nil {
		w.Settings, w.Unrecorded.UnknownSettings = SettingsOf(s.Config), s.Unknown
	}
	if int(dev) < len(f.UnknownActions) {
		w.Unrecorded.Unknown = f.UnknownActions[dev]
	}
	for i := range f.Segments {
		if f.Segments[i].Device == dev {
			w.FinalSegments = append(w.FinalSegments, f.Segments[i])
		}
	}
	w.Unrecorded.Skipped = skippedActions(trace, w.FinalSegments)
	trace = withoutCutFrees(trace, w.Unrecorded.Skipped)
	w.Trace = trace
	start := stateAtStart(f, dev, trace, w.Unrecorded.Skipped)
	w.InitialSegments = start.segments(dev, w.Settings)
	if first, last := trace[0].TimeUS, trace[len(trace)-1].TimeUS; first > 0 {
		w.DurationUS = last - first
	}
	r := &snapshotRebuilder{
		Workload: w, reserved: start.reserved, allocated: map[spec.Ptr]int32{}, pending: map[spec.Ptr]int32{},
		pools: poolsOfSegments(f, dev, trace), inconsistent: start.inconsistent,
	}
	r.begin(emptied)
	r.expandableAt = r.inferExpandable()
	for i := range trace {
		r.entry(i)
	}
	r.end()
	w.Marks = marksOf(trace)
	return w, nil
}

// historyOf is the history of a device, which must have a request.
func historyOf(f *snapshot.File, dev spec.Device) ([]snapshot.TraceEntry, error) {
	if dev < 0 || int(dev) >= len(f.DeviceTraces) || len(f.DeviceTraces[dev]) == 0 {
		recorded := "torch.cuda.memory._record_memory_history()"
		if f.Version.Most == 0 {
			recorded = "torch.cuda.memory._record_memory_history(True, trace_alloc_max_entries=100000, trace_alloc_record_context=True)"
		}
		return nil, &WorkloadError{dev, fmt.Sprintf("the snapshot has no history of device %d: it must be recorded with %s%s", dev, recorded, otherDevices(f, dev))}
	}
	for i := range f.DeviceTraces[dev] {
		if a := f.DeviceTraces[dev][i].Action; a == spec.ActionAlloc || a == spec.ActionOOM {
			return f.DeviceTraces[dev], nil
		}
	}
	return nil, &WorkloadError{dev, fmt.Sprintf("the history of device %d has no request for memory (entries: %d): it must be recorded with a larger max_entries, and without skip_actions%s",
		dev, len(f.DeviceTraces[dev]), otherDevices(f, dev))}
}

// otherDevices names the other devices that have a history.
func otherDevices(f *snapshot.File, dev spec.Device) string {
	var others []string
	for d := range f.DeviceTraces {
		if d != int(dev) && len(f.DeviceTraces[d]) > 0 {
			others = append(others, fmt.Sprintf("--device %d", d))
		}
	}
	if len(others) == 0 {
		return ""
	}
	return "; there is one with " + strings.Join(others, ", ")
}

// skippedActions are the actions that were not recorded (skip_actions), as far as the
// others show it: frees that are completed but were not requested, or the reverse.
func skippedActions(trace []snapshot.TraceEntry, end []spec.Segment) []spec.Action {
	count := map[spec.Action]int{}
	freed := map[spec.Ptr]bool{}
	for i := range trace {
		count[trace[i].Action]++
		if trace[i].Action == spec.ActionFreeRequested {
			freed[trace[i].Addr] = true
		}
	}
	switch {
	case count[spec.ActionFreeCompleted] > 1 && count[spec.ActionFreeRequested] == 0:
		return []spec.Action{spec.ActionFreeRequested}
	case count[spec.ActionFreeRequested] > 0 && count[spec.ActionFreeCompleted] == 0:
		for i := range end {
			for _, b := range end[i].Blocks {
				if b.State == spec.ActivePendingFree && freed[b.Address] {
					return nil // streams still use the memory
				}
			}
		}
		return []spec.Action{spec.ActionFreeCompleted}
	}
	return nil
}

// withoutCutFrees leaves out the first entries of a history if they complete frees. These
// were requested before the history begins, so the memory is free at its start.
func withoutCutFrees(trace []snapshot.TraceEntry, skipped []spec.Action) []snapshot.TraceEntry {
	if slices.Contains(skipped, spec.ActionFreeRequested) {
		return trace
	}
	for len(trace) > 1 && trace[0].Action == spec.ActionFreeCompleted {
		trace = trace[1:]
	}
	return trace
}

// snapshotRebuilder reads a history from its start.
type snapshotRebuilder struct {
	*Workload
	reserved     reservedMemory
	allocated    map[spec.Ptr]int32  // the IDs
	pending      map[spec.Ptr]int32  // freed, not completed: the number of the free
	pools        map[int]spec.PoolID // of segment_alloc and segment_map entries, by index; see pools.go
	inconsistent map[int]struct{}    // the indexes of entries that contradict others
	segmentFrees segmentFrees
	expandableAt map[int]bool // what the program set before the request of an entry
}

// begin gives IDs to the initial blocks.
func (r *snapshotRebuilder) begin(emptied map[int]bool) {
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
				r.add(Request{Kind: Free, ID: id, PendingFree: true, Initial: true})
				r.Unrecorded.PendingFrees++
			}
		}
		streams[r.InitialSegments[i].Stream] = true
		r.PoolNumber(r.InitialSegments[i].Pool)
	}
	for i := range r.Trace {
		streams[r.Trace[i].Stream] = true
	}
	r.Streams = slices.Sorted(maps.Keys(streams))
	r.segmentFrees = inferSegmentFrees(r.Trace, r.InitialSegments, r.Settings, emptied)
	r.takeLimit(&r.segmentFrees)
}

// takeLimit takes what the freed segments show of the limit.
func (w *Workload) takeLimit(f *segmentFrees) {
	w.Limit = f.limit
	w.Unrecorded.Refusals, w.Unrecorded.DoubtfulFrees = len(f.refusals), f.doubtful
	w.RetriesOpen = f.retriesOpen
}

// takeRefusals gives the refusals to their requests.
func (w *Workload) takeRefusals(f *segmentFrees) {
	allowed := map[int32]uint64{}
	for _, r := range f.refusals {
		allowed[int32(r.entry)] = r.allowed
	}
	for i := range w.Requests {
		q := &w.Requests[i]
		if bytes, refused := allowed[q.Entry]; refused && (q.Kind == Malloc || q.Kind == FailedMalloc) {
			w.Refused[int32(i)] = bytes
		}
	}
}

func (r *snapshotRebuilder) newID() int32 {
	r.Allocations++
	return int32(r.Allocations - 1)
}

func (r *snapshotRebuilder) add(q Request) { r.Requests = append(r.Requests, q) }

// entry reads one entry.
func (r *snapshotRebuilder) entry(i int) {
	e := &r.Trace[i]
	if doubtful, emptied := r.segmentFrees.emptied[i]; emptied {
		if !doubtful {
			r.Unrecorded.EmptyCaches++
		}
		r.add(Request{Kind: EmptyCache, Entry: int32(i), Doubtful: doubtful})
	}
	if on, set := r.expandableAt[i]; set {
		q := Request{Kind: SetExpandable, Entry: int32(i)}
		if on {
			q.ID = 1
		}
		r.add(q)
		r.Unrecorded.SettingsChanges++
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
		q := Request{Kind: FailedMalloc, ID: r.newID(), Bytes: e.Size, Stream: e.Stream, Entry: int32(i)}
		if e.Context.PoolKnown {
			q.Pool = r.PoolNumber(e.Context.Pool)
		}
		r.add(q)
	case spec.ActionFreeRequested:
		r.free(i)
	case spec.ActionFreeCompleted:
		if slices.Contains(r.Unrecorded.Skipped, spec.ActionFreeRequested) {
			r.free(i)
			return
		}
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
	e := &r.Trace[i]
	id, isAllocated := r.allocated[e.Addr]
	if !isAllocated {
		r.inconsistent[i] = struct{}{}
		return
	}
	delete(r.allocated, e.Addr)
	q := Request{Kind: Free, ID: id, Stream: e.Stream, Entry: int32(i)}
	completed := len(r.Unrecorded.Skipped) > 0 // then it cannot be told that it was not
	if !completed && (i+1 >= len(r.Trace) || r.Trace[i+1].Action != spec.ActionFreeCompleted || r.Trace[i+1].Addr != e.Addr) {
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
	r.Unrecorded.InconsistentEntries = len(r.inconsistent)
	r.takeRefusals(&r.segmentFrees)
}
