package model

import (
	"slices"

	"gaugeblock/spec"
)

// Checkpoints. A captured graph writes to the addresses that it was captured with. When
// another is to be captured that continues after one that has been launched again, the
// pool must look as it did when that one's capture ended. So the state of a pool is
// noted after a capture, and the pool is set back to it before the next.
//
// Setting back goes by ways that exist already: every block that is out is freed, so
// that each segment is in one piece again; then the noted blocks are cut out, all of
// them given out; then those that were free are freed. Segments obtained since then
// stay, all free.

// A Checkpoint is what was noted of a pool.
type Checkpoint struct {
	Pool   spec.PoolID
	Blocks []SavedBlock // those with memory behind them, by address
}

// A NotedBlock is a block as a checkpoint has it.
type SavedBlock struct {
	Memory    spec.Range
	Allocated bool
}

func (c Checkpoint) equal(o Checkpoint) bool {
	return c.Pool == o.Pool && slices.Equal(c.Blocks, o.Blocks)
}

// Checkpoint notes the state of a pool, in place of what was noted of it before. Frees
// that were put off are taken up first. It is refused while a block of the pool waits
// for events.
func (s State) Checkpoint(id spec.PoolID) (State, Result) {
	s = s.copy()
	s.processDeferredFrees()
	noted := Checkpoint{Pool: id}
	refused := false
	s.eachBlock(id, func(p place) {
		b := s.at(p)
		refused = refused || b.State == spec.ActivePendingFree
		noted.Blocks = append(noted.Blocks, SavedBlock{
			Memory: spec.Range{Ptr: b.Address, Bytes: b.Size}, Allocated: b.State == spec.ActiveAllocated,
		})
	})
	if refused {
		return s, Result{Err: &spec.InvalidStateError{Op: "checkpoint", Reason: "a block waits for events"}}
	}
	s.DropCheckpoint(id)
	s.Checkpoints = append(s.Checkpoints, noted)
	slices.SortFunc(s.Checkpoints, func(a, b Checkpoint) int { return comparePools(a.Pool, b.Pool) })
	return s, Result{}
}

// Forget drops what was noted of a pool.
func (s *State) DropCheckpoint(id spec.PoolID) {
	s.Checkpoints = slices.DeleteFunc(slices.Clone(s.Checkpoints), func(c Checkpoint) bool { return c.Pool == id })
}

// SetCheckpointPoolState sets a pool back to what was noted of it. It is refused if
// nothing was, if a block of the pool is used by other streams, or if memory that was
// noted is gone.
func (s State) SetCheckpointPoolState(id spec.PoolID) (State, Result) {
	i := slices.IndexFunc(s.Checkpoints, func(c Checkpoint) bool { return c.Pool == id })
	if i < 0 || !s.restorable(s.Checkpoints[i]) {
		return s, Result{Err: &spec.InvalidStateError{Op: "restore", Reason: "the pool cannot be set back"}}
	}
	s = s.copy()
	s.freeAllocated(id)
	for _, noted := range s.Checkpoints[i].Blocks {
		s.allocateSaved(noted)
	}
	for _, noted := range s.Checkpoints[i].Blocks {
		if !noted.Allocated {
			s.freeAt(noted.Memory.Ptr)
		}
	}
	return s, Result{}
}

// eachBlock visits the blocks of a pool that have memory behind them, by address.
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
	for _, noted := range c.Blocks {
		bytes := uint64(0)
		for _, r := range there {
			bytes += overlapBytes(r, noted.Memory)
		}
		if bytes != noted.Memory.Bytes {
			return false
		}
	}
	return !isUsed
}

// common is how many bytes two ranges share.
func overlapBytes(a, b spec.Range) uint64 {
	begin, end := max(a.Ptr, b.Ptr), min(a.Ptr+spec.Ptr(a.Bytes), b.Ptr+spec.Ptr(b.Bytes))
	if begin >= end {
		return 0
	}
	return uint64(end - begin)
}

func (s *State) freeAllocated(id spec.PoolID) {
	var out []spec.Ptr
	s.eachBlock(id, func(p place) {
		if s.at(p).State == spec.ActiveAllocated {
			out = append(out, s.at(p).Address)
		}
	})
	for _, address := range out {
		s.freeAt(address)
	}
}

// freeAt frees the allocated block at an address, which nobody else uses.
func (s *State) freeAt(address spec.Ptr) {
	p, _ := s.findAllocated(address)
	if s.at(p).Size >= s.Config.MaxSplitSize {
		s.Counters.OversizeAllocations--
	}
	s.freeBlock(p)
}

// allocateNoted cuts a noted block out of the free one that it lies in, and gives it
// out as a request for all its bytes.
func (s *State) allocateSaved(noted SavedBlock) {
	p, _ := s.find(func(_ *Segment, b *Block) bool {
		return overlapBytes(spec.Range{Ptr: b.Address, Bytes: b.Size}, noted.Memory) > 0
	})
	offset := uint64(noted.Memory.Ptr - s.at(p).Address)
	p = s.splitAt(p, offset, offset+noted.Memory.Bytes)
	b := s.at(p)
	b.State, b.RequestedSize, b.GCCountBase = spec.ActiveAllocated, b.Size, 0
	if b.Size >= s.Config.MaxSplitSize {
		s.Counters.OversizeAllocations++
	}
}
