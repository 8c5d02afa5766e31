package alloc

import "gaugeblock/spec"

// A block is a part of a segment that is given out, or kept free, as a whole. The
// blocks of a segment are a doubly linked list in order of address; together they
// cover it.
//
// In the life of a block's memory:
//
//	free ──malloc──▶ allocated ──free──▶ free                 (no other stream used it)
//	                     │
//	                     └──free──▶ waiting for events ──▶ free   (others did)
//
// A block is on its pool's free list exactly while it is free and mapped, and on
// the list of unmapped ranges exactly while it is not mapped.
type block struct {
	pool    *blockPool
	segment *segment
	stream  spec.Stream // the allocation stream

	ptr       spec.Ptr
	size      uint64 // bytes
	requested uint64 // what was last asked for; kept when the block is freed

	prev, next *block

	allocated bool  // a caller has it
	mapped    bool  // memory is behind the addresses; false only in an expandable segment
	events    int32 // outstanding events that hold it back
	uses      []streamUse

	freeSince uint64 // the pool's count of requests when it was put on the free list
	context   any    // where the program was when it was given out
}

// streamUse is a stream, other than the allocation stream, on which a block was
// used. A block's uses are kept in order, each stream once.
type streamUse struct {
	stream spec.Stream
	device spec.Device

	// captured: the use was noted (also) while something was being captured or
	// redirected; see deferred.go.
	captured bool
}

// less orders uses by stream.
func (u streamUse) less(o streamUse) bool {
	return u.stream < o.stream || (u.stream == o.stream && u.device < o.device)
}

// sameStream reports whether two uses are of one stream.
func (u streamUse) sameStream(o streamUse) bool {
	return u.stream == o.stream && u.device == o.device
}

// free reports whether nobody has the block or uses it: it can be given out, or
// merged with a neighbour.
func (b *block) free() bool { return !b.allocated && b.events == 0 && len(b.uses) == 0 }

// split reports whether the block is only a part of its segment.
func (b *block) split() bool { return b.prev != nil || b.next != nil }

// plain reports whether the block's segment came from the driver in one piece.
func (b *block) plain() bool { return b.segment.expandable == nil }

// end is the first address behind the block.
func (b *block) end() spec.Ptr { return b.ptr + spec.Ptr(b.size) }

// state is what a snapshot says of the block.
func (b *block) state() spec.BlockState {
	switch {
	case b.allocated:
		return spec.ActiveAllocated
	case b.free():
		return spec.Inactive
	}
	return spec.ActivePendingFree
}

// linkBefore puts a new block into the segment, directly below b.
func (b *block) linkBefore(fresh *block) {
	fresh.prev, fresh.next = b.prev, b
	if b.prev != nil {
		b.prev.next = fresh
	} else {
		b.segment.head = fresh
	}
	b.prev = fresh
}

// linkAfter puts a new block into the segment, directly above b.
func (b *block) linkAfter(fresh *block) {
	fresh.prev, fresh.next = b, b.next
	if b.next != nil {
		b.next.prev = fresh
	}
	b.next = fresh
}

// unlink takes a block out of its segment.
func (b *block) unlink() {
	if b.prev != nil {
		b.prev.next = b.next
	} else {
		b.segment.head = b.next
	}
	if b.next != nil {
		b.next.prev = b.prev
	}
}

// newBlock makes a block like its sibling (same segment, pool and stream) for
// another range, not in use, with memory behind it. Structs are used again: a
// busy program splits and merges millions of times a second, and the garbage
// collector need not hear of it.
func (d *device) newBlock(sibling *block, ptr spec.Ptr, size uint64) *block {
	b := d.spare
	if b == nil {
		b = new(block)
	} else {
		d.spare = b.next
	}
	*b = block{
		pool: sibling.pool, segment: sibling.segment, stream: sibling.stream,
		ptr: ptr, size: size, mapped: true, uses: b.uses[:0],
	}
	return b
}

// retire keeps the struct of a block that no longer exists for newBlock. Nothing
// may point to it any more.
func (d *device) retire(b *block) {
	b.context = nil
	b.next = d.spare
	d.spare = b
}
