package alloc

import "gaugeblock/spec"

// Best fit: the smallest free block of the stream that is large enough, among equals the first in
// the order of the rule Ties (block.order). There is no second candidate: if the best fit fails the
// oversize tests, the search has failed.
//
// Oversize blocks (max_split_size and more) are kept for oversize requests, which take their
// block whole. Hence the two oversize tests: a request below max_split_size does not take
// an oversize block, and an oversize request takes only a block that is less than
// max_non_split_rounding larger. (An oversize request that expandable segments may serve
// splits its block, but the tests are the same.)

// getFreeBlockLocked takes the best fit for a request out of the free blocks, or returns nil.
func (d *device) getFreeBlockLocked(
	blockPool *blockPool, stream spec.Stream, size uint64, useExpandable bool,
) *block {
	if d.gcEnabledLocked() {
		blockPool.getFreeBlocksCallCount++
	}
	b := d.bestFitLocked(blockPool, stream, size, useExpandable)
	if b != nil {
		b.segment.lists.free.remove(b)
	}
	return b
}

// bestFitLocked is the best fit, unless it fails the oversize tests, or nil.
func (d *device) bestFitLocked(
	blockPool *blockPool, stream spec.Stream, size uint64, useExpandable bool,
) *block {
	lists := blockPool.blocks.of(stream)
	if lists == nil {
		return nil
	}
	b := lists.free.bestFit(size)
	if b != nil && b.isExpandable() {
		b = bestFitFrom(b, &lists.free, useExpandable)
	}
	if b == nil || d.failsOversizeTestsLocked(b, size) {
		return nil
	}
	return b
}

// bestFitFrom is the best fit, if the search has found a block b of an expandable segment.
//
// With expandable segments on, a block before an unmapped one counts with its
// expandable size: a small request that took it would use up address space that a large
// request needs. So the search goes on, from block to block, while the next one's
// expandable size is smaller. (A block whose expandable size is its size ends it without a look
// at the next, which is no smaller.)
//
// With expandable segments off (they were on before) their memory is not allocated: the
// program may have turned them off to share what it allocates. The best fit is the first
// block of a segment that is not expandable.
func bestFitFrom(b *block, blocks *sizeClasses, useExpandable bool) *block {
	if !useExpandable {
		for b != nil && b.isExpandable() {
			b = blocks.after(b)
		}
		return b
	}
	for b.isExpandable() && expandableSize(b) > b.size {
		next := blocks.after(b)
		if next == nil || expandableSize(next) >= expandableSize(b) {
			break
		}
		b = next
	}
	return b
}

// expandableSize is the size of a free block, with that of the next block in its segment if
// that one is unmapped.
func expandableSize(b *block) uint64 {
	if b.next != nil && !b.next.mapped {
		return b.size + b.next.size
	}
	return b.size
}

// failsOversizeTestsLocked is the two oversize tests.
func (d *device) failsOversizeTestsLocked(b *block, size uint64) bool {
	if size < d.cfg.MaxSplitSize {
		return b.size >= d.cfg.MaxSplitSize && d.cfg.MaxSplitSize != spec.Unlimited
	}
	return b.size >= size+d.cfg.MaxNonSplitRounding
}

// shouldSplitLocked reports whether a block is split for the request. A block of a small
// block pool is split if MinBlock or more remains, and so is every block for a request that
// expandable segments may serve (useExpandable). Else a block of a large block pool is split
// if more than SmallSize remains and the request is not oversize. No malloc splits a block of
// a pool marked noSplit.
func (d *device) shouldSplitLocked(b *block, size uint64, useExpandable bool) bool {
	blockPool := b.segment.blockPool
	if blockPool.owner.noSplit {
		return false
	}
	remaining := b.size - size
	if blockPool.kind == spec.SmallPool || useExpandable {
		return remaining >= d.geometry.MinBlock
	}
	return size < d.cfg.MaxSplitSize && remaining > d.geometry.SmallSize
}
