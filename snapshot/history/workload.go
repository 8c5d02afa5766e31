package history

import (
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// Workload is the requests that a program made of the allocator of one device, as far
// as they were recorded, and the memory reserved at the start of the history.
type Workload struct {
	Device spec.Device
	// InitialSegments are reserved at the start of the history, by address. There are
	// none if the history is complete. Their active blocks have the IDs 0, 1, ... in
	// order of address.
	InitialSegments []spec.Segment
	Requests        []Request // in the order in which they were made
	// Allocations is the number of IDs: those of the initial blocks, and one for each
	// request for memory.
	Allocations      int
	PrivatePools     []spec.PoolID        // Request.Pool-1 is an index
	OwnMemory        map[spec.PoolID]bool // pools that have an allocator of their own: their segments are never expandable
	StartsExpandable bool                 // expandable_segments at the start of the history
	Streams          []spec.Stream        // of the history, ascending
	Settings         Settings             // at the end of the history
	Limit            LimitBounds
	// DeviceMemory is the total memory of the device, in bytes; 0 if it is not known.
	DeviceMemory uint64
	Version      snapshot.Version // of PyTorch
	// Release is the one whose rules are followed, and OtherReleases decide otherwise and may
	// have made the record as well.
	Release       upstream.Release
	OtherReleases []upstream.Release

	Marks           Marks
	NoEnd           bool  // a recorded trace has no line that says where it ends: it may have been cut off
	Mallocs         int   // requests for memory
	DurationUS      int64 // of the history, in microseconds; 0 without times
	Unrecorded      Unrecorded
	RetriesOpen     bool                  // frees may have been garbage collection or those of a refused request
	DoubtfulGarbage bool                  // what looks like garbage collection may have been empty_cache
	ImpossibleStart bool                  // no allocator makes InitialSegments; see start_layout.go
	Trace           []snapshot.TraceEntry // the history
	FinalSegments   []spec.Segment        // at the end of the history; nil if they are not known
	Refused         map[int32]uint64      // requests that were refused at first, and a memory fraction in bytes that refuses them
	Operations      []PoolOperation       // only from a recorded trace; see fromtrace.go
}

// Complete reports whether the history begins with the first request of the program.
func (w *Workload) Complete() bool { return len(w.InitialSegments) == 0 }

// UsesExpandable reports whether the recorded run had expandable segments, or may have had.
func (w *Workload) UsesExpandable() bool {
	return w.Settings.Config.ExpandableSegments || w.StartsExpandable || w.Unrecorded.SettingsChanges > 0
}

// Unrecorded counts what the history leaves open.
type Unrecorded struct {
	InconsistentEntries int                      // entries that contradict others
	PendingFrees        int                      // frees of memory with stream uses: when they complete depends on the run
	EmptyCaches         int                      // calls of empty_cache that were inferred
	UnknownPools        int                      // requests served from segments whose pool is not known
	OOMs                int                      // requests that failed in the recorded run
	SettingsChanges     int                      // while the program ran
	Refusals            int                      // requests for which cached segments had to be freed, or that failed
	DoubtfulFrees       int                      // of the refusals: those that may have been calls of empty_cache
	PoolFailures        int                      // requests that failed although the default pool had memory for them
	Unknown             []snapshot.UnknownAction // entries that this version does not know
	UnknownSettings     []string                 // recorded settings that this version does not know
	Skipped             []spec.Action            // actions that were not recorded (skip_actions)
}

// Request is one call of the allocator by the program.
type Request struct {
	Kind RequestKind
	Pool uint8 // of a Malloc: 0 for the default pool, else an index into Workload.PrivatePools plus 1
	// PendingFree: the freed memory had stream uses. In the recorded run the free
	// completed before the request with the number CompletedBefore.
	PendingFree     bool
	Initial         bool  // of a Free: it was made before the history begins
	Doubtful        bool  // of an EmptyCache: the frees may have been those of a refused request
	ID              int32 // of the allocation
	CompletedBefore int32
	Entry           int32 // index into the history
	Bytes           uint64
	Stream          spec.Stream
	Thread          spec.Thread
}

// RequestKind is the kind of a Request.
type RequestKind uint8

// The kinds of requests.
const (
	// Malloc requests Bytes.
	Malloc RequestKind = iota
	// Free frees the allocation.
	Free
	// FailedMalloc requests Bytes (rounded), and failed in the recorded run. What the
	// program would have done with the memory is not known. It is freed at once.
	FailedMalloc
	// EmptyCache frees the cached segments.
	EmptyCache
	// SetExpandable: the program turned expandable_segments on (ID 1) or off (ID 0).
	SetExpandable
	// Other is an operation with pools; ID is its index into Workload.Operations.
	Other
)

// Entry is the entry of the history that a request is from.
func (w *Workload) Entry(r *Request) *snapshot.TraceEntry { return &w.Trace[r.Entry] }

// AllocatedAtStart is what is allocated at the start of the history, in bytes.
func (w *Workload) AllocatedAtStart() uint64 {
	sum := uint64(0)
	for i := range w.InitialSegments {
		sum += w.InitialSegments[i].AllocatedSize
	}
	return sum
}

// PeakRequested is the peak of requested_bytes: the largest sum of the requested sizes
// of allocations that are live at one time. No allocator can do with a smaller limit.
func (w *Workload) PeakRequested() uint64 {
	peak, _, _ := w.peaks()
	return peak
}

// PeakAsked is the same with the requests that failed in the recorded run: what the program would
// have had at one time if none had failed.
func (w *Workload) PeakAsked() uint64 {
	_, asked, _ := w.peaks()
	return asked
}

// PeakRequest is the index of the request with which PeakRequested is reached first, -1 if that is
// the start of the history.
func (w *Workload) PeakRequest() int {
	_, _, request := w.peaks()
	return request
}

func (w *Workload) peaks() (requested, asked uint64, request int) {
	now := uint64(0)
	request = -1
	w.Walk(len(w.Requests), func(at int, _ int32, bytes uint64, live bool) {
		switch {
		case at >= 0 && w.Requests[at].Kind == FailedMalloc:
			asked = max(asked, now+bytes)
			return
		case !live:
			now -= bytes
			return
		}
		if now += bytes; now > requested {
			requested, request = now, at
		}
	})
	return requested, max(asked, requested), request
}

// Walk tells which allocations begin and cease to be live in the first requests, with the index
// of the request, -1 for the start of the history. Requests that failed are told as well, as live.
func (w *Workload) Walk(requests int, changed func(request int, id int32, bytes uint64, live bool)) {
	size := make([]uint64, w.Allocations)
	live := make([]bool, w.Allocations)
	set := func(at int, id int32, isLive bool) {
		if live[id] != isLive {
			live[id] = isLive
			changed(at, id, size[id], isLive)
		}
	}
	id := int32(0)
	for i := range w.InitialSegments {
		for _, b := range w.InitialSegments[i].Blocks {
			if b.State != spec.Inactive {
				size[id] = b.RequestedSize
				set(-1, id, true)
				id++
			}
		}
	}
	for i := range w.Requests[:requests] {
		switch q := &w.Requests[i]; q.Kind {
		case Malloc:
			size[q.ID] = q.Bytes
			set(i, q.ID, true)
		case FailedMalloc:
			changed(i, q.ID, q.Bytes, true)
		case Free:
			set(i, q.ID, false)
		case Other: // a restore of a pool frees allocations, and makes freed ones live again
			for _, id := range w.Operations[q.ID].Freed {
				set(i, id, false)
			}
			for _, id := range w.Operations[q.ID].Live {
				set(i, id, true)
			}
		}
	}
}

// EndsInFailure reports whether the recorded program requested no memory after the last
// request that failed.
func (w *Workload) EndsInFailure() bool {
	for _, q := range slices.Backward(w.Requests) {
		switch q.Kind {
		case Malloc:
			return false
		case FailedMalloc:
			return true
		}
	}
	return false
}
