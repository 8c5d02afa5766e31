package spec

// An Allocator allocates device memory and caches freed memory for reuse.
// Every allocator under test has this interface. The optional interfaces below, and
// those in pools.go and inspector.go, are found by type assertion.
//
// # Rules that hold for every method, those of the optional interfaces included
//
// Misuse returns a typed error and changes nothing that a program has or asked for
// (a checkpoint that is refused may have completed frees): InvalidPointerError (a pointer
// that is not allocated), InvalidArgumentError, InvalidStateError (a call that the
// present state does not allow), NotSupportedError. Errors of the driver are
// returned wrapped. All methods may be called from several goroutines at once.
//
// # Functions of the program
//
// The allocator calls functions that the program has given it. Those that are called with
// a mutex held must not call the allocator: the call would wait for ever.
//
//	function                              called by                   mutex held  may call the allocator
//	Observable.OnNeedMemory               Malloc                      no          yes
//	Observable.OnOutOfMemory              Malloc                      no          yes
//	HistoryOptions.Context                what has trace entries      no          yes, but not what calls it again
//	HistoryOptions.Now                    what has trace entries      yes         no
//	HistoryOptions.Now                    Annotate                    no          no, since it is the same function
//	Observable.OnTrace                    what has trace entries      yes         no
//	RequestFilter                         Malloc                      yes         no
//	PoolMemory.Free                       what returns memory         yes         no
//	PoolMemory.Allocate                   Malloc                      yes (1)     no (1)
//	Visitor                               Inspect                     yes         no
//	Driver, and its optional interfaces   every method                yes (1)     no (1)
//
//	(1) Malloc and Allocate: with Config.ReleaseLockOnMalloc no mutex is held, and they may.
//
// A function that is registered must not be nil: that is an InvalidArgumentError. Each may
// panic. The panic goes on to the caller of the method. Before that every mutex is released,
// and the operation has been completed or given up: the allocator can be used as after an
// error. In particular
//
//   - a method of Driver or PoolMemory that panics is taken to have failed and changed
//     nothing;
//   - a Malloc allocates nothing, whichever function has panicked;
//   - a panic of a tracker or of the clock comes when the step has been done that the
//     entry tells of: a Free has freed, a Restore has restored. The function is not called
//     for the other entries of that step; other trackers are.
type Allocator interface {
	// Malloc allocates at least the requested bytes, to be used on the requested
	// stream. Work of that stream that used the memory before it was
	// freed may still be running: the stream's order keeps the two apart.
	// A request of 0 bytes returns the null pointer and changes nothing. When no
	// memory is found, the error is an *OutOfMemoryError.
	Malloc(r Request) (Ptr, error)

	// Free frees an allocation. The null pointer is ignored. Work that uses the
	// memory may still be running: the order of the allocation stream and the
	// stream uses recorded by RecordStream keep it from being reused too early. If
	// a driver call fails, the memory is still allocated, and can be freed again.
	Free(p Ptr) error

	// RecordStream records that work on another stream (of device dev) uses the
	// memory: after Free it must not be reused before what is in that stream at
	// the time of the Free has completed. The null pointer is ignored. (PyTorch,
	// and package alloc like it, break this for some memory that is freed while
	// requests are routed to a pool: deviation kept/use-not-captured.)
	RecordStream(p Ptr, dev Device, s Stream) error

	// EmptyCache returns to the driver, on every device, what is kept for reuse
	// and can be returned.
	EmptyCache() error

	// Stats returns the device's statistics.
	Stats(dev Device) (DeviceStats, error)

	// Snapshot returns all memory reserved from the driver, with the history
	// if it is being recorded.
	Snapshot() (Snapshot, error)
}

// Request is the arguments of a Malloc.
type Request struct {
	Device Device
	Stream Stream
	Bytes  uint64
	Thread Thread // the calling thread; see Thread
}

