package invariant

import (
	"cmp"
	"math/bits"
	"slices"

	"gaugeblock/spec"
)

// blockWalk checks what can be seen by going once over the blocks of a device,
// segment by segment and in order of address: invariants 1 to 6. It counts what
// it sees, for the comparison with the statistics.
//
// Both a snapshot and an allocator's own structures are walked this way, so that a
// rule stands in one place. The walk allocates nothing as long as all is well.
type blockWalk struct {
	geometry spec.Geometry
	device   spec.Device
	report   *violationReport

	// declared is the size that a snapshot gives for the segment under way. It is
	// zero when there is none to compare with.
	declared uint64
	segment  segmentWalk

	extents []spec.Range // of the segments so far
	small   blockCount
	large   blockCount

	// doubtful blocks are larger than rounding explains, which is right in a pool
	// that does not split. They are kept only where marksKnown says that it will
	// be learned later which pools those are.
	doubtful   []spec.BlockView
	marksKnown bool
}

// segmentWalk is how far the walk has come in a segment.
type segmentWalk struct {
	open       bool
	stream     spec.Stream
	pool       spec.PoolID
	kind       spec.PoolKind
	expandable bool

	start spec.Ptr // of the segment
	run   spec.Ptr // start of the range that is mapped, or unmapped, without a break
	last  spec.Ptr // the block before
	end   spec.Ptr // its end, where the next block has to begin

	lastFree   bool
	lastMapped bool
}

// start prepares the walk over another device, keeping its buffers.
func (w *blockWalk) start(g spec.Geometry, dev spec.Device, r *violationReport) {
	*w = blockWalk{
		geometry: g, device: dev, report: r, marksKnown: w.marksKnown,
		extents: w.extents[:0], doubtful: w.doubtful[:0],
	}
}

// block is the next block. It reports whether the block is free.
func (w *blockWalk) block(b *spec.BlockView) (free bool) {
	free = !b.Allocated && b.EventCount == 0 && b.StreamUses == 0
	mapped := b.Mapped || !b.Expandable
	s := &w.segment
	switch {
	case b.First:
		w.open(b, mapped)
	case !s.continues(b) || mapped != s.lastMapped || free && s.lastFree:
		w.follow(b, free, mapped)
	}
	if end := b.Address + spec.Ptr(b.Size); end <= b.Address || (b.Size|uint64(b.Address))&(w.geometry.MinBlock-1) != 0 {
		w.checkBlockSize(b)
	}
	if !free && !w.fits(b) {
		w.checkRequest(b)
	}
	if !b.Mapped && !(free && b.Expandable) {
		w.reportUnmapped(b, free)
	}
	w.count(b, free, mapped)

	s.last, s.end = b.Address, b.Address+spec.Ptr(b.Size)
	s.lastFree, s.lastMapped = free, mapped
	if b.Last {
		w.close()
	}
	return free
}

// open begins a segment with its first block.
func (w *blockWalk) open(b *spec.BlockView, mapped bool) {
	if w.segment.open {
		w.report.add(blocksTileSegments, w.device, b.Address,
			"block %v (%d bytes) is the first of a segment, but the segment at %v had no last block",
			b.Address, b.Size, w.segment.start)
		w.close()
	}
	w.segment = segmentWalk{
		open: true, stream: b.Stream, pool: b.Pool, kind: b.PoolKind, expandable: b.Expandable,
		start: b.Address, run: b.Address, end: b.Address, lastMapped: mapped,
	}
}

// continues reports whether the block is the next one of the segment. It is inlined;
// almost every block does.
func (s *segmentWalk) continues(b *spec.BlockView) bool {
	return s.open && b.Address == s.end && b.Stream == s.stream && b.Pool == s.pool &&
		b.PoolKind == s.kind && b.Expandable == s.expandable
}

// follow goes from a block to its neighbour, of which something is remarkable:
// invariants 1 and 3.
func (w *blockWalk) follow(b *spec.BlockView, free, mapped bool) {
	s := &w.segment
	if !s.open {
		w.report.add(blocksTileSegments, w.device, b.Address,
			"block %v (%d bytes) follows another one in its segment, but comes first", b.Address, b.Size)
		w.open(b, mapped)
		return
	}
	if !s.continues(b) {
		w.reportMisplaced(b)
	}
	if mapped != s.lastMapped {
		w.endRun()
	} else if free && s.lastFree {
		w.report.add(noMergeableNeighbours, w.device, b.Address,
			"blocks %v (%d bytes) and %v (%d bytes) are neighbours and both free",
			s.last, uint64(s.end-s.last), b.Address, b.Size)
	}
}

