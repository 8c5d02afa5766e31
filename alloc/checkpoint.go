package alloc

import (
	"slices"

	"gaugeblock/spec"
)

// Checkpoints. A captured graph uses the addresses that it was captured with. Suppose that
// graph A was captured, that other memory of the pool was allocated and freed since, that A
// is launched again, and that graph B is to be captured after it. Then the pool must be as it
// was at the end of A's capture. So its state is saved after each capture, and the one of A is
// restored before the capture of B.
//
// To restore, every allocated block is freed, so that each segment (of an expandable one, the
// mapped part) is one free block. Then, segment by segment, the saved blocks are all allocated, and
// those that were free are freed. Segments obtained and pages mapped since the checkpoint stay, and
// are free.
//
// While a pool is live, no page is taken out of its expandable segments. So the mapped memory of an
// expandable segment of the pool begins at its base and has no gaps (TestLivePoolHasNoGaps).

// privatePoolState is the state of a pool at a checkpoint (upstream: PrivatePoolState).
type privatePoolState struct {
	device   *device
	id       spec.PoolID
	segments []segmentState // by address
}

// PoolID is the id of the pool.
func (s *privatePoolState) PoolID() spec.PoolID { return s.id }

// segmentState is a segment and its mapped blocks, by address (upstream: SegmentState).
type segmentState struct {
	base       spec.Ptr
	mapped     uint64 // bytes; all of a segment that is not expandable
	expandable bool
	kind       spec.PoolKind
	stream     spec.Stream
	blocks     []blockState
}

// blockState is a block (upstream: BlockState, which has the stream uses as well).
type blockState struct {
	size      uint64 // bytes
	allocated bool
}

// mappedSize is the number of bytes of the segment that are mapped.
func (s *segment) mappedSize() uint64 {
	if s.expandable != nil {
		return s.expandable.mappedSize
	}
	return s.size
}

// getCheckpointStateLocked returns the present state of a pool. Before that the deferred
// blocks of the device become free or pending, as upstream.
func (d *device) getCheckpointStateLocked(id spec.PoolID) (spec.PoolState, error) {
	const op = "checkpoint"
	p, err := d.livePoolLocked(op, id)
	if err != nil {
		return nil, err
	}
	if _, err := d.mayCaptureLocked(); err != nil {
		return nil, err
	}
	if err := d.insertEventsDeferredUntilNoCaptureLocked(); err != nil {
		return nil, err
	}
	state := &privatePoolState{device: d, id: id}
	for _, s := range d.segmentsOfLocked(p) {
		saved := segmentState{
			base: s.base, mapped: s.mappedSize(), expandable: s.expandable != nil,
			kind: s.blockPool.kind, stream: s.stream,
		}
		for b := s.head; b != nil; b = b.next {
			if b.readRare().eventCount > 0 {
				return nil, stillUsed(op, b)
			}
			if b.mapped {
				saved.blocks = append(saved.blocks, blockState{b.size, b.allocated})
			}
		}
		if len(saved.blocks) > 0 { // a range of which nothing is mapped is no part of the state
			state.segments = append(state.segments, saved)
		}
	}
	return state, nil
}

// setCheckpointPoolStateLocked restores a pool. checkRestoreLocked has made the tests, and pages
// that the restore allocates have got access, so the restore itself cannot fail.
func (d *device) setCheckpointPoolStateLocked(
	state *privatePoolState,
) (delta spec.RestoreDelta, err error) {
	p, err := d.checkRestoreLocked(state)
	if err != nil {
		return delta, err
	}
	if err := d.giveAccessToSavedLocked(state); err != nil {
		return delta, err
	}
	d.freeBlocksAllocatedToPoolLocked(p, &delta)
	for i := range state.segments {
		saved := &state.segments[i]
		d.setSegmentStateToCheckpointLocked(d.segments.at(saved.base), saved, &delta)
	}
	return delta, nil
}

// giveAccessToSavedLocked gives access to the inaccessible pages (pages.go) of the blocks that will
// be allocated. There are some only if the pool was erased and one of the same id made.
func (d *device) giveAccessToSavedLocked(state *privatePoolState) error {
	for i := range state.segments {
		saved := &state.segments[i]
		x := d.segments.at(saved.base).expandable
		if x == nil || x.inaccessible == 0 {
			continue
		}
		at := saved.base
		for _, b := range saved.blocks {
			if b.allocated {
				if err := x.giveAccess(spec.Range{Ptr: at, Bytes: b.size}); err != nil {
					return err
				}
			}
			at += spec.Ptr(b.size)
		}
	}
	return nil
}

