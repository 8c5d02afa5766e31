package alloc

import (
	"slices"

	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// Returning cached memory to the driver. A free block can be returned if it is a whole
// segment. Of a free block in an expandable segment, the pages can be unmapped that
// lie wholly in it.
//
// While a capture is under way in a mode that forbids it (Driver.FreeForbidden), nothing is
// returned: the driver call would be illegal and would invalidate the capture. The result of each
// function here is then the same as for an empty cache. (Upstream calls the driver when it
// collects garbage, pytorch/pytorch#74261; see docs/findings.md, findings 19 and 20.)

// releaseCachedBlocksLocked returns what can be returned of the cache. While there may be a capture
// (mayCaptureLocked) only the memory of freeable pools is returned, and nothing is waited for.
// Otherwise all events are waited for first, and the default pool's memory is returned too.
func (d *device) releaseCachedBlocksLocked() error {
	capturing, err := d.mayCaptureLocked()
	switch {
	case err != nil:
		return err
	case d.rules.RoutedEmptyCacheFails && d.requestsRoutedLocked():
		const reason = "requests are routed to a private pool"
		return &spec.InvalidStateError{Op: "empty_cache", Reason: reason}
	case d.driver.FreeForbidden():
		if d.rules.Captures == upstream.CapturesByMark && !capturing {
			d.stats.NumSyncAllStreams++ // the wait counts, though there is none
		}
		return nil
	}
	if err := d.unreleasedPages.releaseAgain(d.driver); err != nil {
		return err
	}
	if !capturing {
		if err := d.synchronizeAndFreeEventsLocked(nil); err != nil {
			return err
		}
		if err := d.releaseBlocksLocked(&d.defaultPool.largeBlocks); err != nil {
			return err
		}
		if err := d.releaseBlocksLocked(&d.defaultPool.smallBlocks); err != nil {
			return err
		}
	}
	return d.releaseFreeablePoolsLocked()
}

// releaseBlocksLocked returns what it can of a block pool's free blocks: whole segments
// in order, then pages of expandable segments, which changes the lists.
func (d *device) releaseBlocksLocked(blockPool *blockPool) error {
	var toUnmap []*block
	for _, b := range slices.Collect(blockPool.blocks.allFree()) {
		switch {
		case b.isExpandable():
			toUnmap = append(toUnmap, b)
		case !b.isSplit():
			if err := d.releaseBlockLocked(b); err != nil {
				return err
			}
		}
	}
	for _, b := range toUnmap {
		if err := d.unmapBlockLocked(b); err != nil {
			return err
		}
	}
	return nil
}

// releaseAvailableCachedBlocksLocked returns just enough oversize blocks of the
// request's stream to make room for the request, and reports whether it did. It does
// nothing unless max_split_size is set, since without it no block is oversize. The blocks of
// a small block pool are never oversize.
//
// One block that is as large as the request is enough. Without one, the largest blocks are
// returned until their sum is enough. If it is not, they are returned nevertheless.
//
// Nothing is returned of a pool that a graph was captured with: the graph will use the
// addresses again. Upstream does not test this (deviation oversize/captured-pool,
// pytorch/pytorch#159594).
func (d *device) releaseAvailableCachedBlocksLocked(params *allocParams) (bool, error) {
	if d.cfg.MaxSplitSize == spec.Unlimited || params.blockPool.owner.captured || d.driver.FreeForbidden() {
		return false, nil
	}
	lists := params.blockPool.blocks.of(params.stream)
	if lists == nil {
		return false, nil
	}
	key := blockKey{size: max(params.size, d.cfg.MaxSplitSize)}
	first := lists.free.lowerBound(key)
	if first != nil && isWholeDriverSegment(first) {
		return true, d.releaseBlockLocked(first)
	}
	// From the largest block down. The next is looked up before the present one is released.
	released := uint64(0)
	b := lists.free.predecessor(key)
	for b != nil && released < key.size && b.size >= d.cfg.MaxSplitSize {
		below, size := lists.free.before(b), b.size
		if isWholeDriverSegment(b) {
			if err := d.releaseBlockLocked(b); err != nil {
				return false, err
			}
			released += size
		}
		b = below
	}
	return released >= key.size, nil
}

// isWholeDriverSegment reports whether a free block can be returned by one driver call. Upstream
// does not test whether an oversize block is split (it was, if max_split_size was larger then:
// settings change at run time, pytorch/pytorch#84970), and would return allocated memory (deviation
// oversize/part-freed).
func isWholeDriverSegment(b *block) bool { return !b.isExpandable() && !b.isSplit() }

// gcEnabledLocked reports whether garbage is collected before memory is obtained from the
// driver: there are a limit and a garbage_collection_threshold.
func (d *device) gcEnabledLocked() bool {
	return d.limited && d.cfg.GarbageCollectionThreshold > 0
}

// garbageCollectCachedBlocksLocked returns old cached segments of the default pool's large
// block pool when the reserved memory exceeds a fraction of the limit. Unlike the release of
// the whole cache it waits for no event.
//
// In each round every whole segment is returned that is at least as old as the average
// of those left, until enough was returned or a round returned none. A round goes on to its
// end even if enough was returned.
func (d *device) garbageCollectCachedBlocksLocked() error {
	threshold := uint64(d.cfg.GarbageCollectionThreshold * float64(d.allowedMemoryMaximum))
	if d.reservedBytesLocked() <= threshold || d.driver.FreeForbidden() {
		return nil
	}
	target := d.reservedBytesLocked() - threshold
	reclaimed := uint64(0)

	blockPool := &d.defaultPool.largeBlocks
	var candidates []*block
	totalAge := uint64(0)
	for b := range blockPool.blocks.allFree() {
		if !b.isSplit() {
			candidates = append(candidates, b)
			totalAge += blockPool.gcAge(b)
		}
	}
	for reclaimed < target && len(candidates) > 0 {
		average := float64(totalAge) / float64(len(candidates))
		var left []*block
		for _, b := range candidates {
			if float64(blockPool.gcAge(b)) < average || b.isExpandable() {
				left = append(left, b)
				continue
			}
			totalAge -= blockPool.gcAge(b)
			reclaimed += b.size
			if err := d.releaseBlockLocked(b); err != nil {
				return err
			}
		}
		if len(left) == len(candidates) {
			break
		}
		candidates = left
	}
	return nil
}
