package report

import (
	"github.com/tidwall/btree"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
)

// allocatorState is the reserved memory and the active blocks at one place of a history.
// It begins with the state at the start, and entries are added one after the other.
//
// An entry has the requested size, not the size of the block. That follows: it is the
// rounded request. In a large segment that is not expandable, a remainder that is too
// small to be split off is added.
type allocatorState struct {
	settings history.Settings
	reserved btree.Map[spec.Ptr, reservedRange]
	active   btree.Map[spec.Ptr, activeBlock]

	allocatedBytes, reservedBytes uint64

	statistics [numStatistics]Statistic
	sites      *siteTable     // who holds the allocated memory; nil: not counted
	recorder   *stateRecorder // nil: states are not recorded
}

// reservedRange is a segment, or a mapped range of an expandable one.
type reservedRange struct {
	bytes      uint64
	stream     spec.Stream
	pool       spec.PoolID
	kind       spec.PoolKind
	expandable bool
}

// activeBlock is an allocated block, or a freed one with stream uses that have not ended.
type activeBlock struct {
	size, requested uint64
	context         *snapshot.Context // of an entry, or with the frames of a block only
	site            int32
	entry           int32 // the alloc entry; -1: before the history
	pendingFree     bool
}

// newAllocatorState begins with the given segments. The sites count nothing yet.
func newAllocatorState(segments []spec.Segment, settings history.Settings, sites *siteTable) *allocatorState {
	s := &allocatorState{settings: settings, sites: sites}
	for i := range segments {
		segment := &segments[i]
		s.reserve(segment.Address, reservedRange{segment.TotalSize, segment.Stream, segment.Pool, segment.PoolKind, segment.Expandable})
		s.statistics[reservedMemory].start(segment.TotalSize)
		for _, b := range segment.Blocks {
			if b.State == spec.Inactive {
				continue
			}
			frames, _ := b.Context.(snapshot.Frames)
			added := activeBlock{b.Size, b.RequestedSize, &snapshot.Context{Frames: frames}, s.sites.ofStart(frames, b.RequestedSize), -1, b.State == spec.ActivePendingFree}
			s.active.Set(b.Address, added)
			s.statistics[activeMemory].start(b.Size)
			s.statistics[requestedMemory].start(b.RequestedSize)
			s.statistics[activeAllocs].start(1)
			if b.State == spec.ActiveAllocated {
				s.allocatedBytes += b.Size
				s.statistics[allocatedMemory].start(b.Size)
				s.statistics[allocations].start(1)
				s.sites.hold(&added)
			}
		}
	}
	return s
}

// add adds the next entry of the history.
func (s *allocatorState) add(entry int, e *snapshot.TraceEntry) {
	switch e.Action {
	case spec.ActionAlloc:
		b := activeBlock{s.blockSize(e), e.Size, e.Context, s.sites.of(entry, e), int32(entry), false}
		s.active.Set(e.Addr, b)
		s.recorder.allocate(e.Addr, b)
		s.allocate(&b)
	case spec.ActionFreeRequested:
		if b, isActive := s.active.Get(e.Addr); isActive && !b.pendingFree {
			b.pendingFree = true
			s.active.Set(e.Addr, b)
			s.recorder.free(e.Addr)
			s.free(&b)
		}
	case spec.ActionFreeCompleted:
		if b, isActive := s.active.Delete(e.Addr); isActive {
			s.recorder.complete(e.Addr)
			if !b.pendingFree {
				s.free(&b)
			}
			s.statistics[activeMemory].sub(b.size)
			s.statistics[requestedMemory].sub(b.requested) // as PyTorch does, not before
			s.statistics[activeAllocs].sub(1)
		}
	case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
		s.reserve(e.Addr, reservedRange{
			e.Size, e.Stream, e.Context.Pool, e.SegmentPoolKind(), e.Action == spec.ActionSegmentMap,
		})
		s.statistics[reservedMemory].add(e.Size)
	case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
		s.unreserve(e.Addr, e.Size)
		s.statistics[reservedMemory].sub(e.Size)
	}
}

// allocate counts a block that was allocated.
func (s *allocatorState) allocate(b *activeBlock) {
	s.allocatedBytes += b.size
	s.statistics[allocatedMemory].add(b.size)
	s.statistics[activeMemory].add(b.size)
	s.statistics[requestedMemory].add(b.requested)
	s.statistics[allocations].add(1)
	s.statistics[activeAllocs].add(1)
	s.sites.allocate(b)
}

// free counts a block whose free was requested.
func (s *allocatorState) free(b *activeBlock) {
	s.allocatedBytes -= b.size
	s.statistics[allocatedMemory].sub(b.size)
	s.statistics[allocations].sub(1)
	s.sites.release(b)
}

func (s *allocatorState) reserve(at spec.Ptr, r reservedRange) {
	s.reserved.Set(at, r)
	s.recorder.reserve(at, r)
	s.reservedBytes += r.bytes
}

// unreserve removes memory, which may be a part of a reserved range, or several ranges.
func (s *allocatorState) unreserve(at spec.Ptr, bytes uint64) {
	end := at + spec.Ptr(bytes)
	for at < end {
		start, r, found := s.rangeAt(at)
		if !found {
			return // the history contradicts itself; see history.Unrecorded
		}
		stop := min(end, start+spec.Ptr(r.bytes))
		s.reserved.Delete(start)
		s.recorder.unreserve(start)
		s.reservedBytes -= r.bytes
		if before := uint64(at - start); before > 0 {
			s.reserve(start, reservedRange{before, r.stream, r.pool, r.kind, r.expandable})
		}
		if behind := uint64(start + spec.Ptr(r.bytes) - stop); behind > 0 {
			s.reserve(stop, reservedRange{behind, r.stream, r.pool, r.kind, r.expandable})
		}
		at = stop
	}
}

// rangeAt is the reserved range that contains an address.
func (s *allocatorState) rangeAt(at spec.Ptr) (start spec.Ptr, r reservedRange, found bool) {
	s.reserved.Descend(at, func(from spec.Ptr, candidate reservedRange) bool {
		start, r, found = from, candidate, at < from+spec.Ptr(candidate.bytes)
		return false
	})
	return start, r, found
}

// blockSize is the size of the block of an alloc entry.
func (s *allocatorState) blockSize(e *snapshot.TraceEntry) uint64 {
	size := s.settings.RoundedSize(e.Size)
	start, r, found := s.rangeAt(e.Addr)
	if !found || r.expandable || r.kind == spec.SmallPool {
		return size
	}
	next := start + spec.Ptr(r.bytes)
	s.active.Ascend(e.Addr+1, func(at spec.Ptr, _ activeBlock) bool {
		next = min(next, at)
		return false
	})
	remainder := uint64(next-e.Addr) - min(size, uint64(next-e.Addr))
	if remainder <= spec.DefaultGeometry().SmallSize || size >= s.settings.Config.MaxSplitSize {
		size += remainder
	}
	return size
}
