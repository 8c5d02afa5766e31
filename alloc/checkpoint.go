package alloc

import (
	"slices"

	"gaugeblock/spec"
)

// Checkpoints. A captured graph always writes to the addresses that it was captured
// with. A graph that is captured after another one was launched again needs the pool as
// it was at the end of the capture of that one, not as it is now. So the state of the
// pool is saved after a capture, and restored before the next.
//
// To restore, every allocated block is freed, so that each segment is whole again. Then
// each saved segment is split into the saved blocks, all of them allocated. Then the
// blocks that were free are freed. Segments obtained since the checkpoint stay, all
// free.

// privatePoolState is the state of a pool at a checkpoint (upstream: PrivatePoolState).
type privatePoolState struct {
	device   *device
	id       spec.PoolID
	segments []segmentState // by address
}

// PoolID is the id of the pool.
func (s *privatePoolState) PoolID() spec.PoolID { return s.id }

// segmentState is a segment and its mapped blocks, by address.
type segmentState struct {
	base       spec.Ptr
	size       uint64 // bytes, of a segment that is not expandable
	expandable bool
	kind       spec.PoolKind
	blocks     []blockState
}

type blockState struct {
	ptr       spec.Ptr
	size      uint64 // bytes
	allocated bool
}

// getCheckpointStateLocked returns the present state of a pool.
func (d *device) getCheckpointStateLocked(id spec.PoolID, context gatheredContext) (*privatePoolState, error) {
	const op = "checkpoint"
	p, err := d.livePoolLocked(op, id)
	if err != nil {
		return nil, err
	}
	if err := d.insertEventsDeferredUntilNoCaptureLocked(context); err != nil {
		return nil, err
	}
	state := &privatePoolState{device: d, id: id}
	for _, s := range d.segmentsOfLocked(p) {
		saved := segmentState{base: s.base, size: s.size, expandable: s.expandable != nil, kind: s.blockPool.kind}
		for b := s.head; b != nil; b = b.next {
			if b.eventCount > 0 {
				return nil, stillUsed(op, b)
			}
			if b.mapped {
				saved.blocks = append(saved.blocks, blockState{b.ptr, b.size, b.allocated})
			}
		}
		state.segments = append(state.segments, saved)
	}
	return state, nil
}

// setCheckpointPoolStateLocked restores a pool. Everything that can be wrong is tested
// before anything is changed.
func (d *device) setCheckpointPoolStateLocked(state *privatePoolState, context gatheredContext) (spec.RestoreDelta, error) {
	var delta spec.RestoreDelta
	p, err := d.checkRestoreLocked(state)
	if err != nil {
		return delta, err
	}
	for _, s := range d.segmentsOfLocked(p) {
		// A block that is freed keeps its place in the list, whatever it merges with.
		for b := s.head; b != nil; b = b.next {
			if b.allocated {
				delta.Freed = append(delta.Freed, b.ptr)
				if err := d.freeAllocatedLocked(b, context); err != nil {
					return delta, err
				}
			}
		}
	}
	for i := range state.segments {
		saved := &state.segments[i]
		blocks := d.setSegmentStateToCheckpointLocked(d.segments.at(saved.base), saved, context)
		for j, b := range blocks {
			if saved.blocks[j].allocated {
				delta.Created = append(delta.Created, b.ptr)
				continue
			}
			if err := d.freeAllocatedLocked(b, context); err != nil {
				return delta, err
			}
		}
	}
	return delta, nil
}

// setSegmentStateToCheckpointLocked splits a segment, all of which is free, into the
// saved blocks, and allocates each of them, with its size as the requested size.
func (d *device) setSegmentStateToCheckpointLocked(s *segment, saved *segmentState, context gatheredContext) []*block {
	var blocks []*block
	b := s.head
	for _, want := range saved.blocks {
		for !b.mapped || b.end() <= want.ptr {
			b = b.next
		}
		if b.ptr < want.ptr {
			// This part was unmapped at the checkpoint and is mapped now. It stays free.
			s.blockPool.blocks.remove(b)
			gap := d.splitBlockLocked(b, uint64(want.ptr-b.ptr))
			s.blockPool.insertFree(gap)
		}
		s.blockPool.blocks.remove(b)
		if b.size > want.size {
			b = d.splitBlockLocked(b, want.size)
		} else {
			d.decreaseInactiveSplitLocked(b)
		}
		d.markAllocatedLocked(b, want.size, context, 0)
		blocks = append(blocks, b)
		b = b.next
	}
	return blocks
}

