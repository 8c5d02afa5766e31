package history

import (
	"slices"

	"github.com/tidwall/btree"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// The history is a ring of max_entries entries, so that of a long run has lost its
// beginning. But the segments of the snapshot are the state at its end, and each entry
// can be undone, from the last to the first. The result is the state at its start. If
// nothing is reserved then, the history is complete.
//
// Undoing gives the reserved memory and the active blocks with their requested sizes.
// The size of a block is not in the history, but follows. In a small pool, and in
// expandable segments, it is the rounded request. In other segments of a large pool a
// remainder of up to SmallSize is not split off. How large the remainder is shows where
// the next block begins, at the start or at any time before the block is freed.

// activeBlock is an allocated block, or a freed one with stream uses that have not ended.
type activeBlock struct {
	requested   uint64
	size        uint64   // 0: not known
	next        spec.Ptr // the lowest address behind it at which a block was allocated; 0: none
	stream      spec.Stream
	pendingFree bool
}

// allocatorState is what is known at one place of the history.
type allocatorState struct {
	reserved     reservedMemory
	active       btree.Map[spec.Ptr, activeBlock]
	inconsistent map[int]struct{} // the indexes of entries that contradict what follows them
	skipped      []spec.Action
}

// stateAtEnd is the state that the segments of a snapshot have.
func stateAtEnd(f *snapshot.File, dev spec.Device) *allocatorState {
	s := &allocatorState{reserved: reservedAtEnd(f.Segments, dev)}
	for i := range f.Segments {
		segment := &f.Segments[i]
		if segment.Device != dev {
			continue
		}
		for _, b := range segment.Blocks {
			if b.State != spec.Inactive {
				s.active.Set(b.Address, activeBlock{
					requested: b.RequestedSize, size: b.Size,
					stream: segment.Stream, pendingFree: b.State == spec.ActivePendingFree,
				})
			}
		}
	}
	return s
}

// undo goes back over an entry. It reports whether that is consistent with what follows it.
func (s *allocatorState) undo(e *snapshot.TraceEntry) (consistent bool) {
	b, isActive := s.active.Get(e.Addr)
	consistent = true
	switch e.Action {
	case spec.ActionAlloc:
		consistent = isActive && !b.pendingFree
		s.active.Delete(e.Addr)
		s.recordNext(e.Addr)
	case spec.ActionFreeCompleted:
		consistent = !isActive
		pending := !slices.Contains(s.skipped, spec.ActionFreeRequested)
		s.active.Set(e.Addr, activeBlock{requested: e.Size, stream: e.Stream, pendingFree: pending})
	case spec.ActionFreeRequested:
		completed := slices.Contains(s.skipped, spec.ActionFreeCompleted)
		consistent = b.pendingFree || !isActive && completed
		s.active.Set(e.Addr, activeBlock{requested: e.Size, size: b.size, next: b.next, stream: e.Stream})
	case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
		consistent = s.reserved.remove(spec.Range{Ptr: e.Addr, Bytes: e.Size})
	case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
		s.reserved.add(freedRange(e))
	}
	return consistent
}

// recordNext records with the active block below an address that a block was allocated
// there.
func (s *allocatorState) recordNext(p spec.Ptr) {
	var below spec.Ptr
	var b activeBlock
	s.active.Descend(p, func(at spec.Ptr, found activeBlock) bool {
		below, b = at, found
		return false
	})
	if below != 0 && b.size == 0 && (b.next == 0 || p < b.next) {
		b.next = p
		s.active.Set(below, b)
	}
}

// freedRange is the memory of a segment_free or segment_unmap entry.
func freedRange(e *snapshot.TraceEntry) reservedRange {
	return reservedRange{
		Range: spec.Range{Ptr: e.Addr, Bytes: e.Size}, stream: e.Stream,
		kind:       e.SegmentPoolKind(),
		expandable: e.Action == spec.ActionSegmentUnmap,
		pool:       e.Context.Pool, poolKnown: e.Context.PoolKnown,
	}
}

// stateAtStart undoes a whole history.
func stateAtStart(f *snapshot.File, dev spec.Device, trace []snapshot.TraceEntry, skipped []spec.Action) *allocatorState {
	s := stateAtEnd(f, dev)
	s.skipped, s.inconsistent = skipped, map[int]struct{}{}
	for i := range slices.Backward(trace) {
		if !s.undo(&trace[i]) {
			s.inconsistent[i] = struct{}{}
		}
	}
	return s
}

// segments are the state as a snapshot would have it.
func (s *allocatorState) segments(dev spec.Device, recorded Settings) []spec.Segment {
	byAddress := s.active.Keys()
	var segments []spec.Segment
	for i := range s.reserved {
		r := &s.reserved[i]
		first, _ := slices.BinarySearch(byAddress, r.Ptr)
		end, _ := slices.BinarySearch(byAddress, r.End())
		segment := spec.Segment{
			Device: dev, Address: r.Ptr, TotalSize: r.Bytes, Stream: r.stream,
			Pool: r.pool, PoolKind: r.kind, Expandable: r.expandable,
		}
		for _, b := range s.blocks(r, byAddress[first:end], recorded) {
			if b.State != spec.Inactive {
				segment.ActiveSize += b.Size
				segment.RequestedSize += b.RequestedSize
			}
			if b.State == spec.ActiveAllocated {
				segment.AllocatedSize += b.Size
			}
			segment.Blocks = append(segment.Blocks, b)
		}
		segments = append(segments, segment)
	}
	return segments
}

// blocks are the blocks of one range, given the addresses of its active blocks.
func (s *allocatorState) blocks(r *reservedRange, active []spec.Ptr, recorded Settings) []spec.Block {
	var blocks []spec.Block
	end := r.Ptr
	inactive := func(to spec.Ptr) {
		if to > end {
			blocks = append(blocks, spec.Block{Address: end, Size: uint64(to - end), State: spec.Inactive})
		}
	}
	for i, p := range active {
		inactive(p)
		room := uint64(r.End() - p)
		if i+1 < len(active) {
			room = uint64(active[i+1] - p)
		}
		a, _ := s.active.Get(p)
		b := spec.Block{Address: p, Size: a.blockSize(p, r, room, recorded), RequestedSize: a.requested, State: spec.ActiveAllocated}
		if a.pendingFree {
			b.State = spec.ActivePendingFree
		}
		blocks = append(blocks, b)
		end = p + spec.Ptr(b.Size)
	}
	inactive(r.End())
	return blocks
}

// blockSize is the size of an active block at an address. room is the bytes up to the
// next active block or the end of the range.
func (b *activeBlock) blockSize(p spec.Ptr, r *reservedRange, room uint64, recorded Settings) uint64 {
	if b.size > 0 {
		return min(b.size, room)
	}
	size := recorded.RoundedSize(b.requested)
	if size >= room || r.kind == spec.SmallPool || r.expandable {
		return min(size, room)
	}
	if b.next > p && b.next < p+spec.Ptr(room) {
		room = uint64(b.next - p)
	}
	if room-size <= spec.DefaultGeometry().SmallSize || size >= recorded.Config.MaxSplitSize {
		return room
	}
	return size
}
