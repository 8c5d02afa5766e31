package whatif

import (
	"gaugeblock/snapshot"
	"gaugeblock/spec"
	"gaugeblock/spec/settings"
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
	Allocations  int
	PrivatePools []spec.PoolID // Request.Pool-1 is an index
	Streams      []spec.Stream // of the history, ascending
	Config       spec.Config   // at the end of the history
	Limit        LimitBounds
	// DeviceMemory is the total memory of the device, in bytes; 0 if it is not known.
	DeviceMemory uint64
	Version      snapshot.Version // of PyTorch

	NoEnd           bool  // a recorded trace has no line that says where it ends: it may have been cut off
	Mallocs         int   // requests for memory
	DurationUS      int64 // of the history, in microseconds; 0 without times
	Unrecorded      Unrecorded
	retriesOpen     bool // frees may have been garbage collection or those of a refused request
	doubtfulGarbage bool // what looks like garbage collection may have been empty_cache
	impossibleStart bool // no allocator makes InitialSegments; see start_layout.go
	trace           []snapshot.TraceEntry
	finalSegments   []spec.Segment   // at the end of the history; nil if they are not known
	refused         map[int32]uint64 // requests that were refused at first, and a memory fraction in bytes that refuses them
	ops             []repeatedOp     // only from a recorded trace; see fromtrace.go

	memory *memoryBound // of a comparison under way
}

// Complete reports whether the history begins with the first request of the program.
func (w *Workload) Complete() bool { return len(w.InitialSegments) == 0 }

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
	// Other is an operation with pools; ID is its index into Workload.ops.
	Other
)

// Entry is the entry of the history that a request is from.
func (w *Workload) Entry(r *Request) *snapshot.TraceEntry { return &w.trace[r.Entry] }

// recordedSettings are those of the recorded run, as a value of PYTORCH_ALLOC_CONF.
func (w *Workload) recordedSettings() string {
	return settings.Format(w.Config, spec.DefaultGeometry())
}
