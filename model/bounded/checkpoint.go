package bounded

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/explore"
	"gaugeblock/model/tlc"
)

// Checkpoints is Checkpoint.tla: Pools, of which the state can be noted and set back.
type Checkpoints struct {
	*Pools
	checkpoint, restore action
}

func openCheckpoints(c *tlc.Config) (Mirror, error) {
	m, err := openPools(c)
	if err != nil {
		return nil, err
	}
	p := &Checkpoints{Pools: m.(*Pools)}
	ids := asInts(p.ids)
	p.checkpoint = p.add("Checkpoint", ids)
	p.restore = p.add("SetCheckpointPoolState", ids)
	return p, nil
}

// Next implements explore.Specification. A checkpoint goes with the graph that it was
// made for.
func (c *Checkpoints) Next(s *model.State, yield func(label int, next *model.State)) {
	c.Pools.Next(s, func(label int, next *model.State) {
		for i, number := range c.ids {
			if id := PoolID(number); label == c.release.label(i) && useCount(s, id) == 1 {
				next.Forget(id)
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
		if next, r := s.SetCheckpointPoolState(id); r.Err == nil {
			yield(c.restore.label(i), &next)
		}
	}
}

// Key implements explore.Specification.
func (c *Checkpoints) Key(to []byte, s *model.State) []byte {
	to = c.Pools.Key(to, s)
	to = append(to, byte(len(s.Saved)))
	for _, saved := range s.Saved {
		to = append(to, byte(poolNumber(saved.Pool)), byte(len(saved.Blocks)))
		for _, b := range saved.Blocks {
			to = append(to, byte(units(b.Memory.Ptr)), byte(b.Memory.Bytes), flag(b.Allocated))
		}
	}
	return to
}

// Text implements Mirror. tla/Checkpoint.tla explains the variable.
func (c *Checkpoints) Text(to []byte, s *model.State) []byte {
	w := newWriter(s)
	c.variables(w)
	w.poolVariables()
	w.variable("saved", func() {
		w.Set(len(s.Saved), func(i int) {
			w.Raw("[blocks|->")
			w.noted(s.Saved[i].Blocks)
			w.field(",pool", poolNumber(s.Saved[i].Pool))
			w.Raw("]")
		})
	})
	return w.finish(to)
}

func (w *writer) noted(blocks []model.SavedBlock) {
	w.Set(len(blocks), func(i int) {
		w.field("[addr", units(blocks[i].Memory.Ptr))
		w.Raw(",allocated|->")
		w.Bool(blocks[i].Allocated)
		w.field(",size", int(blocks[i].Memory.Bytes))
		w.Raw("]")
	})
}

func (c *Checkpoints) property(name string, fair [][]int, to *explore.Options[*model.State]) bool {
	if name != "CheckpointRestoresWhatItSaved" {
		return c.Pools.property(name, fair, to)
	}
	to.Steps = append(to.Steps, explore.StepProperty[*model.State]{Name: name, Holds: c.restores})
	return true
}

func (c *Checkpoints) always() []string {
	return append(c.Pools.always(), "CheckpointRestoresWhatItSaved")
}

// restores: after a restore the noted memory is as it was noted, and nothing else of
// the pool is allocated. A free block may have grown.
func (c *Checkpoints) restores(from *model.State, label int, to *model.State) bool {
	for i, number := range c.ids {
		if label != c.restore.label(i) {
			continue
		}
		at := slices.IndexFunc(from.Saved, func(saved model.Checkpoint) bool { return saved.Pool == PoolID(number) })
		return isRestored(from.Saved[at], to)
	}
	return true
}

func isRestored(saved model.Checkpoint, s *model.State) bool {
	allocated, wanted := 0, 0
	everyBlock(s, func(g *model.Segment, b *model.Block) bool {
		if g.Pool == saved.Pool && isAllocated(b) {
			allocated++
		}
		return true
	})
	for _, noted := range saved.Blocks {
		if noted.Allocated {
			wanted++
		}
		missing := everyBlock(s, func(_ *model.Segment, b *model.Block) bool {
			same := b.Address == noted.Memory.Ptr && isAllocated(b) == noted.Allocated && !b.Unmapped
			return !same || b.Size < noted.Memory.Bytes || noted.Allocated && b.Size > noted.Memory.Bytes
		})
		if missing {
			return false
		}
	}
	return allocated == wanted
}
