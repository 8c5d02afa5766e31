package invariant

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
)

// Invariant 16: setting a pool back to a checkpoint brings back the blocks of then.
// A program that replays recorded graphs relies on it: the tensors that live
// between two graphs are at the addresses at which the graphs expect them.
//
// What the round trip may change: the last block of a range of an expandable
// segment may be larger if it is free, since the segment may have grown; and there
// may be segments that came later, with nothing allocated in them.

// checkpoint is what the history knows of a checkpoint of a pool.
type checkpoint struct {
	device spec.Device
	pool   spec.PoolID
	blocks []pooledBlock // by address
}

// pooledBlock is a block of a pool in a snapshot.
type pooledBlock struct {
	spec.Block
	mayGrow bool // the last one of its range of an expandable segment
}

// CheckpointTaken: a pool's state was saved under a number. The snapshot is of that
// moment; it is needed to know what was saved.
func (h *History) CheckpointTaken(dev spec.Device, id spec.PoolID, state int, s *spec.Snapshot) {
	h.checkpoints[state] = checkpoint{dev, id, pooledBlocks(s, dev, id)}
}

// CheckpointRestored: a pool was set back to a saved state. freed was allocated and is
// not any more; created is allocated now, whether it was before or not. What was
// allocated and is in neither list still is.
func (h *History) CheckpointRestored(state int, freed []spec.Ptr, created []Allocation) {
	for _, p := range freed {
		h.Freed(p)
	}
	for _, g := range created {
		if _, live := h.find(g.Ptr); !live {
			h.addLive(allocation{Allocation: g})
		}
	}
	h.restored = nil
	if saved, ok := h.checkpoints[state]; ok {
		h.restored = &saved
	}
}

// pooledBlocks lists a pool's blocks by address.
func pooledBlocks(s *spec.Snapshot, dev spec.Device, id spec.PoolID) (blocks []pooledBlock) {
	for i := range s.Segments {
		g := &s.Segments[i]
		if g.Device != dev || g.Pool != id {
			continue
		}
		for j, b := range g.Blocks {
			last := j == len(g.Blocks)-1
			blocks = append(blocks, pooledBlock{b, g.Expandable && last && b.State == spec.Inactive})
		}
	}
	slices.SortStableFunc(blocks, func(a, b pooledBlock) int { return cmp.Compare(a.Address, b.Address) })
	return blocks
}

// checkRestored compares the pool with what was saved, block by block.
func (h *History) checkRestored(s *spec.Snapshot, r *violationReport) {
	if h.restored == nil {
		return
	}
	saved, dev := h.restored.blocks, h.restored.device
	for _, b := range pooledBlocks(s, dev, h.restored.pool) {
		for len(saved) > 0 && saved[0].Address < b.Address {
			reportNotRestored(&saved[0], dev, r)
			saved = saved[1:]
		}
		if len(saved) > 0 && saved[0].Address == b.Address {
			checkRestoredBlock(&saved[0], &b.Block, dev, r)
			saved = saved[1:]
		} else if b.State == spec.ActiveAllocated {
			r.add(checkpointRestoresWhatItSaved, dev, b.Address,
				"block %v (%d bytes) is allocated after the restore, but was no block at the checkpoint", b.Address, b.Size)
		}
	}
	for i := range saved {
		reportNotRestored(&saved[i], dev, r)
	}
}

func reportNotRestored(b *pooledBlock, dev spec.Device, r *violationReport) {
	r.add(checkpointRestoresWhatItSaved, dev, b.Address,
		"block %v (%d bytes, %v at the checkpoint) is not there after the restore", b.Address, b.Size, b.State)
}

// checkRestoredBlock compares a block with what it was.
func checkRestoredBlock(was *pooledBlock, is *spec.Block, dev spec.Device, r *violationReport) {
	switch {
	case is.Size != was.Size && !(was.mayGrow && is.Size > was.Size):
		r.add(checkpointRestoresWhatItSaved, dev, is.Address,
			"block %v had %d bytes at the checkpoint and has %d after the restore", is.Address, was.Size, is.Size)
	case is.State != was.State:
		r.add(checkpointRestoresWhatItSaved, dev, is.Address,
			"block %v (%d bytes) was %v at the checkpoint and is %v after the restore", is.Address, is.Size, was.State, is.State)
	case is.State == spec.ActiveAllocated && is.RequestedSize != is.Size:
		r.add(checkpointRestoresWhatItSaved, dev, is.Address,
			"block %v (%d bytes) counts as a request for %d bytes after the restore, not for its size",
			is.Address, is.Size, is.RequestedSize)
	}
}
