package alloc

import "gaugeblock/spec"

// Best fit: the smallest free block of the stream that is large enough, at the lowest
// address among equals. There is no second candidate: if the best fit fails the
// oversize tests, the search has failed.
//
// Oversize blocks (max_split_size and more) are never split, so allocating one for a
// much smaller request would waste most of it. Hence the two oversize tests: a request
// below max_split_size does not take an oversize block, and an oversize request takes
// only a block that is not too much larger.

// getFreeBlockLocked takes the best fit for the request out of the free blocks, or
// returns nil.
func (d *device) getFreeBlockLocked(params *allocParams) *block {
	if d.gcEnabledLocked() {
		params.blockPool.getFreeBlocksCallCount++
	}
	blocks := &params.blockPool.blocks
	b := blocks.lowerBound(params.stream, blockKey{size: params.size})
	if b != nil && b.isExpandable() {
		b = bestFitFrom(b, params)
	}
	if b == nil || d.failsOversizeTestsLocked(b, params.size) {
		return nil
	}
	blocks.remove(b)
	return b
}

// bestFitFrom is the best fit if the search has found a block b of an expandable
// segment.
//
// With expandable segments on, a block before an unmapped one counts with its
// expandable size: taking a small piece of it would use up address space that only a
// large request needs. So the search goes on, from block to block, while the next
// one's expandable size is smaller.
//
// With expandable segments off (they were on before) their memory must not be
// allocated: the program may be about to share what it gets. The best fit is the first
// block of another segment.
func bestFitFrom(b *block, params *allocParams) *block {
	blocks := &params.blockPool.blocks
	if !params.useExpandable {
		for b != nil && b.isExpandable() {
			b = blocks.after(b)
		}
		return b
	}
	for b.isExpandable() {
		next := blocks.after(b)
		if next == nil || expandableSize(next) >= expandableSize(b) {
			break
		}
		b = next
	}
	return b
}

// expandableSize is the size of a free block together with the unmapped block that
// follows, if one does.
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

// shouldSplitLocked reports whether a block is split for the request. A small block is,
// and every block while expandable segments are on, if a block remains at all. A large
// one is if more than SmallSize remains. An oversize request takes its block whole, and
// so does every request for a pool marked noSplit.
func (d *device) shouldSplitLocked(b *block, params *allocParams) bool {
	blockPool := b.segment.blockPool
	if blockPool.owner.noSplit {
		return false
	}
	remaining := b.size - params.size
	if blockPool.kind == spec.SmallPool || params.useExpandable {
		return remaining >= d.geometry.MinBlock
	}
	return params.size < d.cfg.MaxSplitSize && remaining > d.geometry.SmallSize
}
