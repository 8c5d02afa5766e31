package spec

// Abilities beyond malloc and free. An allocator has those it implements.

// PrivatePools keep the memory of some requests apart. A pool has a use count:
// it lives while that is positive. When the count falls to zero the pool becomes
// freeable: its memory goes back to the driver with the next EmptyCache, EmptyPool
// or failed request that finds it unused, and the pool is forgotten when it holds
// none.
type PrivatePools interface {
	// CreatePool makes a pool with a use count of 1, or raises the count of one
	// that is live. Functions of its own can be given only to a new pool.
	CreatePool(dev Device, id PoolID, o PoolOptions) error

	// BeginAllocateToPool does as CreatePool and from then on routes to the pool
	// every request that the filter accepts, until EndAllocateToPool. If several
	// filters accept a request the one begun last wins. Beginning a pool that is
	// begun is an error.
	BeginAllocateToPool(dev Device, id PoolID, filter RequestFilter) error

	// EndAllocateToPool ends what BeginAllocateToPool began; the use count stays.
	EndAllocateToPool(dev Device, id PoolID) error

	// ReleasePool lowers the use count.
	ReleasePool(dev Device, id PoolID) error

	// PoolUseCount is the use count; a freeable pool has 0.
	PoolUseCount(dev Device, id PoolID) (int, error)

	// SetUseOnOOM marks a pool as one in which requests for the default pool may
	// be served when the driver has no memory.
	SetUseOnOOM(dev Device, id PoolID, on bool) error

	// SetNoSplit marks a pool whose blocks are never split.
	SetNoSplit(dev Device, id PoolID) error

	// EmptyPool returns what one freeable pool can return, on every device,
	// having waited for the events of its blocks. A pool that is not freeable,
	// or not known, is left alone.
	EmptyPool(id PoolID) error

	// SnapshotPool is a Snapshot of one pool's segments. A pool that is not known
	// has none.
	SnapshotPool(id PoolID) (Snapshot, error)
}

// PoolOptions says how a pool is to be made.
type PoolOptions struct {
	UseOnOOM bool
	NoSplit  bool
	// Memory, if given, takes the driver's place for the pool's segments; the
	// pool then has no expandable segments.
	Memory PoolMemory
}

// PoolMemory obtains and returns the segments of a pool in the driver's place.
// Both are called with the device's lock held, Allocate without it when the
// settings release it during driver allocations. An error of Allocate that wraps
// ErrDriverOutOfMemory means that there is no memory.
type PoolMemory interface {
	Allocate(dev Device, bytes uint64, stream Stream) (Ptr, error)
	Free(dev Device, ptr Ptr, bytes uint64, stream Stream) error
}

// RequestFilter decides whether a request is routed to the pool. It is called with the
// device's lock held and must not call the allocator; it may ask the driver.
// Bytes is 0 when the allocator wants to know about the stream alone.
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

// Checkpointer can set a private pool back to an earlier state.
type Checkpointer interface {
	// Checkpoint saves the layout of the pool's segments and blocks. It fails if streams may
	// still use a freed block of the pool.
	Checkpoint(dev Device, id PoolID) (PoolState, error)

	// Restore sets the pool back: what is allocated now is freed, and what was
	// allocated at the checkpoint is allocated again, at its old address.
	// Segments obtained since stay, all free. An error leaves the pool as it was.
	Restore(dev Device, state PoolState) (RestoreDelta, error)

	// CheckPoolLiveAllocations reports whether exactly the given pointers of the
	// pool are allocated.
	CheckPoolLiveAllocations(dev Device, id PoolID, live []Ptr) (bool, error)
}

// PoolState is what Checkpoint saved; only the allocator that made it can read it.
type PoolState interface {
	PoolID() PoolID
}

// RestoreDelta is what Restore changed, each list by address.
type RestoreDelta struct {
	Freed   []Ptr // was allocated and was freed; some may be allocated again, see Created
	Created []Ptr // is allocated now
}

// ExpandableSegments tell about memory that grows.
type ExpandableSegments interface {
	// ExpandableSegmentSizes lists the device's expandable segments in the order
	// in which they were made.
	ExpandableSegmentSizes(dev Device) ([]StreamSegmentSize, error)
}

// StreamSegmentSize is how much of an expandable segment has memory behind it.
type StreamSegmentSize struct {
	Stream   Stream
	PoolKind PoolKind
	Mapped   uint64 // bytes
}

// PeerAllocator makes memory reachable from other devices.
type PeerAllocator interface {
	// EnablePeerAccess lets dev reach the memory that this allocator obtains, and
	// has obtained, on peer.
	EnablePeerAccess(dev, peer Device) error

	// CopyKind says how to copy between two devices. An ordinary copy works when
	// the devices are the same, when peer access is enabled, and when the memory
	// of both came from Driver.Malloc; otherwise the copy has to name both
	// devices (cudaMemcpyPeerAsync), and the driver stages it if it must.
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
	// of the same memory are opened once; each OpenHandle is to be ended by a
	// Close of what it returned, and the last one gives the mapping up.
	OpenHandle(dev Device, handle []byte) (OpenedMemory, error)
}

// SharedHandle is a handle and where in the memory it stands for the pointer lies.
type SharedHandle struct {
	Handle []byte
	Offset uint64 // bytes from the start of what OpenHandle gives
}

// OpenedMemory is memory of another process.
type OpenedMemory interface {
	Base() Ptr
	Close() error
}
