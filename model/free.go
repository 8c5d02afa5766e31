package model

import (
	"slices"

	"gaugeblock/spec"
)

// A Result is what the caller of an action must have got: an address or an error, as a
// spec.Allocator returns them.
type Result struct {
	Ptr spec.Ptr // malloc
	Err error
}

// Free frees an allocated block. Without stream uses the block becomes inactive at
// once. With stream uses an event is recorded in each of these streams, and the block
// becomes inactive when all are complete. While there may be a capture
// (captureUnderway) no event is recorded: the free is deferred.
func (s State) Free(ptr spec.Ptr) (State, Result) {
	if ptr == 0 {
		return s, Result{}
	}
	s = s.copy()
	p, found := s.findAllocated(ptr)
	if !found {
		return s, Result{Err: &spec.InvalidPointerError{Op: "free", Ptr: ptr}}
	}
	b := s.at(p)
	if !s.captureUnderway() {
		s.recordEvents(b.StreamUses)
	}
	if b.Size >= s.Config.MaxSplitSize {
		s.Counters.OversizeAllocations--
	}
	switch {
	case len(b.StreamUses) == 0:
		s.freeBlock(p)
	case s.captureUnderway():
		b.State = spec.ActivePendingFree
	default:
		s.removeGraphStreamUses(b)
		s.insertEvents(b)
	}
	s.renumber()
	return s, Result{}
}

// RecordStream adds a stream use to an allocated block. The block's own stream is not
// a stream use.
func (s State) RecordStream(ptr spec.Ptr, id spec.DeviceStream) (State, Result) {
	if ptr == 0 {
		return s, Result{}
	}
	s = s.copy()
	p, found := s.findAllocated(ptr)
	if !found {
		return s, Result{Err: &spec.InvalidPointerError{Op: "record_stream", Ptr: ptr}}
	}
	own := spec.DeviceStream{Device: s.Device, Stream: s.Segments[p.segment].Stream}
	if id == own {
		return s, Result{}
	}
	b := s.at(p)
	s.addGraphStreamUse(b, id)
	if !slices.Contains(b.StreamUses, id) {
		b.StreamUses = append(b.StreamUses, id)
		slices.SortFunc(b.StreamUses, compareStreams)
	}
	return s, Result{}
}

// freeBlock makes a block inactive, and merges it.
func (s *State) freeBlock(p place) {
	b := s.at(p)
	b.State = spec.Inactive
	b.StreamUses = nil
	b.GCCountBase = s.GetFreeBlocksCallCount[s.Segments[p.segment].PoolKind]
	s.tryMergeBlocks(p)
}

// tryMergeBlocks merges an inactive block with the inactive neighbours that are mapped if it
// is, and unmapped if it is. It returns the place of the merged block. RequestedSize
// remains that of the block.
func (s *State) tryMergeBlocks(p place) place {
	g := &s.Segments[p.segment]
	unmapped := g.Blocks[p.block].Unmapped
	mergeable := func(i int) bool {
		return i >= 0 && i < len(g.Blocks) && g.Blocks[i].State == spec.Inactive && g.Blocks[i].Unmapped == unmapped
	}
	first, last := p.block, p.block
	if mergeable(first - 1) {
		first--
	}
	if mergeable(last + 1) {
		last++
	}
	merged := g.Blocks[p.block]
	merged.Address, merged.Size = g.Blocks[first].Address, 0
	for _, b := range g.Blocks[first : last+1] {
		merged.Size += b.Size
	}
	g.Blocks = slices.Replace(g.Blocks, first, last+1, merged)
	return place{p.segment, first}
}
