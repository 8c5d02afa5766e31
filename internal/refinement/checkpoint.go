package refinement

import (
	"fmt"
	"maps"
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/bounded"
	"gaugeblock/spec"
)

// Checkpoints. Only the allocator can read its checkpoint, so the system saves the blocks of
// the pool too.

// checkpoint is the saved state of a pool, for the allocator and for the model.
type checkpoint struct {
	state spec.PoolState
	model model.Checkpoint
}

func (sys *System) doCheckpoint(name string, id spec.PoolID) error {
	switch name {
	case "Checkpoint":
		state, err := sys.allocator.Checkpoint(0, id)
		if err == nil {
			sys.checkpoints[id] = checkpoint{state, sys.poolBlocks(id)}
		}
		return err
	case "SetCheckpointPoolState":
		_, err := sys.allocator.Restore(0, sys.checkpoints[id].state)
		sys.restored(sys.checkpoints[id].model)
		return err
	}
	return fmt.Errorf("no action is called %q", name)
}

// poolBlocks is the mapped blocks of a pool, and how much of each expandable segment they are, if
// that decides anything.
func (sys *System) poolBlocks(id spec.PoolID) model.Checkpoint {
	saved := model.Checkpoint{Pool: id}
	segment := spec.Ptr(0)
	sys.allocator.Inspect(0, spec.Visitor{Block: func(b *spec.BlockView) {
		if b.First {
			segment = b.Address
		}
		if b.Pool == id && b.Mapped {
			if sys.initial.Rules.RestoreRefusesGrown && b.Expandable {
				addMapped(&saved, segment, b.Size)
			}
			saved.Blocks = append(saved.Blocks, model.SavedBlock{
				Memory: spec.Range{Ptr: b.Address, Bytes: b.Size}, Allocated: b.Allocated,
			})
		}
	}})
	return saved
}

// addMapped adds to the mapped bytes of a segment, which is the last one if it is there.
func addMapped(saved *model.Checkpoint, segment spec.Ptr, bytes uint64) {
	last := len(saved.Mapped) - 1
	if last >= 0 && saved.Mapped[last].Segment == segment {
		saved.Mapped[last].Bytes += bytes
		return
	}
	saved.Mapped = append(saved.Mapped, model.MappedSize{Segment: segment, Bytes: bytes})
}

// addCheckpoints appends the checkpoints, by pool.
func (sys *System) addCheckpoints(s *bounded.State) {
	byNumber := func(a, b spec.PoolID) int { return int(a.Capture) - int(b.Capture) }
	for _, id := range slices.SortedFunc(maps.Keys(sys.checkpoints), byNumber) {
		s.Checkpoints = append(s.Checkpoints, sys.checkpoints[id].model)
	}
}