// reportMisplaced says in what a block does not fit to the one before it.
func (w *blockWalk) reportMisplaced(b *spec.BlockView) {
	s := &w.segment
	switch {
	case b.Address > s.end:
		w.report.add(blocksTileSegments, w.device, b.Address,
			"%d bytes between block %v, which ends at %v, and block %v (%d bytes) belong to no block",
			uint64(b.Address-s.end), s.last, s.end, b.Address, b.Size)
	case b.Address < s.end:
		w.report.add(blocksTileSegments, w.device, b.Address,
			"block %v (%d bytes) begins %d bytes before the end %v of the block before it, %v",
			b.Address, b.Size, uint64(s.end-b.Address), s.end, s.last)
	case b.Stream != s.stream:
		w.report.add(blocksTileSegments, w.device, b.Address,
			"block %v (%d bytes) is of stream %v in a segment of stream %v", b.Address, b.Size, b.Stream, s.stream)
	case b.Pool != s.pool || b.PoolKind != s.kind:
		w.report.add(blocksTileSegments, w.device, b.Address,
			"block %v (%d bytes) is of the %s pool %v in a segment of the %s pool %v",
			b.Address, b.Size, b.PoolKind, b.Pool, s.kind, s.pool)
	default:
		w.report.add(blocksTileSegments, w.device, b.Address,
			"block %v (%d bytes) and the rest of its segment disagree on whether it is expandable", b.Address, b.Size)
	}
}

// close ends the segment under way.
func (w *blockWalk) close() {
	w.endRun()
	s := &w.segment
	s.open = false
	if !s.expandable {
		w.ofKind(s.kind).segments++
	}
	w.extents = append(w.extents, spec.Range{Ptr: s.start, Bytes: w.sizeFrom(s.start)})
}

// endRun ends a range of the segment that is mapped, or unmapped, throughout.
func (w *blockWalk) endRun() {
	s := &w.segment
	size := w.sizeFrom(s.run)
	if s.lastMapped {
		w.ofKind(s.kind).reservedBytes += int64(size)
	}
	w.checkRunSize(size)
	s.run = s.end
}

// sizeFrom is the size of the segment under way, or of a part of it up to here.
func (w *blockWalk) sizeFrom(start spec.Ptr) uint64 {
	if w.declared != 0 {
		return w.declared
	}
	return uint64(w.segment.end - start)
}

// finish is called after the last block.
func (w *blockWalk) finish() {
	if w.segment.open {
		w.report.add(blocksTileSegments, w.device, w.segment.last,
			"block %v (%d bytes) is followed by another one in its segment, but comes last",
			w.segment.last, uint64(w.segment.end-w.segment.last))
		w.close()
	}
	w.checkDisjoint()
}

// checkDisjoint compares each segment with the one that reaches furthest of those
// that begin before it: invariant 2.
func (w *blockWalk) checkDisjoint() {
	byAddress := func(a, b spec.Range) int { return cmp.Compare(a.Ptr, b.Ptr) }
	if !slices.IsSortedFunc(w.extents, byAddress) {
		slices.SortFunc(w.extents, byAddress)
	}
	furthest := 0
	for i := 1; i < len(w.extents); i++ {
		before, s := w.extents[furthest], w.extents[i]
		if s.Ptr < before.End() {
			w.report.add(liveBlocksDisjoint, w.device, s.Ptr,
				"segments %v (%d bytes) and %v (%d bytes) share %d bytes",
				before.Ptr, before.Bytes, s.Ptr, s.Bytes, uint64(min(before.End(), s.End())-s.Ptr))
		}
		if s.End() > before.End() {
			furthest = i
		}
	}
}

// driverAlignment is what Driver.Malloc promises, in bytes.
const driverAlignment = 512

// checkBlockSize is the part of invariant 4 that a block shows. The memory of a
// private pool may come from functions of the program, which promise nothing.
func (w *blockWalk) checkBlockSize(b *spec.BlockView) {
	unit := w.geometry.MinBlock
	if b.Size == 0 || b.Size&(unit-1) != 0 {
		w.report.add(sizesAndAlignment, w.device, b.Address,
			"block %v has %d bytes, not a positive multiple of %d", b.Address, b.Size, unit)
	}
	if unit = min(unit, driverAlignment); uint64(b.Address)&(unit-1) != 0 && b.Pool.IsDefault() {
		w.report.add(sizesAndAlignment, w.device, b.Address,
			"block %v (%d bytes) is not aligned to %d bytes", b.Address, b.Size, unit)
	}
	if b.Address+spec.Ptr(b.Size) < b.Address {
		w.report.add(sizesAndAlignment, w.device, b.Address,
			"block %v (%d bytes) runs past the end of the address space", b.Address, b.Size)
	}
}

