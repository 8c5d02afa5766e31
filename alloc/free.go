package alloc

import "gaugeblock/spec"

// The way of a free. The block counts as not allocated at once. What then happens
// to it depends on the other streams that used it:
//
//	none                                   freeBlock: merged, on the free list
//	some                                   an event at the end of each; freeBlock when
//	                                       all have completed (events.go)
//	some, while capturing or redirecting   put off until that is over (deferred.go)

// free takes back the block at ptr. It takes the lock.
func (d *device) free(ptr spec.Ptr) error {
	context := d.diary.gather(spec.ContextAll)

	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.table.get(ptr)
	if b == nil {
		return &spec.InvalidPointerError{Op: "free", Ptr: ptr}
	}
	return d.freeAllocated(b, context)
}

// freeAllocated is free for a block that is known. What can fail comes first, so
// that a failure leaves everything as it was.
func (d *device) freeAllocated(b *block, context any) error {
	switch {
	case len(b.uses) == 0:
		d.takeBack(b, context)
		d.freeBlock(b, context)
	case d.redirecting():
		markers, err := d.freeMarkers(b)
		if err != nil {
			return err
		}
		d.takeBack(b, context)
		d.deferFree(b, markers)
	default:
		events, err := d.recordEvents(b.uses)
		if err != nil {
			return err
		}
		d.takeBack(b, context)
		d.holdBack(b, events)
	}
	return nil
}

// takeBack ends a caller's ownership of a block.
func (d *device) takeBack(b *block, context any) {
	d.table.take(b.ptr)
	b.allocated = false
	kind := b.pool.kind
	d.stats.Allocation.Decrease(kind, 1)
	d.stats.AllocatedBytes.Decrease(kind, int64(b.size))
	d.trace(spec.ActionFreeRequested, b, b.requested, orElse(context, b.context), 0)
	if b.size >= d.cfg.MaxSplitSize {
		d.stats.OversizeAllocations.Decrease(1)
	}
}

// freeBlock makes a block that nobody has or uses available again.
func (d *device) freeBlock(b *block, context any) {
	d.trace(spec.ActionFreeCompleted, b, b.requested, orElse(context, b.context), 0)
	b.context = nil
	kind, size, requested := b.pool.kind, int64(b.size), int64(b.requested)

	// The change in free parts of segments is applied as one: the block itself,
	// if it still is a part, less each neighbour that it absorbs.
	var parts, partBytes int64
	for _, neighbour := range [...]*block{b.prev, b.next} {
		if absorbed := d.absorb(b, neighbour); absorbed > 0 {
			parts--
			partBytes -= int64(absorbed)
		}
	}
	b.pool.keep(b)
	if b.split() {
		parts++
		partBytes += int64(b.size)
	}
	if b.plain() {
		applyChange(&d.stats.InactiveSplit, kind, parts)
		applyChange(&d.stats.InactiveSplitBytes, kind, partBytes)
	}

	d.stats.Active.Decrease(kind, 1)
	d.stats.ActiveBytes.Decrease(kind, size)
	d.stats.RequestedBytes.Decrease(kind, requested)
}

// absorb merges a neighbour into b, if it is free and both or neither have memory
// behind them. It returns the neighbour's size in bytes, or 0. The struct of b
// stays, with the size that was last asked for of it.
func (d *device) absorb(b, neighbour *block) uint64 {
	if neighbour == nil || !neighbour.free() || neighbour.mapped != b.mapped {
		return 0
	}
	neighbour.pool.listOf(neighbour).remove(neighbour)
	neighbour.unlink()
	if neighbour.ptr < b.ptr {
		b.ptr = neighbour.ptr
	}
	size := neighbour.size
	b.size += size
	d.retire(neighbour)
	return size
}

// applyChange adds a difference of either sign to a figure.
func applyChange(a *spec.StatArray, kind spec.PoolKind, change int64) {
	switch {
	case change > 0:
		a.Increase(kind, change)
	case change < 0:
		a.Decrease(kind, -change)
	}
}

// orElse is the place that a diary entry names: where the program is now, or, if
// that was not asked, where it was when the memory was given out.
func orElse(now, then any) any {
	if now != nil {
		return now
	}
	return then
}
