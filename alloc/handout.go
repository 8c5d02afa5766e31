package alloc

import "gaugeblock/spec"

// Giving a found block out. The request takes the low addresses; what is left
// over goes to the free list.

// handOut gives the block, which is on no list, to the request.
func (d *device) handOut(b *block, w *want) spec.Ptr {
	if d.shouldSplit(b, w) {
		b = d.splitOff(b, w.size)
	} else {
		d.takeWhole(b)
	}
	d.activate(b, w.requested, w.context, w.thread)
	return b.ptr
}

// takeWhole counts that a free block, which is on no list, is not cut: if it is a
// part of a segment, there is one free part less.
func (d *device) takeWhole(b *block) {
	if b.split() && b.plain() {
		d.stats.InactiveSplit.Decrease(b.pool.kind, 1)
		d.stats.InactiveSplitBytes.Decrease(b.pool.kind, int64(b.size))
	}
}

// splitOff cuts the low bytes off a free block, which is on no list, and puts the
// rest on the free list. The rest keeps the struct, and with it the size that was
// last asked for.
func (d *device) splitOff(rest *block, size uint64) *block {
	wasSplit := rest.split()
	b := d.newBlock(rest, rest.ptr, size)
	rest.linkBefore(b)
	rest.ptr += spec.Ptr(size)
	rest.size -= size
	rest.pool.keep(rest)

	kind := b.pool.kind
	if !b.plain() {
		return b
	}
	if wasSplit {
		d.stats.InactiveSplitBytes.Decrease(kind, int64(size))
	} else {
		d.stats.InactiveSplit.Increase(kind, 1)
		d.stats.InactiveSplitBytes.Increase(kind, int64(rest.size))
	}
	return b
}

// activate makes a caller the owner of a block.
func (d *device) activate(b *block, requested uint64, context any, thread spec.Thread) {
	b.allocated = true
	b.requested = requested
	b.context = context
	d.table.put(b.ptr, b)
	d.trace(spec.ActionAlloc, b, requested, context, thread)

	kind, size := b.pool.kind, int64(b.size)
	d.stats.Allocation.Increase(kind, 1)
	d.stats.AllocatedBytes.Increase(kind, size)
	d.stats.Active.Increase(kind, 1)
	d.stats.ActiveBytes.Increase(kind, size)
	d.stats.RequestedBytes.Increase(kind, int64(requested))
	if b.size >= d.cfg.MaxSplitSize {
		d.stats.OversizeAllocations.Increase(1)
	}
}