// MemoryLimiter limits how much may be reserved from the driver.
type MemoryLimiter interface {
	// SetMemoryFraction limits a device to fraction * total bytes, truncated (2.11; see
	// upstream.Rules.LimitRounded); 1 removes the limit (FullFractionLimits: it is one). Outside
	// [0, 1] it is an InvalidArgumentError.
	SetMemoryFraction(dev Device, fraction float64) error

	// MemoryFraction is the limit divided by the total bytes, 1 without a limit.
	MemoryFraction(dev Device) (float64, error)
}

// Configurer takes settings at run time.
type Configurer interface {
	// Configure applies a settings string with settings.Apply. A string with an error
	// changes nothing.
	Configure(settings string) error

	// Config returns the settings in force.
	Config() Config
}

// StatsResetter resets statistics.
type StatsResetter interface {
	// ResetPeakStats sets every peak to the current value.
	ResetPeakStats(dev Device) error
	// ResetAccumulatedStats sets the accumulated values and counters to zero.
	ResetAccumulatedStats(dev Device) error
}

// BaseAllocator finds the segment that a pointer lies in.
type BaseAllocator interface {
	// BaseAllocation returns the address and size in bytes of the segment that
	// contains an allocated pointer. A pointer in an expandable segment is an
	// InvalidArgumentError: such a segment is not one driver allocation.
	BaseAllocation(p Ptr) (base Ptr, bytes uint64, err error)
}

// CacheInformer returns the size of cached memory.
type CacheInformer interface {
	// CacheInfo is the size in bytes of the largest free block, or atLeast if that is
	// larger. If atLeast is 0, the free memory of the device is used for it.
	CacheInfo(dev Device, atLeast uint64) (uint64, error)
}

// Toggler turns caching off: every allocation then goes to the driver, and so does
// its free. Memory that was allocated before is freed the way it was allocated.
type Toggler interface {
	Enable(on bool)
	Enabled() bool
}

// HistoryRecorder records what the allocator does (torch.cuda.memory._record_memory_history).
type HistoryRecorder interface {
	// RecordHistory starts or stops recording the trace entries that Snapshot returns.
	// Calls from several goroutines take effect one after the other.
	RecordHistory(h HistoryOptions) error

	// HistoryEnabled reports whether history is being recorded.
	HistoryEnabled() bool

	// Annotate records an annotation of the caller.
	Annotate(dev Device, fields []AnnotationField)

	// PushCompileContext and PopCompileContext name what is being compiled; the
	// entries made for requests of that thread carry the innermost name.
	PushCompileContext(t Thread, name string)
	PopCompileContext(t Thread)

	// SetUserMetadata attaches a text to the entries made for the thread, until
	// it is set anew.
	SetUserMetadata(t Thread, text string)
	UserMetadata(t Thread) string
}

// HistoryOptions says what to record.
type HistoryOptions struct {
	Enabled    bool
	MaxEntries int  // length of the trace buffer of each device; at least 1
	Clear      bool // drop the entries recorded before

	// Context, if given, returns the program's call stack. It is called without
	// any mutex held, and its result is stored unchanged. Level says when it is
	// called.
	Context func() any
	Level   ContextLevel
	// Now, if given, returns the time of an entry in nanoseconds. Without it
	// entries have no time, and two equal runs record equal entries.
	Now func() int64
	// Skip lists actions that are not recorded (skip_actions).
	Skip []Action
}

// ContextLevel says at which operations HistoryOptions.Context is called, and where
// its result is kept (upstream: RecordContext).
type ContextLevel int

const (
	// ContextNever: at none.
	ContextNever ContextLevel = iota
	// ContextState: at mallocs and restores. Kept for the blocks and segments that
	// Snapshot shows, not in trace entries.
	ContextState
	// ContextAlloc: at the same operations. Kept in trace entries as well; the entry
	// of a free has the context of the allocation, or of the restore or malloc that
	// frees the block or completes its free.
	ContextAlloc
	// ContextAll: also at frees, and at checkpoints and EmptyCache, which may complete
	// frees and return segments, for the trace entries of these.
	ContextAll
)

