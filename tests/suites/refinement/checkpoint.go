package refinement

import (
	"fmt"
	"maps"
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/bounded"
	"gaugeblock/spec"
)

// Checkpoints. What a checkpoint has noted only its allocator can read; so the world
// notes as well what the pool looked like.

// checkpoint is what was noted of a pool, on both sides.
type checkpoint struct {
	state spec.PoolState
	model model.Checkpoint
}

func (w *System) doCheckpoint(name string, id spec.PoolID) error {
	switch name {
	case "Checkpoint":
		state, err := w.allocator.Checkpoint(0, id)
		if err == nil {
			w.checkpoints[id] = checkpoint{state, w.poolBlocks(id)}
		}
		return err
	case "SetCheckpointPoolState":
		_, err := w.allocator.Restore(0, w.checkpoints[id].state)
		return err
	}
	return fmt.Errorf("no action is called %q", name)
}

// note is what the pool looks like: the blocks with memory behind them.
func (w *System) poolBlocks(id spec.PoolID) model.Checkpoint {
	noted := model.Checkpoint{Pool: id}
	w.allocator.Inspect(0, spec.Visitor{Block: func(b *spec.BlockView) {
		if b.Pool == id && b.Mapped {
			noted.Blocks = append(noted.Blocks, model.SavedBlock{
				Memory: spec.Range{Ptr: b.Address, Bytes: b.Size}, Allocated: b.Allocated,
			})
		}
	}})
	return noted
}

// addSaved appends what the program has noted, by pool.
func (w *System) addCheckpoints(s *bounded.State) {
	byNumber := func(a, b spec.PoolID) int { return int(a.Capture) - int(b.Capture) }
	for _, id := range slices.SortedFunc(maps.Keys(w.checkpoints), byNumber) {
		s.Checkpoints = append(s.Checkpoints, w.checkpoints[id].model)
	}
}
