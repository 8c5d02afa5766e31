package alloc

import "gaugeblock/spec"

// The steps of a free. The driver calls that can fail, if any, come first. Then the block
// is not allocated any more (trace entry free_requested). When the free is completed
// (completeFreeLocked, free_completed) depends on the other streams that used the block:
//
//	none                            at once
//	some                            pending: when a later malloc, EmptyCache or EmptyPool
//	                                has queried, or waited for, an event on each (events.go)
//	some, in a capture              deferred: a later operation makes the block pending
//	                                or completes the free (capture.go)

// free frees the block at ptr. It takes the mutex.
//
// The usual free calls nothing but functions of this package, and need not be prepared for a panic.
func (d *device) free(ptr spec.Ptr) error {
	if d.contextRecorder.Load() != nil {
		return d.freeForCaller(ptr, spec.Caller{})
	}
	if !d.mu.TryLock() {
		d.lockInTurn()
	}
	b := d.allocatedBlocks.findLocked(ptr)
	if b == nil || b.rare != nil || d.traceBuffer.enabled {
		return d.freeAndUnlock(ptr, operation{})
	}
	d.markFreeRequestedLocked(b)
	d.freeBlockLocked(b)
	d.mu.Unlock()
	return nil
}

// freeForCaller is free for a caller, who may have a context recorded.
func (d *device) freeForCaller(ptr spec.Ptr, c spec.Caller) error {
	context := d.gatherContext(spec.ContextAll)
	d.lock()
	return d.freeAndUnlock(ptr, operationOf(c, d, context))
}

// freeAndUnlock goes through all steps of a free. It releases the mutex, which is held.
func (d *device) freeAndUnlock(ptr spec.Ptr, o operation) error {
	defer d.unlock()
	d.operation = o
	b := d.allocatedBlocks.findLocked(ptr)
	if b == nil {
		return &spec.InvalidPointerError{Op: "free", Ptr: ptr}
	}
	return d.freeAllocatedLocked(b)
}

// freeAllocatedLocked frees an allocated block. A failure changes nothing.
func (d *device) freeAllocatedLocked(b *block) error {
	if len(b.readRare().streamUses) == 0 {
		d.freeAtOnceLocked(b)
		return nil
	}
	capturing, err := d.mayCaptureLocked()
	switch {
	case err != nil:
		return err
	case capturing:
		markers, err := d.recordFreeMarkersLocked(b)
		if err != nil {
			return err
		}
		d.requestFreeLocked(b)
		d.deferBlockLocked(b, markers)
	default:
		events, err := d.recordEventsLocked(b.rare.streamUses)
		if err != nil {
			return err
		}
		d.requestFreeLocked(b)
		d.queueEventsLocked(b, events)
	}
	return nil
}

// freeAtOnceLocked frees an allocated block without stream uses.
func (d *device) freeAtOnceLocked(b *block) {
	d.requestFreeLocked(b)
	d.completeFreeLocked(b)
}

// requestFreeLocked records that the program has freed a block: it counts and traces it (upstream:
// the beginning of free). The caller must then complete the free, or make the block pending or
// deferred.
func (d *device) requestFreeLocked(b *block) {
	d.markFreeRequestedLocked(b)
	d.blockStats.changePending(b.segment.blockPool.kind, 1, int64(b.size))
	d.recordFreeTraceLocked(spec.ActionFreeRequested, b)
}

// completeFreeLocked completes the free of a block, and counts and traces it.
func (d *device) completeFreeLocked(b *block) {
	d.recordFreeTraceLocked(spec.ActionFreeCompleted, b)
	if b.rare != nil {
		b.rare.contextWhenAllocated = nil
	}
	d.blockStats.changePending(b.segment.blockPool.kind, -1, int64(b.size))
	d.freeBlockLocked(b)
}

// markFreeRequestedLocked makes a block not allocated, and counts it.
func (d *device) markFreeRequestedLocked(b *block) {
	d.allocatedBlocks.eraseLocked(b.ptr)
	b.allocated = false
	d.blockStats.requestFree(b.segment.blockPool.kind, int64(b.size))
	if b.size >= d.cfg.MaxSplitSize {
		d.stats.OversizeAllocations.Decrease(1)
	}
}

// freeBlockLocked makes a block free that is not allocated any more: it merges the block with its
// free neighbours and puts it into the free blocks (upstream: free_block).
func (d *device) freeBlockLocked(b *block) {
	s := b.segment
	kind := s.blockPool.kind
	d.blockStats.completeFree(kind, int64(b.requestedSize))

	// One change of inactive_split: minus each neighbour that is merged into the block, plus the
	// block, if it is split after that.
	var count, bytes int64
	if prev := b.prev; b.merges(prev) {
		s.lists.free.remove(prev)
		count, bytes = -1, -int64(prev.size)
		d.absorbPrevLocked(b, prev)
	}
	if next := b.next; b.merges(next) {
		s.lists.free.remove(next)
		count, bytes = count-1, bytes-int64(next.size)
		d.absorbNextLocked(b, next)
	}
	s.blockPool.startAge(b)
	s.lists.free.insert(b)
	if s.expandable == nil {
		if b.isSplit() {
			count, bytes = count+1, bytes+int64(b.size)
		}
		d.blockStats.inactiveSplit.add(kind, count)
		d.blockStats.inactiveSplitBytes.add(kind, bytes)
	}
}

// mergeNeighboursLocked merges the neighbours of b into it that can be. b is in no list.
func (d *device) mergeNeighboursLocked(b *block) {
	if prev := b.prev; b.merges(prev) {
		prev.removeFromList()
		d.absorbPrevLocked(b, prev)
	}
	if next := b.next; b.merges(next) {
		next.removeFromList()
		d.absorbNextLocked(b, next)
	}
}

// merges reports whether a neighbour, which may be nil, is free and both or neither are mapped.
func (b *block) merges(neighbour *block) bool {
	return neighbour != nil && neighbour.isFree() && neighbour.mapped == b.mapped
}

// absorbPrevLocked merges the block before b, which is in no list, into b. b keeps its struct and
// requested size.
func (d *device) absorbPrevLocked(b, prev *block) {
	b.ptr = prev.ptr
	b.size += prev.size
	before := prev.prev
	b.prev = before
	if before != nil {
		before.next = b
	} else {
		b.segment.head = b
	}
	d.recycleBlockLocked(prev)
}

// absorbNextLocked is absorbPrevLocked for the block after b.
func (d *device) absorbNextLocked(b, next *block) {
	b.size += next.size
	after := next.next
	b.next = after
	if after != nil {
		after.prev = b
	}
	d.recycleBlockLocked(next)
}

// recordFreeTraceLocked records a step of a free.
func (d *device) recordFreeTraceLocked(action spec.Action, b *block) {
	if d.traceBuffer.enabled {
		d.recordTraceLocked(action, b.segment, b.requested(), b.readRare().contextWhenAllocated)
	}
}
