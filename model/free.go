package model

import (
	"slices"

	"gaugeblock/spec"
)

// A Result is what a caller must have got of an action: an address or an error,
// as a spec.Allocator gives them.
type Result struct {
	Ptr spec.Ptr // malloc
	Err error
}

// Free takes memory back. Nobody else used it: it can be given out again at once.
// Other streams used it: it waits for an event in each; while something is redirected,
// that is put off.
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
	if b.Size >= s.Config.MaxSplitSize {
		s.Counters.OversizeAllocations--
	}
	switch {
	case len(b.StreamUses) == 0:
		s.freeBlock(p)
	case s.isRouting():
		b.State = spec.ActivePendingFree
	default:
		s.removeGraphStreamUses(b)
		s.insertEvents(b)
	}
	return s, Result{}
}

// RecordStream notes that work on another stream uses memory that is out. The
// stream that the memory was given out for needs no note.
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

// makeFree puts a block that nobody has or uses any more with the free ones.
func (s *State) freeBlock(p place) {
	b := s.at(p)
	b.State = spec.Inactive
	b.StreamUses = nil
	b.GCCountBase = s.GetFreeBlocksCallCount[s.Segments[p.segment].PoolKind]
	s.mergeFree(p)
}

// settle makes one block of a free one and its free neighbours, mapped or unmapped all
// of them, and is the place of it. The figure of what was last asked for is that of
// the block, not of the neighbours.
func (s *State) mergeFree(p place) place {
	g := &s.Segments[p.segment]
	unmapped := g.Blocks[p.block].Unmapped
	alike := func(i int) bool {
		return i >= 0 && i < len(g.Blocks) && g.Blocks[i].State == spec.Inactive && g.Blocks[i].Unmapped == unmapped
	}
	first, last := p.block, p.block
	if alike(first - 1) {
		first--
	}
	if alike(last + 1) {
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
