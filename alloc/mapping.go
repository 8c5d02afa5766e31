package alloc

import (
	"errors"
	"slices"

	"gaugeblock/spec"
)

// Blocks of expandable segments: finding room for a request, and moving the border
// between free and unmapped blocks. pages.go has the pages themselves.
//
// Expandable segments do not count in the statistics segment and inactive_split, as
// upstream. Upstream's cudaMalloc_count of a private pool counts differently up than down,
// and so does ours: up once for each request that tryAllocateExpandableBlockLocked
// serves, whatever was mapped for it, and down once for each block that is unmapped.

// tryAllocateExpandableBlockLocked serves a request from an expandable segment of its
// stream. It maps what is missing, and reserves a segment if no other has room. The
// block that it returns is in no list. nil without an error means out of memory; what
// was mapped until then stays mapped and free.
func (d *device) tryAllocateExpandableBlockLocked(params *allocParams) (*block, error) {
	b, err := d.findExpandableBlockLocked(params)
	if b == nil {
		return nil, err
	}
	if !b.mapped {
		err = d.mapBlockLocked(b, min(b.size, params.size))
	}
	for err == nil && b.size < params.size {
		// b is free and too small, and the next block is unmapped. Mapping that one
		// merges b into it.
		next := b.next
		err = d.mapBlockLocked(next, min(next.size, params.size-b.size))
		b = next
	}
	switch {
	case errors.Is(err, spec.ErrDriverOutOfMemory):
		return nil, nil
	case err != nil:
		return nil, err
	}
	params.blockPool.owner.cudaMallocCount++
	b.removeFromList()
	return b, nil
}

// findExpandableBlockLocked finds the lowest place in the stream's expandable segments
// with room for the request: a block from which on enough blocks are free or unmapped. It
// is an unmapped block, or the free block before one. If there is none it makes a segment. nil
// without an error means that no segment has room (expandable_segments_reserve).
func (d *device) findExpandableBlockLocked(params *allocParams) (*block, error) {
	var unmapped blockList
	if lists := params.blockPool.blocks.of(params.stream); lists != nil {
		unmapped = lists.unmapped
	}
	for b := unmapped.lowerBound(blockKey{}); b != nil; b = unmapped.lowerBound(blockKey{ptr: b.ptr + 1}) {
		start := b
		if b.prev != nil && b.prev.isFree() {
			start = b.prev
		}
		if hasAvailableAddressSpace(start, params.size) {
			return start, nil
		}
	}
	return d.newExpandableSegmentLocked(params)
}

// hasAvailableAddressSpace reports whether at least that number of bytes from b on are free or
// unmapped.
func hasAvailableAddressSpace(b *block, bytes uint64) bool {
	available := uint64(0)
	for available < bytes && b != nil && b.isFree() {
		available += b.size
		b = b.next
	}
	return available >= bytes
}

// newExpandableSegmentLocked reserves a segment, which is one unmapped block.
func (d *device) newExpandableSegmentLocked(params *allocParams) (*block, error) {
	x, err := d.reserveExpandableLocked(params)
	if x == nil || err != nil {
		return nil, err
	}
	b := d.addSegmentLocked(&segment{base: x.base, size: x.size(), expandable: x}, params)
	b.mapped = false
	b.insertUnmapped()
	d.expandableSegments = append(d.expandableSegments, b.segment)
	return b, nil
}

// mapBlockLocked maps at least the first bytes of an unmapped block, in whole pages, and
// merges it with its free neighbours. With an error it does so for the pages whose
// mapping could not be undone (pages.go), if there are any. The same holds if the driver panics.
func (d *device) mapBlockLocked(b *block, bytes uint64) error {
	err := d.mapPagesLocked(b, bytes)
	d.deliverLocked()
	return err
}

func (d *device) mapPagesLocked(b *block, bytes uint64) error {
	x, r := b.segment.expandable, spec.Range{Ptr: b.ptr, Bytes: bytes}
	defer func() {
		if mapped := x.mappedRun(r); mapped.Bytes > 0 {
			d.markMappedLocked(b, mapped)
		}
	}()
	return x.mapLocked(r)
}

// markMappedLocked makes an unmapped block free memory, as far as it has been mapped.
func (d *device) markMappedLocked(b *block, mapped spec.Range) {
	s := b.segment
	b.removeFromList()
	b.mapped = true
	if mapped.Bytes < b.size {
		remaining := d.newBlockLocked(s, mapped.End(), b.size-mapped.Bytes)
		remaining.mapped = false
		remaining.insertAfter(b)
		b.size = mapped.Bytes
		remaining.insertUnmapped()
	}
	d.mergeNeighboursLocked(b)
	s.blockPool.insertFree(b)

	d.increaseReservedLocked(s.blockPool, mapped.Bytes)
	d.stats.NumDeviceAlloc++
	if b.prev == nil && s.contextWhenAllocated == nil {
		s.contextWhenAllocated = d.operation.context
	}
	d.recordTraceLocked(spec.ActionSegmentMap, s, mapped, nil)
}