// Observable calls registered functions. A function that is nil is an InvalidArgumentError.
type Observable interface {
	// OnOutOfMemory registers an out-of-memory observer. It is called without any
	// mutex held.
	OnOutOfMemory(f func(OutOfMemoryReport)) error

	// OnTrace registers a function that is called with each trace entry while the
	// device's mutex is held, when the step has been done that the entry tells of. It
	// must not call the allocator.
	OnTrace(f func(HistoryEntry)) error

	// OnNeedMemory registers a FreeMemoryCallback: when no cached block serves a
	// request, it may free memory of this allocator, and reports whether it did.
	// Callbacks are called without any mutex held, in the order of registration.
	OnNeedMemory(f func() bool) error
}

// OutOfMemoryReport is the argument of an out-of-memory observer. Sizes are in
// bytes.
type OutOfMemoryReport struct {
	Device      Device
	SegmentSize uint64 // of the segment that was not obtained
	Allowed     uint64 // the limit, or the device's memory when there is none
	DeviceFree  uint64
}

// ExactAllocator allocates memory at an address that the caller gives (upstream:
// allocateWithAddress, to load a graph again whose addresses are known).
type ExactAllocator interface {
	// MallocAt is Malloc for memory at an address: it must be a multiple of Geometry.MinBlock, else
	// it is an InvalidArgumentError, and in a free block of the request's stream and pool with room
	// for the request after it, else it is an InvalidStateError: no memory is obtained from the
	// driver. A request of 0 bytes changes nothing. It is a NotSupportedError if the release that
	// the allocator follows cannot do it.
	MallocAt(r Request, p Ptr) error
}

// BlockAnnotator adds the program's words about a block to the history (upstream: annotateMemory).
type BlockAnnotator interface {
	// AnnotateBlock adds a trace entry for an allocated pointer, with the text as its user
	// metadata. It is a NotSupportedError if the release that the allocator follows has no such
	// entries.
	AnnotateBlock(p Ptr, text string) error
}

// MoreStatsInformer has the statistics that not every release of PyTorch has.
type MoreStatsInformer interface {
	MoreStats(dev Device) (MoreStats, error)
}

// MoreStats are a device's statistics that not every release of PyTorch has.
type MoreStats struct {
	NumOOMRejections int64             // requests that failed by Config.ThrowOnOOM, not counted as NumOOMs
	ReservedByPool   []PoolMemoryStats // of private pools, in order of their ids; those of pools that are gone stay
}

// PoolMemoryStats is what is reserved for a private pool.
type PoolMemoryStats struct {
	Pool          PoolID
	ReservedBytes StatArray
}

// RejectionObservable calls registered functions when Config.ThrowOnOOM ends a request.
type RejectionObservable interface {
	// OnRejection registers an observer. It is called without any mutex held. A function that is
	// nil is an InvalidArgumentError.
	OnRejection(f func(RejectionReport)) error
}

// RejectionReport is the argument of an observer of rejections. Sizes are in bytes.
type RejectionReport struct {
	Device      Device
	SegmentSize uint64 // of the segment that was not obtained
	Reserved    uint64
	DeviceTotal uint64
}

// ReserveClassifier puts streams into classes, so that the expandable segments that are made for
// them later have the reserve of their class (expandable_segments_reserve_by_class).
type ReserveClassifier interface {
	// SetReserveClass sets the class of a stream, "" for none. Upstream goes by the handle: the
	// class of the default stream is that of the default streams of all devices.
	SetReserveClass(s Stream, class string) error

	// SetDefaultReserve gives a class a reserve, as a fraction of the device's memory, unless the
	// settings have one for the class, or one for all.
	SetDefaultReserve(class string, fraction float64) error
}
