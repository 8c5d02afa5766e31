package alloc

import (
	"slices"

	"gaugeblock/spec"
)

// Giving cached memory back to the driver. A free block can go if it is a whole
// segment; of an expandable segment the pages can go that lie wholly in a free
// block.
//
// While a capture is under way in a mode that forbids it, nothing is given back:
// the driver call would be illegal and would invalidate the capture. Each step
// here then counts as having released nothing.

// releaseCached gives back all of the cache that can go: of the default pool,
// having waited for what events hold back, unless requests are being redirected;
// and of the private pools that nobody uses any more.
func (d *device) releaseCached(context any) error {
	if d.driver.FreeForbidden() {
		return nil
	}
	if err := d.unreleased.releaseAgain(d.driver); err != nil {
		return err
	}
	if !d.redirecting() {
		if err := d.waitForEvents(nil, context); err != nil {
			return err
		}
		if err := d.releaseBlocks(&d.pool.large, context); err != nil {
			return err
		}
		if err := d.releaseBlocks(&d.pool.small, context); err != nil {
			return err
		}
	}
	return d.releaseFreeable(context)
}

// releaseBlocks gives back what can go of the pool's free blocks: whole plain
// segments in the order of the free list, then the pages of expandable ones,
// which changes the list.
func (d *device) releaseBlocks(p *blockPool, context any) error {
	var growing []*block
	for _, b := range slices.Collect(p.free.all()) {
		switch {
		case !b.plain():
			growing = append(growing, b)
		case !b.split():
			if err := d.releaseSegment(b, context); err != nil {
				return err
			}
		}
	}
	for _, b := range growing {
		if err := d.unmapBlock(b, context); err != nil {
			return err
		}
	}
	return nil
}

// releaseOversize gives back just enough oversize blocks of the request's stream
// to make room for it, and reports whether it did. It does nothing unless
// max_split_size is set, since without it there are no oversize blocks. A small
// request looks in its own half, where there are none either.
//
// One block that is as large as the request is enough; failing that, the largest
// ones go until their sum is. What went stays gone even if it was not enough.
//
// Nothing goes of a pool that a graph was captured with: the graph will use those
// addresses again. Upstream does not ask; see docs/deviations.md.
func (d *device) releaseOversize(w *want) (bool, error) {
	if d.cfg.MaxSplitSize == spec.Unlimited || w.pool.owner.captured || d.driver.FreeForbidden() {
		return false, nil
	}
	free := &w.pool.free
	need := max(w.size, d.cfg.MaxSplitSize)
	first := free.firstNotBelow(w.stream, blockKey{rank: need})
	if first != nil && releasable(first) {
		return true, d.releaseSegment(first, w.context)
	}
	// Walk down. The next one is found before the present one is gone.
	released := uint64(0)
	b := free.lastBelow(w.stream, blockKey{rank: need})
	for b != nil && released < need && b.size >= d.cfg.MaxSplitSize {
		below, size := free.before(b), b.size
		if releasable(b) {
			if err := d.releaseSegment(b, w.context); err != nil {
				return false, err
			}
			released += size
		}
		b = below
	}
	return released >= need, nil
}

// releasable reports whether a free block can go back as one segment. Upstream does
// not ask whether the block is a whole segment (one that was split under a larger
// max_split_size is not), and would return memory that is in use; see
// docs/deviations.md.
func releasable(b *block) bool { return b.plain() && !b.split() }