// setAccessLocked gives access to the inaccessible pages (pages.go) of a block of an
// expandable segment. The block is free and in no list; if the driver call fails, or
// panics, it is put into the free blocks again.
func (d *device) setAccessLocked(b *block) error {
	return unlessDone(func() { b.segment.blockPool.insertFree(b) }, func() error {
		return b.segment.expandable.giveAccess(b.whole())
	})
}

// unmapBlockLocked unmaps the pages that lie wholly in a free block. The parts of the block
// before and after them stay free and mapped. A segment that has no page left is
// released with its addresses. Nothing is unmapped while the segment's stream is being
// captured, in whatever mode: the stream cannot be synchronized.
func (d *device) unmapBlockLocked(b *block) error {
	s := b.segment
	info, err := d.captureInfo(d.id, s.stream)
	if err != nil || info.Status != spec.CaptureNone {
		return err
	}
	err = d.unmapPagesLocked(b)
	d.deliverLocked()
	if err != nil || b.mapped || b.isSplit() {
		return err
	}
	return d.releaseExpandableSegmentLocked(s)
}

// unmapPagesLocked unmaps the pages that lie wholly in a free block, as many as it can. What
// of them is unmapped, after an error and after a panic of the driver as well, becomes an
// unmapped block, with the struct of b.
func (d *device) unmapPagesLocked(b *block) error {
	x, r := b.segment.expandable, b.whole()
	defer func() {
		if unmapped := x.unmappedRun(r); unmapped.Bytes > 0 {
			d.markUnmappedLocked(b, unmapped)
		}
	}()
	return x.unmap(r)
}

// markUnmappedLocked makes a part of a free block unmapped.
func (d *device) markUnmappedLocked(b *block, unmapped spec.Range) {
	s, blockPool := b.segment, b.segment.blockPool
	b.removeFromList()
	if unmapped.Ptr > b.ptr {
		before := d.newBlockLocked(s, b.ptr, uint64(unmapped.Ptr-b.ptr))
		before.insertBefore(b)
		blockPool.insertFree(before)
	}
	if end := b.end(); end > unmapped.End() {
		after := d.newBlockLocked(s, unmapped.End(), uint64(end-unmapped.End()))
		after.insertAfter(b)
		blockPool.insertFree(after)
	}
	b.ptr, b.size, b.mapped = unmapped.Ptr, unmapped.Bytes, false
	d.mergeNeighboursLocked(b)
	b.insertUnmapped()

	d.decreaseReservedLocked(blockPool, unmapped.Bytes)
	d.stats.NumDeviceFree++
	blockPool.owner.cudaMallocCount--
	d.recordTraceLocked(spec.ActionSegmentUnmap, s, unmapped, s.contextWhenAllocated)
}

// releaseUnmappedSegmentsLocked releases the segments that are one unmapped block, of pool
// p, or of all if p is nil. Such a segment remains when no page could be created for a new
// one. Emptying the cache releases those of freeable pools only; the next request for
// another pool finds them.
func (d *device) releaseUnmappedSegmentsLocked(p *pool) (failures error) {
	for _, s := range slices.Clone(d.segments) {
		if !s.head.mapped && !s.head.isSplit() && (p == nil || s.blockPool.owner == p) {
			failures = errors.Join(failures, d.releaseExpandableSegmentLocked(s))
		}
	}
	return failures
}

// releaseExpandableSegmentLocked releases a segment that is one unmapped block.
func (d *device) releaseExpandableSegmentLocked(s *segment) error {
	if err := s.expandable.freeAddress(); err != nil {
		return err
	}
	s.head.removeFromList()
	d.removeSegmentLocked(s)
	d.expandableSegments = slices.DeleteFunc(d.expandableSegments, func(o *segment) bool { return o == s })
	d.recycleBlockLocked(s.head)
	return nil
}

// ExpandableSegmentSizes lists how much is mapped of each expandable segment, in bytes,
// in the order in which the segments were made.
func (a *Allocator) ExpandableSegmentSizes(
	dev spec.Device,
) (sizes []spec.StreamSegmentSize, err error) {
	err = a.onDevice("expandable_segment_sizes", dev, func(d *device) error {
		for _, s := range d.expandableSegments {
			sizes = append(sizes, spec.StreamSegmentSize{Stream: s.stream, PoolKind: s.blockPool.kind, Mapped: s.expandable.mappedSize})
		}
		return nil
	})
	return sizes, err
}