// checkRestoreLocked finds the pool of a state, or the reason why it cannot be restored.
func (d *device) checkRestoreLocked(state *privatePoolState) (*pool, error) {
	const op = "restore"
	p, err := d.livePoolLocked(op, state.id)
	if err != nil {
		return nil, err
	}
	for _, s := range d.segmentsOfLocked(p) {
		for b := s.head; b != nil; b = b.next {
			if b.eventCount > 0 || len(b.streamUses) > 0 {
				return nil, stillUsed(op, b)
			}
		}
	}
	for i := range state.segments {
		saved := &state.segments[i]
		s := d.segments.at(saved.base)
		switch {
		case s == nil || s.blockPool.owner != p:
			return nil, &spec.InvalidStateError{Op: op, Reason: "the segment at " + saved.base.String() + " is gone"}
		case (s.expandable != nil) != saved.expandable || s.blockPool.kind != saved.kind || !saved.expandable && s.size != saved.size:
			return nil, &spec.InvalidStateError{Op: op, Reason: "the segment at " + saved.base.String() + " is another one than at the checkpoint"}
		case !isMapped(s, saved.blocks):
			return nil, &spec.InvalidStateError{Op: op, Reason: "memory of the segment at " + saved.base.String() + " has been unmapped"}
		}
	}
	return p, nil
}

// isMapped reports whether the segment is mapped throughout the saved blocks.
func isMapped(s *segment, blocks []blockState) bool {
	b := s.head
	for _, want := range blocks {
		for b != nil && b.end() <= want.ptr {
			b = b.next
		}
		for at := b; at != nil && at.ptr < want.ptr+spec.Ptr(want.size); at = at.next {
			if !at.mapped {
				return false
			}
		}
	}
	return true
}

func stillUsed(op string, b *block) error {
	return &spec.InvalidStateError{Op: op, Reason: "streams may still use the block at " + b.ptr.String()}
}

// Checkpoint returns the present state of a private pool; see spec.Checkpointer.
func (a *Allocator) Checkpoint(dev spec.Device, id spec.PoolID) (spec.PoolState, error) {
	var state *privatePoolState
	context := a.maybeGatherContext(dev, spec.ContextAll)
	err := a.onDevice("checkpoint", dev, func(d *device) (err error) {
		state, err = d.getCheckpointStateLocked(id, context)
		return err
	})
	if err != nil {
		return nil, err
	}
	return state, nil
}

// Restore sets a private pool to a state that Checkpoint returned; see
// spec.Checkpointer.
func (a *Allocator) Restore(dev spec.Device, state spec.PoolState) (spec.RestoreDelta, error) {
	const op = "restore"
	var delta spec.RestoreDelta
	context := a.maybeGatherContext(dev, spec.ContextState)
	err := a.onDevice(op, dev, func(d *device) (err error) {
		own, ok := state.(*privatePoolState)
		if !ok || own.device != d {
			return &spec.InvalidArgumentError{Op: op, Reason: "the state is not of a checkpoint of this device's allocator"}
		}
		delta, err = d.setCheckpointPoolStateLocked(own, context)
		return err
	})
	return delta, err
}

// CheckPoolLiveAllocations reports whether exactly the given pointers of the pool are
// allocated.
func (a *Allocator) CheckPoolLiveAllocations(dev spec.Device, id spec.PoolID, live []spec.Ptr) (same bool, err error) {
	const op = "check_pool_live_allocations"
	err = a.onDevice(op, dev, func(d *device) error {
		p, err := d.findPoolLocked(op, id)
		if err != nil {
			return err
		}
		var allocated []spec.Ptr
		for _, s := range d.segmentsOfLocked(p) {
			for b := s.head; b != nil; b = b.next {
				if b.allocated {
					allocated = append(allocated, b.ptr)
				}
			}
		}
		expected := slices.Sorted(slices.Values(live))
		same = slices.Equal(allocated, slices.Compact(expected))
		return nil
	})
	return same, err
}
