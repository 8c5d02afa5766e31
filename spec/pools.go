package spec

// Optional interfaces of an allocator (abilities), found by type assertion.

// PrivatePools keep the memory of some requests apart. A pool has a use count: it is
// live while that is positive. When the count is zero the pool is freeable: EmptyCache,
// EmptyPool, and a request for which the cache is released return its free memory to
// the driver. The pool is erased when it has no memory and no request refers to it.
type PrivatePools interface {
	// CreatePool makes a pool with a use count of 1, or raises the count of one
	// that is live. PoolOptions.Memory can be set only for a new pool.
	CreatePool(dev Device, id PoolID, o PoolOptions) error

	// BeginAllocateToPool does as CreatePool and from then on routes to the pool
	// every request that the filter accepts, until EndAllocateToPool. If several
	// filters accept a request, the one begun last decides (2.11; see
	// upstream.Rules.FirstRoutingWins). If requests are routed to
	// the pool already, it is an InvalidStateError.
	BeginAllocateToPool(dev Device, id PoolID, filter RequestFilter) error

	// EndAllocateToPool ends the routing that BeginAllocateToPool began. The use count
	// does not change.
	EndAllocateToPool(dev Device, id PoolID) error

	// ReleasePool lowers the use count.
	ReleasePool(dev Device, id PoolID) error

	// PoolUseCount is the use count; a freeable pool has 0.
	PoolUseCount(dev Device, id PoolID) (int, error)

	// SetUseOnOOM marks a pool as one in which requests for the default pool may
	// be served when the driver has no memory.
	SetUseOnOOM(dev Device, id PoolID, on bool) error

	// SetNoSplit marks a pool whose blocks no malloc splits.
	SetNoSplit(dev Device, id PoolID) error

	// EmptyPool returns to the driver the free memory of one freeable pool, on every
	// device, after waiting for the events of its blocks. It does nothing to a pool
	// that is live or unknown, and nothing while the driver forbids to free memory. While
	// there may be a capture it is an InvalidStateError.
	EmptyPool(id PoolID) error

	// SnapshotPool is a Snapshot of one pool's segments. An unknown pool has none.
	SnapshotPool(id PoolID) (Snapshot, error)
}

// PoolOptions says how a pool is to be made.
type PoolOptions struct {
	UseOnOOM bool
	NoSplit  bool
	// Memory, if not nil, is called instead of Driver.Malloc and Driver.Free for the
	// pool's segments. The pool then has no expandable segments.
	Memory PoolMemory
}

// PoolMemory allocates and frees the segments of a pool instead of the driver
// (upstream: PrivatePool::allocator_). Both methods are called with the device's mutex
// held, except Allocate if Config.ReleaseLockOnMalloc is set. If there is no memory,
// Allocate returns an error that wraps ErrDriverOutOfMemory, or the null pointer. The
// memory must be a multiple of Geometry.MinBlock and lie apart from the device's other
// segments: otherwise the Malloc returns an InvalidArgumentError, and does not free it.
type PoolMemory interface {
	Allocate(dev Device, bytes uint64, stream Stream) (Ptr, error)
	Free(dev Device, ptr Ptr, bytes uint64, stream Stream) error
}

// RequestFilter decides whether a request is routed to the pool. It is called with the
// device's mutex held. It must not call the allocator; it may call the driver.
type RequestFilter func(r Request) bool

// ForThread accepts the requests of one thread.
func ForThread(t Thread) RequestFilter {
	return func(r Request) bool { return r.Thread == t }
}

// ForStream accepts the requests for one stream.
func ForStream(s Stream) RequestFilter {
	return func(r Request) bool { return r.Stream == s }
}

// ForCapture accepts the requests for streams that take part in a capture.
func ForCapture(driver Driver, id CaptureID) RequestFilter {
	return func(r Request) bool {
		status, err := driver.CaptureStatus(r.Device, r.Stream)
		return err == nil && status.Status != CaptureNone && status.ID == id
	}
}

