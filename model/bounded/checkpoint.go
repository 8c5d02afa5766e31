package bounded

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/explore"
	"gaugeblock/model/tlc"
	"gaugeblock/spec"
)

// Checkpoint is Checkpoint.tla: PrivatePools with checkpoints and restores.
type Checkpoint struct {
	*PrivatePools
	checkpoint, restore action

	keeps bool // programs keep the checkpoint of a pool beyond its last use
}

// openCheckpoint opens the module, or that of a module that has others constants beside.
func openCheckpoint(c *tlc.Config, others ...string) (*Checkpoint, error) {
	m, err := openPrivatePools(c, append(others, "KeepsCheckpoints")...)
	if err != nil {
		return nil, err
	}
	r := constants{config: c}
	p := &Checkpoint{PrivatePools: m, keeps: r.bool("KeepsCheckpoints")}
	p.keys.module = p
	ids := asInts(p.ids)
	p.checkpoint = p.add("Checkpoint", ids)
	p.restore = p.add("SetCheckpointPoolState", ids)
	return p, r.err
}

// Next implements explore.Specification. The checkpoint of a pool is dropped when the last
// use of the pool ends, unless the program keeps it.
func (c *Checkpoint) Next(s *model.State, yield func(label int, next *model.State)) {
	c.PrivatePools.Next(s, func(label int, next *model.State) {
		for i, number := range c.ids {
			if id := PoolID(number); label == c.release.label(i) && useCount(s, id) == 1 && !c.keeps {
				*next = next.DropCheckpoint(id)
			}
		}
		yield(label, next)
	})
	for i, number := range c.ids {
		id := PoolID(number)
		if useCount(s, id) <= 0 {
			continue
		}
		if next, r := s.Checkpoint(id); r.Err == nil && len(s.Routings) == 0 {
			yield(c.checkpoint.label(i), &next)
		}
		if next, can := restore(s, id); can {
			yield(c.restore.label(i), &next)
		}
	}
}

// restore is the step SetCheckpointPoolState, if it is possible. What the program holds
// afterwards of the pool is what the checkpoint says, which it has. The memory is used on the
// stream that the device has it for.
func restore(s *model.State, id spec.PoolID) (model.State, bool) {
	used := *s
	for _, h := range s.Truth.Held {
		if h.Pool == id {
			used = used.LaunchUses(h.Ptr)
		}
	}
	next, r := used.SetCheckpointPoolState(id)
	if r.Err != nil {
		return next, false
	}
	for _, h := range s.Truth.Held {
		if h.Pool == id {
			next.Truth = next.Truth.GiveBack(h.Ptr)
		}
	}
	for _, b := range savedOf(s, id).Blocks {
		if b.Allocated {
			holdSaved(&next, id, b.Memory)
		}
	}
	return next, true
}

// holdSaved records that the program holds saved memory.
func holdSaved(s *model.State, id spec.PoolID, memory spec.Range) {
	for _, g := range s.Truth.Granted {
		if g.Memory.Overlaps(memory) {
			s.Truth = s.Truth.Hold(model.Held{Ptr: memory.Ptr, Bytes: memory.Bytes, Stream: g.Stream, Pool: id})
			return
		}
	}
}

// savedOf is the checkpoint of a pool, which there is.
func savedOf(s *model.State, id spec.PoolID) model.Checkpoint {
	return s.Checkpoints[slices.IndexFunc(s.Checkpoints, func(c model.Checkpoint) bool { return c.Pool == id })]
}

// Text implements Module. tla/Checkpoint.tla explains the variable.
func (c *Checkpoint) Text(to []byte, s *model.State) []byte {
	w := newWriter(s)
	c.variables(w)
	w.poolVariables()
	w.variable("saved", func() {
		w.Set(len(s.Checkpoints), func(i int) {
			w.Raw("[blocks|->")
			w.savedBlocks(s.Checkpoints[i].Blocks)
			w.field(",pool", poolNumber(s.Checkpoints[i].Pool))
			w.Raw("]")
		})
	})
	return w.finish(to)
}

func (w *writer) savedBlocks(blocks []model.SavedBlock) {
	w.Set(len(blocks), func(i int) {
		w.field("[addr", toUnits(blocks[i].Memory.Ptr))
		w.Raw(",allocated|->")
		w.Bool(blocks[i].Allocated)
		w.field(",size", int(blocks[i].Memory.Bytes))
		w.Raw("]")
	})
}

func (c *Checkpoint) property(name string, fair [][]int, to *explore.Options[*model.State]) bool {
	switch name {
	case "CheckpointRestoresWhatItSaved":
		holdsOfSteps(to, name, c.restores)
	case "CheckpointsAreKept":
		holdsOfSteps(to, name, c.areKept)
	case "CheckpointsCanBeTaken":
		holdsOfStates(to, name, c.canBeTaken)
	case "CheckpointsCanBeRestored":
		holdsOfStates(to, name, c.canBeRestored)
	default:
		return c.PrivatePools.property(name, fair, to)
	}
	return true
}

func (c *Checkpoint) always() []string {
	return append(c.PrivatePools.always(), "CheckpointRestoresWhatItSaved", "CheckpointsCanBeTaken", "CheckpointsCanBeRestored", "CheckpointsAreKept")
}

