package alloc

import "gaugeblock/spec"

// The steps of a free. The driver calls that can fail, if any, come first. Then the block
// is not allocated any more (trace entry free_requested). When the free is completed
// (freeBlockLocked, free_completed) depends on the other streams that used the block:
//
//	none                            at once
//	some                            pending: when a later malloc, EmptyCache or EmptyPool
//	                                has queried, or waited for, an event on each (events.go)
//	some, requests being routed     deferred: a later operation makes the block pending
//	                                or completes the free (capture.go)

// free frees the block at ptr. It takes the mutex.
func (d *device) free(ptr spec.Ptr) error {
	context := d.maybeGatherContext(spec.ContextAll)

	d.lock()
	b := d.allocatedBlocks.getLocked(ptr)
	if b != nil && b.rare == nil && !d.traceBuffer.enabled {
		d.freeAtOnceLocked(b, nil) // calls no function of the program, and none of the driver
		d.mu.Unlock()
		return nil
	}
	defer d.unlock()
	if b == nil {
		return &spec.InvalidPointerError{Op: "free", Ptr: ptr}
	}
	return d.freeAllocatedLocked(b, context)
}

// freeAllocatedLocked frees an allocated block. A failure changes nothing.
func (d *device) freeAllocatedLocked(b *block, context gatheredContext) error {
	switch {
	case len(b.rarely().streamUses) == 0:
		d.freeAtOnceLocked(b, context)
	case d.requestsRoutedLocked():
		markers, err := d.recordFreeMarkersLocked(b)
		if err != nil {
			return err
		}
		d.markFreeRequestedLocked(b, context)
		d.deferBlockLocked(b, markers)
	default:
		events, err := d.recordEventsLocked(b.rare.streamUses)
		if err != nil {
			return err
		}
		d.markFreeRequestedLocked(b, context)
		d.queueEventsLocked(b, events)
	}
	return nil
}

// freeAtOnceLocked frees an allocated block without stream uses.
func (d *device) freeAtOnceLocked(b *block, context gatheredContext) {
	d.markFreeRequestedLocked(b, context)
	d.freeBlockLocked(b, context)
}

// markFreeRequestedLocked makes a block not allocated, and counts and traces it (upstream:
// the beginning of free).
func (d *device) markFreeRequestedLocked(b *block, context gatheredContext) {
	d.allocatedBlocks.eraseLocked(b.ptr)
	b.allocated = false
	kind := b.segment.blockPool.kind
	d.blockStats.allocation.decrease(kind, 1)
	d.blockStats.allocatedBytes.decrease(kind, int64(b.size))
	if d.traceBuffer.enabled {
		d.recordFreeTraceLocked(spec.ActionFreeRequested, b, context)
	}
	if b.size >= d.cfg.MaxSplitSize {
		d.stats.OversizeAllocations.Decrease(1)
	}
}

// freeBlockLocked completes the free of a block: it merges the block with its free
// neighbours and puts it into the free blocks (upstream: free_block).
func (d *device) freeBlockLocked(b *block, context gatheredContext) {
	if d.traceBuffer.enabled {
		d.recordFreeTraceLocked(spec.ActionFreeCompleted, b, context)
	}
	if b.rare != nil {
		b.rare.contextWhenAllocated = nil
	}
	blockPool := b.segment.blockPool
	kind, size, requested := blockPool.kind, int64(b.size), int64(b.requestedSize)

	// One change of inactive_split: plus the block, if it is split after the merges, minus
	// each neighbour that was merged into it.
	var count, bytes int64
	for _, neighbour := range [...]*block{b.prev, b.next} {
		if b.merges(neighbour) {
			count--
			bytes -= int64(neighbour.size)
			d.mergeLocked(b, neighbour)
		}
	}
	blockPool.insertFree(b)
	if b.isSplit() {
		count++
		bytes += int64(b.size)
	}
	if !b.isExpandable() {
		d.blockStats.inactiveSplit.add(kind, count)
		d.blockStats.inactiveSplitBytes.add(kind, bytes)
	}

	d.blockStats.active.decrease(kind, 1)
	d.blockStats.activeBytes.decrease(kind, size)
	d.blockStats.requestedBytes.decrease(kind, requested)
}

// tryMergeBlocksLocked merges a neighbour into b, if that is possible.
func (d *device) tryMergeBlocksLocked(b, neighbour *block) {
	if b.merges(neighbour) {
		d.mergeLocked(b, neighbour)
	}
}

// merges reports whether a neighbour, which may be nil, is free and both or neither are mapped.
func (b *block) merges(neighbour *block) bool {
	return neighbour != nil && neighbour.isFree() && neighbour.mapped == b.mapped
}

// mergeLocked merges a free neighbour into b. b keeps its struct and requested size, and is in
// no list.
func (d *device) mergeLocked(b, neighbour *block) {
	neighbour.removeFromList()
	neighbour.unlink()
	if neighbour.ptr < b.ptr {
		b.ptr = neighbour.ptr
	}
	b.size += neighbour.size
	d.recycleBlockLocked(neighbour)
}

// recordFreeTraceLocked records a step of a free.
func (d *device) recordFreeTraceLocked(action spec.Action, b *block, context gatheredContext) {
	d.recordTraceLocked(action, b, b.requestedSize, contextOr(context, b.rarely().contextWhenAllocated), noThread)
}

// contextOr is the context of a free's trace entries: that of the operation under way (a
// Free, a restore, or what completes the free: a malloc, EmptyCache, EmptyPool, a
// checkpoint), or, if that was not gathered, the one of the allocation.
func contextOr(present, whenAllocated gatheredContext) gatheredContext {
	if present != nil {
		return present
	}
	return whenAllocated
}
