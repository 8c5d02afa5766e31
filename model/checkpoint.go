package model

import (
	"slices"

	"gaugeblock/spec"
)

// Checkpoints. A captured graph writes to the addresses that it was captured with. If
// another graph is to be captured that continues after a replay of the first, the pool
// must be in the state at the end of the first capture. So the state of a pool is saved
// after a capture, and restored before the next.
//
// A restore frees every allocated block, so that each segment is one free block; then it
// allocates a block for each saved block; then it frees those that were free. Segments
// that were allocated after the checkpoint stay, all free.

// A Checkpoint is the saved state of a pool.
type Checkpoint struct {
	Pool   spec.PoolID
	Blocks []SavedBlock // the mapped ones, by address
	Mapped []MappedSize // of the expandable segments, by address
}

// A SavedBlock is a block of a checkpoint.
type SavedBlock struct {
	Memory    spec.Range
	Allocated bool
}

// A MappedSize is how many bytes of a segment were mapped, more than none.
type MappedSize struct {
	Segment spec.Ptr
	Bytes   uint64
}

func (c Checkpoint) equal(o Checkpoint) bool {
	return c.Pool == o.Pool && slices.Equal(c.Blocks, o.Blocks) && slices.Equal(c.Mapped, o.Mapped)
}

// Checkpoint saves the state of a pool, in place of an earlier checkpoint of it. Deferred
// frees are processed first. It fails while a block of the pool is pending free.
func (s State) Checkpoint(id spec.PoolID) (State, Result) {
	s = s.copy()
	s.insertEventsDeferredUntilNoCapture()
	saved := Checkpoint{Pool: id}
	pending := false
	s.eachBlock(id, func(p place) {
		b := s.at(p)
		pending = pending || b.State == spec.ActivePendingFree
		saved.Blocks = append(saved.Blocks, SavedBlock{
			Memory: spec.Range{Ptr: b.Address, Bytes: b.Size}, Allocated: b.State == spec.ActiveAllocated,
		})
	})
	for _, g := range s.Segments {
		if s.Rules.RestoreRefusesGrown && g.Pool == id && g.Expandable && g.mapped() > 0 {
			saved.Mapped = append(saved.Mapped, MappedSize{g.Address, g.mapped()})
		}
	}
	s.renumber()
	if pending {
		return s, Result{Err: &spec.InvalidStateError{Op: "checkpoint", Reason: "a block waits for events"}}
	}
	s = s.DropCheckpoint(id)
	s.Checkpoints = append(s.Checkpoints, saved)
	slices.SortFunc(s.Checkpoints, func(a, b Checkpoint) int { return comparePools(a.Pool, b.Pool) })
	return s, Result{}
}

// DropCheckpoint removes the checkpoint of a pool.
func (s State) DropCheckpoint(id spec.PoolID) State {
	s.Checkpoints = slices.DeleteFunc(slices.Clone(s.Checkpoints), func(c Checkpoint) bool { return c.Pool == id })
	return s
}

// SetCheckpointPoolState restores the checkpoint of a pool. It fails if there is none, if
// a block of the pool is used by other streams, or if saved memory was released.
func (s State) SetCheckpointPoolState(id spec.PoolID) (State, Result) {
	i := slices.IndexFunc(s.Checkpoints, func(c Checkpoint) bool { return c.Pool == id })
	if i < 0 || !s.restorable(s.Checkpoints[i]) {
		return s, Result{Err: &spec.InvalidStateError{Op: "restore", Reason: "the pool cannot be restored"}}
	}
	s = s.copy()
	s.freeAllocated(id)
	for _, saved := range s.Checkpoints[i].Blocks {
		s.allocateSaved(saved)
	}
	for _, saved := range s.Checkpoints[i].Blocks {
		if !saved.Allocated {
			s.freeAt(saved.Memory.Ptr)
		}
	}
	s.renumber()
	return s, Result{}
}

// eachBlock visits the mapped blocks of a pool, by address.
func (s *State) eachBlock(id spec.PoolID, visit func(p place)) {
	for i := range s.Segments {
		for j := range s.Segments[i].Blocks {
			if p := (place{i, j}); s.Segments[i].Pool == id && !s.at(p).Unmapped {
				visit(p)
			}
		}
	}
}

func (s *State) restorable(c Checkpoint) bool {
	isUsed := false
	var there []spec.Range
	s.eachBlock(c.Pool, func(p place) {
		b := s.at(p)
		isUsed = isUsed || b.State == spec.ActivePendingFree || len(b.StreamUses) > 0
		there = append(there, spec.Range{Ptr: b.Address, Bytes: b.Size})
	})
	for _, saved := range c.Blocks {
		bytes := uint64(0)
		for _, r := range there {
			bytes += overlapBytes(r, saved.Memory)
		}
		if bytes != saved.Memory.Bytes {
			return false
		}
	}
	for _, saved := range c.Mapped { // none unless RestoreRefusesGrown
		for _, g := range s.Segments {
			if g.Address == saved.Segment && g.mapped() > saved.Bytes {
				return false
			}
		}
	}
	return !isUsed
}

// overlapBytes is how many bytes two ranges have in common.
func overlapBytes(a, b spec.Range) uint64 {
	begin, end := max(a.Ptr, b.Ptr), min(a.Ptr+spec.Ptr(a.Bytes), b.Ptr+spec.Ptr(b.Bytes))
	if begin >= end {
		return 0
	}
	return uint64(end - begin)
}

func (s *State) freeAllocated(id spec.PoolID) {
	var allocated []spec.Ptr
	s.eachBlock(id, func(p place) {
		if s.at(p).State == spec.ActiveAllocated {
			allocated = append(allocated, s.at(p).Address)
		}
	})
	for _, address := range allocated {
		s.freeAt(address)
	}
}

// freeAt frees the allocated block at an address, which has no stream uses.
func (s *State) freeAt(address spec.Ptr) {
	p, _ := s.findAllocated(address)
	if s.at(p).Size >= s.Config.MaxSplitSize {
		s.Counters.OversizeAllocations--
	}
	s.freeBlock(p)
}

// allocateSaved splits a saved block off the free block that contains it, and allocates
// it with all its bytes as the requested size.
func (s *State) allocateSaved(saved SavedBlock) {
	p, _ := s.find(func(_ *Segment, b *Block) bool {
		return overlapBytes(spec.Range{Ptr: b.Address, Bytes: b.Size}, saved.Memory) > 0
	})
	offset := uint64(saved.Memory.Ptr - s.at(p).Address)
	p = s.splitAt(p, offset, offset+saved.Memory.Bytes)
	b := s.at(p)
	if next := p.block + 1; next < len(s.Segments[p.segment].Blocks) && s.Segments[p.segment].Blocks[next].Made == b.Made {
		b.Made = s.nextBlock() // what lies after it keeps the object
	}
	b.State, b.RequestedSize, b.GCCountBase = spec.ActiveAllocated, b.Size, 0
	if b.Size >= s.Config.MaxSplitSize {
		s.Counters.OversizeAllocations++
	}
}
