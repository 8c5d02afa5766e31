package alloc

import (
	"slices"

	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// A block is a part of a segment (upstream: Block). The blocks of a segment form a doubly
// linked list in order of address. They cover the segment.
//
// The states of a block, as snapshots name them:
//
//	inactive ──malloc──▶ active_allocated ──free──▶ inactive     (no other stream used it)
//	                            │
//	                            └──free──▶ active_pending_free ──▶ inactive
//
// A block is active_pending_free while it is pending (events of other streams are
// outstanding, events.go) or deferred (it has no events yet, capture.go).
//
// Between two operations a free block is in a list of its block pool (streamlists.go): free if it
// is mapped, else unmapped. No other block is in either. During an operation a free block can be in
// no list: one that a malloc or a restore has taken out, or one whose free is about to be
// completed. The block pool and the allocation stream are those of the segment.
//
// A block is 64 bytes, one cache line: every malloc and free reads and writes several blocks.
type block struct {
	segment *segment

	ptr           spec.Ptr
	size          uint64 // bytes
	requestedSize uint64 // bytes; set when the block is allocated, kept when it is freed

	prev, next *block

	rare      *rareState // nil if all of it is zero
	allocated bool
	mapped    bool   // memory is behind the addresses; false only in an expandable segment
	class     uint16 // of its size, while it is in sizeClasses
}

// rareState is the part of a block that most blocks do not need.
type rareState struct {
	eventCount int32       // outstanding events; see events.go
	streamUses []streamUse // empty once events were recorded for them

	number               uint64 // of the blocks that were made; see order
	gcCountBase          uint64 // the block pool's getFreeBlocksCallCount at insertFree
	contextWhenAllocated gatheredContext
}

// noRareState is what a block without a rareState has. Nothing writes to it.
var noRareState rareState

// readRare is the block's rareState, to be read.
func (b *block) readRare() *rareState {
	if b.rare == nil {
		return &noRareState
	}
	return b.rare
}

// writeRare is the block's rareState, to be written.
func (b *block) writeRare() *rareState {
	if b.rare == nil {
		b.rare = new(rareState)
	}
	return b.rare
}

// streamUse is a stream, other than the allocation stream, on which a block was used.
// A block's stream uses are in the order of lessStream, each stream once.
type streamUse struct {
	stream spec.DeviceStream

	// duringCapture: recordStream was called for the stream, at least once, while there may
	// have been a capture (mayCaptureLocked); see capture.go. (Upstream:
	// block_to_cudagraph_stream_uses.)
	duringCapture bool
}

// lessStream orders streams by handle, then by device.
func lessStream(s, o spec.DeviceStream) bool {
	return s.Stream < o.Stream || (s.Stream == o.Stream && s.Device < o.Device)
}

// isFree reports whether the block is neither allocated nor pending nor deferred. An
// unmapped block is free in this sense; the free blocks of a block pool are the mapped ones.
func (b *block) isFree() bool { return !b.allocated && (b.rare == nil || !b.rare.isUsed()) }

// isUsed reports whether streams may still use a block that was freed.
func (r *rareState) isUsed() bool { return r.eventCount > 0 || len(r.streamUses) > 0 }

// isSplit reports whether the block does not cover its whole segment (upstream: is_split).
func (b *block) isSplit() bool { return b.prev != nil || b.next != nil }

// isExpandable reports whether the block's segment is expandable.
func (b *block) isExpandable() bool { return b.segment.expandable != nil }

// end is the first address after the block.
func (b *block) end() spec.Ptr { return b.ptr + spec.Ptr(b.size) }

// order is what free blocks of one size and stream are ordered by, before their addresses: with
// TiesByBlock the number of the block, with TiesBySegment that of the segment, else 0. (A block's
// number is that of its struct, which a merge keeps.)
func (b *block) order() uint64 {
	if b.rare != nil && b.rare.number != 0 {
		return b.rare.number
	}
	return b.segment.number
}

// requested is the range that was requested.
func (b *block) requested() spec.Range { return spec.Range{Ptr: b.ptr, Bytes: b.requestedSize} }

// whole is the range of the block.
func (b *block) whole() spec.Range { return spec.Range{Ptr: b.ptr, Bytes: b.size} }

// state is the block's state in a snapshot.
func (b *block) state() spec.BlockState {
	switch {
	case b.allocated:
		return spec.ActiveAllocated
	case b.isFree():
		return spec.Inactive
	}
	return spec.ActivePendingFree
}

// insertBefore puts a new block into the list of its segment, directly before next.
func (b *block) insertBefore(next *block) {
	b.prev, b.next = next.prev, next
	if next.prev != nil {
		next.prev.next = b
	} else {
		b.segment.head = b
	}
	next.prev = b
}

// insertAfter puts a new block into the list of its segment, directly after prev.
func (b *block) insertAfter(prev *block) {
	b.prev, b.next = prev, prev.next
	if prev.next != nil {
		prev.next.prev = b
	}
	prev.next = b
}

// splitOff makes b a new block with the low bytes of a free one, which is in no list. The remainder
// keeps its struct, and with it the requested size of the block's previous allocation.
func (b *block) splitOff(remaining *block, size uint64) {
	b.segment, b.ptr, b.size, b.mapped = remaining.segment, remaining.ptr, size, true
	b.insertBefore(remaining)
	remaining.ptr += spec.Ptr(size)
	remaining.size -= size
}

// newBlockLocked makes a mapped block for a range of a segment, not allocated. Its prev and next
// are to be set.
func (d *device) newBlockLocked(s *segment, ptr spec.Ptr, size uint64) *block {
	b := d.spareBlockLocked()
	b.segment, b.ptr, b.size, b.requestedSize = s, ptr, size, 0 // one by one is faster than a whole struct
	b.allocated, b.mapped = false, true
	return b
}

// spareBlockLocked is the struct of a new block. All of its fields but rare are to be set. It is
// one that recycleBlockLocked has kept, if there is one: splits and new segments need structs,
// merges and released segments leave them.
func (d *device) spareBlockLocked() *block {
	if d.spareBlocks == nil {
		d.makeSpareBlocksLocked()
	}
	b := d.spareBlocks
	d.spareBlocks = b.next
	if d.rules.Ties == upstream.TiesByBlock {
		d.blocksMade++
		b.writeRare().number = d.blocksMade
	}
	return b
}

// makeSpareBlocksLocked makes structs for eight blocks at once, so that each is a cache line:
// Go puts 512 bytes at a multiple of 512, and something before what is larger.
func (d *device) makeSpareBlocksLocked() {
	blocks := new([8]block)
	for i := range slices.Backward(blocks[:]) {
		d.recycleBlockLocked(&blocks[i])
	}
}

// recycleBlockLocked keeps the struct of a block that no longer exists for spareBlockLocked.
// No pointer to it may be left.
func (d *device) recycleBlockLocked(b *block) {
	if b.rare != nil {
		b.rare.clear()
	}
	b.next = d.spareBlocks
	d.spareBlocks = b
}

func (r *rareState) clear() { *r = rareState{streamUses: r.streamUses[:0]} }