// areKept: a checkpoint stays as it is until another of its pool is taken, or the pool's last use ends.
func (c *Checkpoint) areKept(from *model.State, label int, to *model.State) bool {
	for i, number := range c.ids {
		id := PoolID(number)
		ends := label == c.release.label(i) && useCount(from, id) == 1 && !c.keeps
		if ends || label == c.checkpoint.label(i) {
			continue
		}
		for _, saved := range from.Checkpoints {
			isSame := func(o model.Checkpoint) bool { return o.Pool == id && slices.Equal(o.Blocks, saved.Blocks) }
			if saved.Pool == id && !slices.ContainsFunc(to.Checkpoints, isSame) {
				return false
			}
		}
	}
	return true
}

// canBeTaken: where no block of a pool waits, other than for what was captured, a checkpoint of it has all memory of the pool that
// the driver has granted.
func (c *Checkpoint) canBeTaken(s *model.State) bool {
	for _, number := range c.ids {
		id := PoolID(number)
		waits := !everyBlock(s, func(g *model.Segment, b *model.Block) bool {
			return g.Pool != id || b.State != spec.ActivePendingFree || waitsForGraphsOnly(s, b)
		})
		if waits || len(s.Truth.Captures) > 0 || useCount(s, id) <= 0 {
			continue
		}
		next, r := s.Checkpoint(id)
		if r.Err != nil {
			return false
		}
		saved, of := uint64(0), uint64(0)
		for _, b := range savedOf(&next, id).Blocks {
			saved += b.Memory.Bytes
		}
		for _, g := range s.Truth.Granted {
			if poolAt(s, g.Memory.Ptr) == id {
				of += g.Memory.Bytes
			}
		}
		if saved != of {
			return false
		}
	}
	return true
}

// waitsForGraphsOnly reports whether the free of a block is deferred, and all uses of it are in graphs.
func waitsForGraphsOnly(s *model.State, b *model.Block) bool {
	return b.IsDeferred() && !slices.ContainsFunc(b.StreamUses, func(id spec.DeviceStream) bool { return !isGraphStreamUse(s, b, id) })
}

// canBeRestored: a checkpoint can be restored if nothing of its pool waits or is used by other
// streams, and the saved memory is the pool's, with RestoreRefusesGrown all that its segments have.
// Otherwise it cannot.
func (c *Checkpoint) canBeRestored(s *model.State) bool {
	for _, saved := range s.Checkpoints {
		if useCount(s, saved.Pool) <= 0 {
			continue
		}
		can := !slices.ContainsFunc(s.Truth.Held, func(h model.Held) bool {
			isTouched := func(x model.Touch) bool { return x.Ptr == h.Ptr }
			return h.Pool == saved.Pool && slices.ContainsFunc(s.Truth.Touches, isTouched)
		})
		can = can && everyBlock(s, func(g *model.Segment, b *model.Block) bool {
			return g.Pool != saved.Pool || b.State != spec.ActivePendingFree
		})
		for _, b := range saved.Blocks {
			can = can && isGranted(s, b.Memory) && poolAt(s, b.Memory.Ptr) == saved.Pool
		}
		can = can && !(c.Rules.RestoreRefusesGrown && hasGrown(s, saved))
		if _, does := restore(s, saved.Pool); does != can {
			return false
		}
	}
	return true
}

// hasGrown reports whether a segment with saved memory has other memory too.
func hasGrown(s *model.State, saved model.Checkpoint) bool {
	isSaved := func(in spec.Range) bool {
		return slices.ContainsFunc(saved.Blocks, func(b model.SavedBlock) bool { return b.Memory.Overlaps(in) })
	}
	for _, g := range s.Segments {
		if g.Pool != saved.Pool || !isSaved(spec.Range{Ptr: g.Address, Bytes: g.Size}) {
			continue
		}
		for _, x := range s.Truth.Granted {
			if overlaps(x, g) && !isSaved(x.Memory) {
				return true
			}
		}
	}
	return false
}

// restores: what is saved as allocated is what the program holds of the pool. After a restore
// the saved blocks are allocated or free as they were saved, and no other block of the pool is
// allocated. A free block may have been merged.
func (c *Checkpoint) restores(from *model.State, label int, to *model.State) bool {
	for i, number := range c.ids {
		switch label {
		case c.checkpoint.label(i):
			return isHeld(savedOf(to, PoolID(number)), from)
		case c.restore.label(i):
			return isRestored(savedOf(from, PoolID(number)), to)
		}
	}
	return true
}

// isHeld reports whether what is saved as allocated is what the program holds of the pool, with
// all of its memory.
func isHeld(saved model.Checkpoint, s *model.State) bool {
	var allocated, held []spec.Range
	for _, b := range saved.Blocks {
		if b.Allocated {
			allocated = append(allocated, b.Memory)
		}
	}
	for _, h := range s.Truth.Held {
		if h.Pool == saved.Pool {
			held = append(held, s.MemoryOf(h))
		}
	}
	return slices.EqualFunc(allocated, held, func(block, memory spec.Range) bool {
		return block.Ptr == memory.Ptr && block.Bytes >= memory.Bytes
	})
}

func isRestored(saved model.Checkpoint, s *model.State) bool {
	allocated, want := 0, 0
	everyBlock(s, func(g *model.Segment, b *model.Block) bool {
		if g.Pool == saved.Pool && isAllocated(b) {
			allocated++
		}
		return true
	})
	for _, savedBlock := range saved.Blocks {
		if savedBlock.Allocated {
			want++
		}
		missing := everyBlock(s, func(_ *model.Segment, b *model.Block) bool {
			same := b.Address == savedBlock.Memory.Ptr && isAllocated(b) == savedBlock.Allocated && !b.Unmapped
			return !same || b.Size < savedBlock.Memory.Bytes || savedBlock.Allocated && b.Size > savedBlock.Memory.Bytes
		})
		if missing {
			return false
		}
	}
	return allocated == want
}
