package spec

// An Allocator hands out device memory and keeps what it gets back for reuse.
// This interface is what every allocator under test can do; what some can do
// beside it are the small interfaces below, found by type assertion, so that a
// simple allocator is not asked to pretend.
//
// # Rules that hold for every method
//
// Misuse (a pointer that is not out, an impossible argument) is answered with a
// typed error and changes nothing: InvalidPointerError, InvalidArgumentError.
// Failures of the driver come back as they are, wrapped. All methods may be
// called from several goroutines at once.
type Allocator interface {
	// Malloc gives out memory for at least the requested bytes, to be used on
	// the requested stream. Work of that stream that used the memory in an
	// earlier life may still be running: the stream's order keeps the two apart.
	// A request of 0 bytes gives the null pointer and changes nothing. When
	// nothing helps, the error is an *OutOfMemoryError.
	Malloc(r Request) (Ptr, error)

	// Free takes memory back. The null pointer is ignored. Free says nothing of
	// the work that still uses the memory: the allocation stream's order and the
	// streams noted by RecordStream keep it from being reused too early.
	Free(p Ptr) error

	// RecordStream notes that work on another stream (of device dev) uses the
	// memory: after Free it must not be reused before what is in that stream at
	// the time of the Free has completed. The null pointer is ignored.
	RecordStream(p Ptr, dev Device, s Stream) error

	// EmptyCache returns to the driver, on every device, what is kept for reuse
	// and can be returned.
	EmptyCache() error

	// Stats are the device's figures.
	Stats(dev Device) (DeviceStats, error)

	// Snapshot is a picture of all memory held from the driver, with the history
	// if it is being recorded.
	Snapshot() (Snapshot, error)
}

// Request is what a caller wants of Malloc.
type Request struct {
	Device Device
	Stream Stream
	Bytes  uint64
	Thread Thread // who asks; see Thread
}

// MemoryLimiter bounds how much may be held from the driver.
type MemoryLimiter interface {
	// SetMemoryFraction limits a device to fraction * total bytes, truncated; 1
	// takes the limit away. Outside [0, 1] it is an InvalidArgumentError.
	SetMemoryFraction(dev Device, fraction float64) error

	// MemoryFraction is the limit divided by the total bytes, 1 without a limit.
	MemoryFraction(dev Device) (float64, error)
}

// Configurer takes settings at run time.
type Configurer interface {
	// Configure applies a string of settings as Config.Apply says. A string that
	// is refused changes nothing.
	Configure(settings string) error

	// Config is what is in force.
	Config() Config
}

// StatsResetter starts figures anew.
type StatsResetter interface {
	// ResetPeakStats sets every peak to the current figure.
	ResetPeakStats(dev Device) error
	// ResetAccumulatedStats sets the figures that only grow to zero.
	ResetAccumulatedStats(dev Device) error
}

// BaseAllocator finds the driver's piece that a pointer lies in.
type BaseAllocator interface {
	// BaseAllocation gives the address and size in bytes of the segment around a
	// pointer that Malloc gave. A pointer of an expandable segment is an
	// InvalidArgumentError: there is no such piece.
	BaseAllocation(p Ptr) (base Ptr, bytes uint64, err error)
}

// CacheInformer tells about memory kept for reuse.
type CacheInformer interface {
	// CacheInfo is the size in bytes of the largest free block, or atLeast if
	// that is larger. When atLeast is 0 the driver's free memory takes its place.
	CacheInfo(dev Device, atLeast uint64) (uint64, error)
}

// Toggler can be told to stop caching: every allocation then goes to the driver
// and back. Memory keeps to the way in which it was given out.
type Toggler interface {
	Enable(on bool)
	Enabled() bool
}

// HistoryRecorder writes down what the allocator does.
type HistoryRecorder interface {
	// RecordHistory starts or stops the diary that Snapshot returns.
	RecordHistory(h HistoryOptions) error

	// HistoryEnabled reports whether the diary is being kept.
	HistoryEnabled() bool

	// Annotate adds the caller's own note to the diary of annotations.
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

// HistoryOptions says what to write down.
type HistoryOptions struct {
	Enabled    bool
	MaxEntries int  // length of the ring of entries, for each device; at least 1 is kept
	Clear      bool // forget what was written before

	// Context, if given, is asked where the program is, without any lock held;
	// what it returns is kept as it is. Level says for which entries.
	Context func() any
	Level   ContextLevel
	// Now, if given, is asked for the time of an entry in nanoseconds. Without
	// it entries carry no time, and two equal runs write equal diaries.
	Now func() int64
	// Skip lists actions that are not written down.
	Skip []Action
}

// ContextLevel says for which entries HistoryOptions.Context is asked.
type ContextLevel int

const (
	// ContextNever: it is not asked.
	ContextNever ContextLevel = iota
	// ContextState: for what is allocated now (Snapshot shows it at blocks).
	ContextState
	// ContextAlloc: for the entries of allocations as well.
	ContextAlloc
	// ContextAll: for frees as well.
	ContextAll
)

// Observable calls back.
type Observable interface {
	// OnOutOfMemory registers a function that hears of each request that failed
	// for lack of memory. It is called without any lock held.
	OnOutOfMemory(f func(OutOfMemoryReport))

	// OnTrace registers a function that hears of each trace entry, while the
	// device's lock is held: it must not call the allocator.
	OnTrace(f func(HistoryEntry))

	// OnNeedMemory registers a function that is asked, when the cache has nothing
	// for a request, to free memory it holds through this allocator; it reports
	// whether it did. It is called without any lock held, in the order of
	// registration.
	OnNeedMemory(f func() bool)
}

// OutOfMemoryReport is what an out-of-memory observer hears, in bytes.
type OutOfMemoryReport struct {
	Device      Device
	SegmentSize uint64 // what the allocator asked the driver for
	Allowed     uint64 // the limit, or the device's memory when there is none
	DeviceFree  uint64
}
