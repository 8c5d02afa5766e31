package spec

// An Inspector lets a checker read an allocator's own structures, in place.
// It is optional: what a Snapshot shows is checked without it. With it a checker also
// sees what a snapshot does not have (the free lists, the outstanding events), and
// checking after every operation is cheap, since nothing is copied.
type Inspector interface {
	// Inspect calls the visitor's functions for everything the device's
	// allocator has, with its mutex held: they must not call the allocator, and
	// must not keep a view after they return.
	Inspect(dev Device, v Visitor) error
}

// Visitor is a set of functions; those that are nil are not called. The order of
// calls is fixed: pools by id (the default pool first), in each the small block
// pool and then the large one.
type Visitor struct {
	// Block sees every block of every segment, the blocks of a segment in order
	// of address, segments in order of their first block's address.
	Block func(b *BlockView)
	// Free sees the free lists in their order: by stream, size, address.
	Free func(b *BlockView)
	// Unmapped sees the lists of unmapped blocks in their order: by stream, address.
	Unmapped func(b *BlockView)
	// Pool sees each pool.
	Pool func(p *PoolView)
	// StreamUse sees the streams, other than the allocation stream, that RecordStream
	// has recorded for a block: by block in Block's order, then by stream.
	StreamUse func(u *StreamUseView)
	// PendingEvent sees the outstanding events, by stream, oldest first.
	PendingEvent func(e *PendingEventView)
	// DeferredFree sees the deferred blocks: freed, with stream uses, while there may
	// have been a capture.
	DeferredFree func(d *DeferredFreeView)
	// Routing sees the pools that requests are routed to, in the order begun.
	Routing func(pool PoolID)
}

// BlockView is what an allocator knows of a block. Sizes are in bytes.
type BlockView struct {
	Address       Ptr
	Size          uint64
	RequestedSize uint64
	Stream        Stream
	Pool          PoolID
	PoolKind      PoolKind
	Allocated     bool
	Mapped        bool
	Expandable    bool
	EventCount    int
	StreamUses    int
	First, Last   bool   // in its segment
	Order         uint64 // what free blocks of one size and stream are ordered by before their addresses, 0 if by nothing
	Age           uint64 // searches of its block pool since it was put into the free blocks, while garbage collection is on
}

// State is the block's state in a snapshot.
func (b *BlockView) State() BlockState {
	switch {
	case b.Allocated:
		return ActiveAllocated
	case b.EventCount > 0 || b.StreamUses > 0:
		return ActivePendingFree
	}
	return Inactive
}

// PoolView is what an allocator knows of a pool.
type PoolView struct {
	ID             PoolID
	UseCount       int // meaningless for the default pool
	DriverSegments int // upstream's cudaMalloc_count: segments, and with expandable ones requests minus unmappings
	Freeable       bool
	UseOnOOM       bool
	NoSplit        bool
	Pins           int  // requests for the pool that have released the device's mutex: they keep it
	Captured       bool // a malloc that was routed to it has asked the driver, and a graph was being captured
}

// StreamUseView is a stream, other than the allocation stream, that uses a block.
type StreamUseView struct {
	Block         Ptr
	Stream        DeviceStream
	DuringCapture bool // recorded, at least once, while there may have been a capture
}

// PendingEventView is an outstanding event of a pending block.
type PendingEventView struct {
	Stream Stream
	Device Device // the stream's
	Event  EventHandle
	Block  Ptr
}

// DeferredFreeView is a deferred block.
type DeferredFreeView struct {
	Block   Ptr
	Markers int // number of free markers (graph_capture_record_stream_reuse)
}