// freeBlocksAllocatedToPoolLocked frees the allocated blocks of a pool. None has stream
// uses, so each is free at once.
func (d *device) freeBlocksAllocatedToPoolLocked(p *pool, delta *spec.RestoreDelta) {
	for _, s := range d.segmentsOfLocked(p) {
		for b := s.head; b != nil; b = b.next { // b stays in the list when neighbours are merged into it
			if b.allocated {
				delta.Freed = append(delta.Freed, b.ptr)
				d.freeAtOnceLocked(b)
			}
		}
	}
}

// setSegmentStateToCheckpointLocked splits a segment, whose mapped memory is one free block,
// into the saved blocks. It allocates each of them, with the block's size as the requested
// size, and then frees those that were free.
func (d *device) setSegmentStateToCheckpointLocked(
	s *segment, saved *segmentState, delta *spec.RestoreDelta,
) {
	var blocks []*block
	b := s.head
	for _, want := range saved.blocks {
		b.removeFromList()
		b = d.allocFoundBlockLocked(b, want.size, want.size, b.size > want.size)
		d.recordAllocLocked(b)
		blocks = append(blocks, b)
		b = b.next
	}
	for i, b := range blocks {
		if saved.blocks[i].allocated {
			delta.Created = append(delta.Created, b.ptr)
		} else {
			d.freeAtOnceLocked(b)
		}
	}
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
			if b.readRare().isUsed() {
				return nil, stillUsed(op, b)
			}
		}
	}
	for i := range state.segments {
		saved := &state.segments[i]
		s := d.segments.at(saved.base)
		differs := saved.differsFrom(s, p)
		if differs == "" && d.rules.RestoreRefusesGrown && s.mappedSize() > saved.mapped {
			differs = "has grown since the checkpoint"
		}
		if differs != "" {
			reason := "the segment at " + saved.base.String() + " " + differs
			return nil, &spec.InvalidStateError{Op: op, Reason: reason}
		}
	}
	return p, nil
}

// differsFrom is why a segment of the pool, which may be nil, is not the saved one, or "".
func (saved *segmentState) differsFrom(s *segment, p *pool) string {
	switch {
	case s == nil || s.blockPool.owner != p:
		return "no longer exists"
	case (s.expandable != nil) != saved.expandable, s.blockPool.kind != saved.kind,
		!saved.expandable && s.size != saved.mapped:
		return "is another one than at the checkpoint"
	case s.stream != saved.stream:
		return "is of another stream than at the checkpoint"
	case s.mappedSize() < saved.mapped: // the pool was erased, and one of the same id made
		return "has been unmapped in part"
	}
	return ""
}

func stillUsed(op string, b *block) error {
	reason := "streams may still use the block at " + b.ptr.String()
	return &spec.InvalidStateError{Op: op, Reason: reason}
}

// Checkpoint returns the present state of a private pool; see spec.Checkpointer.
func (a *Allocator) Checkpoint(dev spec.Device, id spec.PoolID) (spec.PoolState, error) {
	return a.noCaller().Checkpoint(dev, id)
}

// Checkpoint is Allocator.Checkpoint for the caller.
func (a callerView) Checkpoint(dev spec.Device, id spec.PoolID) (spec.PoolState, error) {
	var state spec.PoolState
	err := a.onDevice("checkpoint", dev, spec.ContextAll, func(d *device) (err error) {
		state, err = d.getCheckpointStateLocked(id)
		return err
	})
	return state, err
}

// Restore restores a private pool to a state that Checkpoint returned; see spec.Checkpointer.
func (a *Allocator) Restore(dev spec.Device, state spec.PoolState) (spec.RestoreDelta, error) {
	return a.noCaller().Restore(dev, state)
}

// Restore is Allocator.Restore for the caller.
func (a callerView) Restore(dev spec.Device, state spec.PoolState) (spec.RestoreDelta, error) {
	const op = "restore"
	var delta spec.RestoreDelta
	err := a.onDevice(op, dev, spec.ContextState, func(d *device) (err error) {
		own, ok := state.(*privatePoolState)
		if !ok || own.device != d {
			const reason = "the state is not of a checkpoint of this device's allocator"
			return &spec.InvalidArgumentError{Op: op, Reason: reason}
		}
		delta, err = d.setCheckpointPoolStateLocked(own)
		return err
	})
	return delta, err
}

// CheckPoolLiveAllocations reports whether exactly the given pointers of the pool are
// allocated.
func (a *Allocator) CheckPoolLiveAllocations(
	dev spec.Device, id spec.PoolID, live []spec.Ptr,
) (same bool, err error) {
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
