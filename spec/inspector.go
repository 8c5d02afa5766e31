package spec

// An Inspector lets a checker look at an allocator's own structures, in place.
// An allocator under test need not have it: what any Snapshot can show is checked
// without. With it, checks that a snapshot cannot express become possible (what
// the free lists hold, which events are outstanding), and checking after every
// operation becomes cheap, since nothing is copied.
type Inspector interface {
	// Inspect calls the visitor's functions for everything the device's
	// allocator holds, with its lock held: they must not call the allocator, and
	// must not keep the views they are given beyond the call.
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
	// Unmapped sees the lists of unmapped ranges in their order: by stream, address.
	Unmapped func(b *BlockView)
	// Pool sees each pool.
	Pool func(p *PoolView)
	// StreamUse sees the streams, other than its own, that RecordStream has recorded
	// for a block: by block in Block's order, then by stream.
	StreamUse func(u *StreamUseView)
	// PendingEvent sees the events that are waited for, by stream, oldest first.
	PendingEvent func(e *PendingEventView)
	// DeferredFree sees the blocks whose free is deferred until no capture is under way.
	DeferredFree func(d *DeferredFreeView)
	// Routing sees the pools that allocations are routed to, oldest first.
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
	Age           uint64 // requests its pool has served since it became free
}

// State is what a snapshot would say.
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
	DriverSegments int // upstream's cudaMalloc_count
	Freeable       bool
	UseOnOOM       bool
	NoSplit        bool
}

// UseView is a stream that uses a block.
type StreamUseView struct {
	Block    Ptr
	Stream   DeviceStream
	DuringRouting bool // recorded, perhaps again, while allocations were routed to a pool
}

// PendingView is an event that holds a block back.
type PendingEventView struct {
	Stream Stream
	Device Device // the stream's
	Event  EventHandle
	Block  Ptr
}

// DeferredView is a block whose free waits for the end of a capture.
type DeferredFreeView struct {
	Block   Ptr
	Markers int // nodes that must be behind the stream for an earlier reuse
}