// Checkpointer can restore a private pool to an earlier state.
type Checkpointer interface {
	// Checkpoint saves the layout of a live pool's segments and blocks (upstream:
	// getCheckpointState). Before that, the deferred blocks of the device, of every
	// pool, become free or get events, even while requests are routed. It is an
	// InvalidStateError if a block of the pool then has an event that no malloc or
	// EmptyCache has seen to have completed: Checkpoint itself queries none.
	Checkpoint(dev Device, id PoolID) (PoolState, error)

	// Restore restores the pool (upstream: setCheckpointPoolState). What is allocated
	// now is freed, and what was allocated at the checkpoint is allocated again, at the
	// same address. It changes nothing and returns an InvalidStateError unless
	//
	//   - the pool is live,
	//   - no block of it has stream uses or outstanding events,
	//   - each segment that it had (of an expandable one: the reserved range) is there, or
	//     another one like it: at the same address, of the same stream, expandable or not
	//     as before, of the same pool kind, and of the same size unless it is expandable,
	//   - and at least as much of an expandable segment is mapped as was then.
	//
	// It changes nothing either and returns the DriverError if pages that it allocates are
	// mapped, but cannot be made accessible.
	//
	// Segments obtained since, and pages mapped since, stay and are free. The frees and
	// allocations count in the statistics and have trace entries like others: segment
	// by segment, every block of the state is allocated, and those that were free are
	// then freed. From ContextAlloc on the entries have the context of the restore.
	// The requested size of a restored block is its size. Stream uses are not restored.
	Restore(dev Device, state PoolState) (RestoreDelta, error)

	// CheckPoolLiveAllocations reports whether exactly the given pointers of the
	// pool are allocated.
	CheckPoolLiveAllocations(dev Device, id PoolID, live []Ptr) (bool, error)
}

// PoolState is what Checkpoint saved. It can be restored by the same Allocator, on the
// same device; elsewhere it is an InvalidArgumentError.
type PoolState interface {
	PoolID() PoolID
}

// RestoreDelta is what was allocated before a Restore and what is allocated after it,
// each list by address (upstream: CheckpointDelta). What stays allocated is in both.
// That the restore also allocates and frees the blocks that were free is in neither.
type RestoreDelta struct {
	// Freed was allocated before (ptrs_freed). The caller must not free it, unless it
	// is in Created as well.
	Freed []Ptr
	// Created is allocated afterwards (dataptrs_allocd). The caller must Free it.
	Created []Ptr
}

// ExpandableSegments shows how large the expandable segments are.
type ExpandableSegments interface {
	// ExpandableSegmentSizes lists the device's expandable segments in the order
	// in which they were made.
	ExpandableSegmentSizes(dev Device) ([]StreamSegmentSize, error)
}

// StreamSegmentSize is how much of an expandable segment is mapped.
type StreamSegmentSize struct {
	Stream   Stream
	PoolKind PoolKind
	Mapped   uint64 // bytes
}

// PeerAllocator makes memory accessible from other devices.
type PeerAllocator interface {
	// EnablePeerAccess gives dev access to the memory that this allocator obtains, and
	// has obtained, on peer.
	EnablePeerAccess(dev, peer Device) error

	// CopyKind says how to copy between two devices. An ordinary copy works when
	// the devices are the same, when peer access is enabled, or when the memory
	// of both came from Driver.Malloc. Otherwise the copy has to name both devices
	// (cudaMemcpyPeerAsync).
	CopyKind(dst, src Device, peerEnabled bool) (CopyKind, error)
}

// CopyKind is a way of copying between devices.
type CopyKind int

const (
	// CopyDirect: cudaMemcpyAsync.
	CopyDirect CopyKind = iota
	// CopyPeer: cudaMemcpyPeerAsync.
	CopyPeer
)

// SharedMemory shares allocations with other processes.
type SharedMemory interface {
	// ShareHandle makes a handle of an allocated pointer, for OpenHandle in
	// another process. The memory must stay allocated while others use it.
	ShareHandle(p Ptr) (SharedHandle, error)

	// OpenHandle makes memory of another process accessible on a device. Handles
	// of the same memory are opened once. What OpenHandle returns must be closed; the
	// last Close closes the handle.
	OpenHandle(dev Device, handle []byte) (OpenedMemory, error)
}

// SharedHandle is a handle of memory, and the offset of the pointer in it.
type SharedHandle struct {
	Handle []byte
	Offset uint64 // bytes from OpenedMemory.Base
}

// OpenedMemory is memory of another process.
type OpenedMemory interface {
	Base() Ptr
	Close() error
}