// checkRunSize is the part of invariant 4 that a segment shows, or a range of an
// expandable one. It asks only for what holds whatever the settings were when the
// segment was made:
//
//	small pool, plain         SmallBuffer
//	small pool, expandable    pages of SmallBuffer
//	large pool, plain         LargeBuffer, or large_segment_size_mb, or a multiple of RoundLarge
//	large pool, expandable    pages of LargeBuffer, or of large_segment_size_mb
//
// where the setting is any multiple of Geometry.MiB, and no large segment is below
// MinLargeAlloc.
func (w *blockWalk) checkRunSize(size uint64) {
	s, g := &w.segment, &w.geometry
	switch {
	case s.kind == spec.SmallPool && !s.expandable:
		if size != g.SmallBuffer {
			w.report.add(sizesAndAlignment, w.device, s.run,
				"segment %v of a small pool has %d bytes instead of %d", s.run, size, g.SmallBuffer)
		}
	case s.kind == spec.SmallPool:
		if size == 0 || size%g.SmallBuffer != 0 {
			w.report.add(sizesAndAlignment, w.device, s.run,
				"range %v of an expandable segment of a small pool has %d bytes, not whole pages of %d", s.run, size, g.SmallBuffer)
		}
	case size < g.MinLargeAlloc:
		w.report.add(sizesAndAlignment, w.device, s.run,
			"segment %v of a large pool has %d bytes, less than %d", s.run, size, g.MinLargeAlloc)
	case size%g.MiB == 0:
	case s.expandable && size%g.LargeBuffer == 0:
	case !s.expandable && (size == g.LargeBuffer || size%g.RoundLarge == 0):
	default:
		w.report.add(sizesAndAlignment, w.device, s.run,
			"segment %v of a large pool has %d bytes, which no request and no setting leads to", s.run, size)
	}
}

// fits reports whether a block is as large as the request, rounded to MinBlock, and of
// a small pool, which checkRequest need not look at. It is inlined.
func (w *blockWalk) fits(b *spec.BlockView) bool {
	return b.RequestedSize != 0 && b.RequestedSize <= b.Size && b.Size <= w.geometry.SmallSize &&
		b.Size-b.RequestedSize < w.geometry.MinBlock && b.PoolKind == spec.SmallPool
}

// checkRequest is invariant 5, for a block in use.
//
// Blocks of small pools are always split when MinBlock bytes are left over,
// except in a pool that is marked not to split, so that their size is the rounded
// request, which is at most the next power of two. Blocks of large pools can be
// any amount too large, depending on settings that may have changed since.
func (w *blockWalk) checkRequest(b *spec.BlockView) {
	switch {
	case b.RequestedSize == 0:
		w.report.add(requestsFit, w.device, b.Address,
			"block %v (%d bytes) is in use, but nothing was asked for", b.Address, b.Size)
	case b.RequestedSize > b.Size:
		w.report.add(requestsFit, w.device, b.Address,
			"block %v has %d bytes, %d were asked for", b.Address, b.Size, b.RequestedSize)
	case b.PoolKind == spec.LargePool:
		if b.Size <= w.geometry.SmallSize {
			w.report.add(requestsFit, w.device, b.Address,
				"block %v (%d bytes) of a large pool is in use, but a small pool serves up to %d bytes",
				b.Address, b.Size, w.geometry.SmallSize)
		}
	case b.Size > w.geometry.SmallSize || b.Size-b.RequestedSize >= w.geometry.MinBlock && !rounded(b.RequestedSize, b.Size):
		if b.Pool.IsDefault() {
			w.reportTooLarge(b)
		} else if w.marksKnown {
			w.doubtful = append(w.doubtful, *b)
		}
	}
}

// rounded reports whether some setting rounds a request to a size by whole steps
// between powers of two: the size is at most the next power of two.
func rounded(request, size uint64) bool { return bits.Len64(size-1) <= bits.Len64(request-1) }

func (w *blockWalk) reportTooLarge(b *spec.BlockView) {
	w.report.add(requestsFit, w.device, b.Address,
		"block %v of a small pool has %d bytes, more than rounding makes of the %d that were asked for",
		b.Address, b.Size, b.RequestedSize)
}

// reportUnmapped is invariant 6.
func (w *blockWalk) reportUnmapped(b *spec.BlockView, free bool) {
	if free {
		w.report.add(activeBlocksAreMapped, w.device, b.Address,
			"block %v (%d bytes) has no memory behind it, but its segment is not expandable", b.Address, b.Size)
		return
	}
	w.report.add(activeBlocksAreMapped, w.device, b.Address,
		"block %v (%d bytes) is in use (%v), but has no memory behind it", b.Address, b.Size, b.State())
}
