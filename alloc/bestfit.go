package alloc

import "gaugeblock/spec"

// Best fit: the smallest free block of the stream that is large enough, at the
// lowest address among equals. There is no second candidate: if the best one is
// not to be had, nothing is.
//
// Oversize blocks (max_split_size and more) are never split, so giving one to a
// much smaller request would waste most of it. Hence two tests on the candidate:
// a request below max_split_size does not take an oversize block, and an oversize
// request takes only one that is not too much larger.

// takeBestFit takes the best block for the request off its free list, or returns
// nil.
func (d *device) takeBestFit(w *want) *block {
	if d.collectsGarbage() {
		w.pool.requests++
	}
	free := &w.pool.free
	b := free.firstNotBelow(w.stream, blockKey{rank: w.size})
	if b != nil && !b.plain() {
		b = d.chooseExpandable(b, w)
	}
	if b == nil || d.tooLarge(b, w.size) {
		return nil
	}
	free.remove(b)
	return b
}

// chooseExpandable is what becomes of a best fit b in an expandable segment.
//
// With expandable segments on, a block at the edge of what is mapped counts as
// large as it can grow: taking a small piece of it would spoil the room for a
// request that nothing else can serve. So the search goes on, past such blocks,
// while the next one is smaller in this sense.
//
// With expandable segments off (they were on before), the memory they hold must
// not be given out: the program may be about to share what it gets. The first
// block that is not in one is the candidate.
func (d *device) chooseExpandable(b *block, w *want) *block {
	free := &w.pool.free
	if !w.expandable {
		for b != nil && !b.plain() {
			b = free.after(b)
		}
		return b
	}
	for !b.plain() {
		next := free.after(b)
		if next == nil || growableSize(next) >= growableSize(b) {
			break
		}
		b = next
	}
	return b
}

// growableSize is the size a free block can have when what follows it is mapped.
func growableSize(b *block) uint64 {
	if b.next != nil && !b.next.mapped {
		return b.size + b.next.size
	}
	return b.size
}

// tooLarge is the pair of oversize tests.
func (d *device) tooLarge(b *block, size uint64) bool {
	if size < d.cfg.MaxSplitSize {
		return b.size >= d.cfg.MaxSplitSize && d.cfg.MaxSplitSize != spec.Unlimited
	}
	return b.size >= size+d.cfg.MaxNonSplitRounding
}

// shouldSplit reports whether the rest of a block is worth keeping apart. Small
// blocks, and all while expandable segments are on, are cut to size; a large one
// keeps up to SmallSize more than was asked for, and an oversize request takes its
// block whole. Some pools never split.
func (d *device) shouldSplit(b *block, w *want) bool {
	if b.pool.owner.noSplit {
		return false
	}
	rest := b.size - w.size
	if b.pool.kind == spec.SmallPool || w.expandable {
		return rest >= d.geometry.MinBlock
	}
	return w.size < d.cfg.MaxSplitSize && rest > d.geometry.SmallSize
}
