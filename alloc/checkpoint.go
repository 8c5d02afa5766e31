package alloc

import (
	"slices"

	"gaugeblock/spec"
)

// Checkpoints. A captured graph always writes to the addresses it was captured
// with. When another graph is to be captured that continues after one that has
// been launched again, the pool must look as it did when that one's capture ended,
// not as it does now. So the state of a pool is noted after a capture, and the
// pool is set back to it before the next.
//
// Setting back goes by ways that exist already: every block that is out is freed,
// so that each segment is whole again; then each noted segment is cut into the
// noted blocks, all of them given out; then those that were free are freed.
// Segments obtained since then stay, all free.

// poolState is what a checkpoint notes.
type poolState struct {
	device   *device
	id       spec.PoolID
	segments []segmentState // by address
}

// PoolID is the pool that was noted.
func (s *poolState) PoolID() spec.PoolID { return s.id }

// segmentState is a segment and its blocks with memory behind them, by address.
type segmentState struct {
	base   spec.Ptr
	size   uint64 // of a plain segment; an expandable one may have grown
	plain  bool
	half   spec.PoolKind
	blocks []savedBlock
}

type savedBlock struct {
	ptr       spec.Ptr
	size      uint64 // bytes
	allocated bool
}

// checkpoint notes the state of a pool.
func (d *device) checkpoint(id spec.PoolID, context any) (*poolState, error) {
	const op = "checkpoint"
	p, err := d.usedPool(op, id)
	if err != nil {
		return nil, err
	}
	if err := d.resolveDeferred(context); err != nil {
		return nil, err
	}
	state := &poolState{device: d, id: id}
	for _, s := range d.segmentsOf(p) {
		saved := segmentState{base: s.base, size: s.size, plain: s.expandable == nil, half: s.head.pool.kind}
		for b := s.head; b != nil; b = b.next {
			if b.events > 0 {
				return nil, outstanding(op, b)
			}
			if b.mapped {
				saved.blocks = append(saved.blocks, savedBlock{b.ptr, b.size, b.allocated})
			}
		}
		state.segments = append(state.segments, saved)
	}
	return state, nil
}

// restore sets a pool back. Everything that can be wrong is looked for before
// anything is changed.
func (d *device) restore(state *poolState, context any) (spec.RestoreDelta, error) {
	var delta spec.RestoreDelta
	p, err := d.restorable(state)
	if err != nil {
		return delta, err
	}
	for _, s := range d.segmentsOf(p) {
		// A block that is freed keeps its place in the chain, whatever it absorbs.
		for b := s.head; b != nil; b = b.next {
			if b.allocated {
				delta.Freed = append(delta.Freed, b.ptr)
				if err := d.freeAllocated(b, context); err != nil {
					return delta, err
				}
			}
		}
	}
	for i := range state.segments {
		saved := &state.segments[i]
		blocks := d.recut(d.segments.at(saved.base), saved, context)
		for j, b := range blocks {
			if saved.blocks[j].allocated {
				delta.Created = append(delta.Created, b.ptr)
				continue
			}
			if err := d.freeAllocated(b, context); err != nil {
				return delta, err
			}
		}
	}
	return delta, nil
}

// recut cuts a segment, all of which is free, into the noted blocks and gives each
// of them out, asking for its whole size.
func (d *device) recut(s *segment, saved *segmentState, context any) []*block {
	var blocks []*block
	b := s.head
	for _, want := range saved.blocks {
		for !b.mapped || b.end() <= want.ptr {
			b = b.next
		}
		if b.ptr < want.ptr {
			// What was unmapped at the checkpoint has memory now; it stays free.
			b.pool.free.remove(b)
			gap := d.splitOff(b, uint64(want.ptr-b.ptr))
			gap.pool.keep(gap)
		}
		b.pool.free.remove(b)
		if b.size > want.size {
			b = d.splitOff(b, want.size)
		} else {
			d.takeWhole(b)
		}
		d.activate(b, want.size, context, 0)
		blocks = append(blocks, b)
		b = b.next
	}
	return blocks
}

// restorable finds the pool of a state, and reports what keeps it from being set
// back.
func (d *device) restorable(state *poolState) (*pool, error) {
	const op = "restore"
	p, err := d.usedPool(op, state.id)
	if err != nil {
		return nil, err
	}
	for _, s := range d.segmentsOf(p) {
		for b := s.head; b != nil; b = b.next {
			if b.events > 0 || len(b.uses) > 0 {
				return nil, outstanding(op, b)
			}
		}
	}
	for i := range state.segments {
		saved := &state.segments[i]
		s := d.segments.at(saved.base)
		switch {
		case s == nil || s.head.pool.owner != p:
			return nil, &spec.InvalidStateError{Op: op, Reason: "the segment at " + saved.base.String() + " is gone"}
		case (s.expandable == nil) != saved.plain || s.head.pool.kind != saved.half || saved.plain && s.size != saved.size:
			return nil, &spec.InvalidStateError{Op: op, Reason: "the segment at " + saved.base.String() + " is another one than at the checkpoint"}
		case !hasMemory(s, saved.blocks):
			return nil, &spec.InvalidStateError{Op: op, Reason: "memory of the segment at " + saved.base.String() + " has been unmapped"}
		}
	}
	return p, nil
}

// hasMemory reports whether the segment has memory behind every noted block.
func hasMemory(s *segment, blocks []savedBlock) bool {
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

// usedPool finds a pool that is in use.
func (d *device) usedPool(op string, id spec.PoolID) (*pool, error) {
	p, err := d.livePool(op, id)
	if err != nil {
		return nil, err
	}
	if p.useCount == 0 {
		return nil, alreadyReleased(op, id)
	}
	return p, nil
}

func outstanding(op string, b *block) error {
	return &spec.InvalidStateError{Op: op, Reason: "streams may still use the block at " + b.ptr.String()}
}

// segmentsOf lists the segments of a pool by address.
func (d *device) segmentsOf(p *pool) []*segment {
	var segments []*segment
	for _, s := range d.segments {
		if s.head.pool.owner == p {
			segments = append(segments, s)
		}
	}
	return segments
}

// Checkpoint notes the state of a private pool; see spec.Checkpointer.
func (a *Allocator) Checkpoint(dev spec.Device, id spec.PoolID) (spec.PoolState, error) {
	var state *poolState
	context := a.gather(dev, spec.ContextAll)
	err := a.onDevice("checkpoint", dev, func(d *device) (err error) {
		state, err = d.checkpoint(id, context)
		return err
	})
	if err != nil {
		return nil, err
	}
	return state, nil
}

// Restore sets a private pool back to a noted state; see spec.Checkpointer.
func (a *Allocator) Restore(dev spec.Device, noted spec.PoolState) (spec.RestoreDelta, error) {
	const op = "restore"
	var delta spec.RestoreDelta
	context := a.gather(dev, spec.ContextState)
	err := a.onDevice(op, dev, func(d *device) (err error) {
		state, ok := noted.(*poolState)
		if !ok || state.device != d {
			return &spec.InvalidArgumentError{Op: op, Reason: "the state was not noted by this device's allocator"}
		}
		delta, err = d.restore(state, context)
		return err
	})
	return delta, err
}

// CheckPoolLiveAllocations reports whether exactly the given pointers of the pool
// are out.
func (a *Allocator) CheckPoolLiveAllocations(dev spec.Device, id spec.PoolID, live []spec.Ptr) (same bool, err error) {
	err = a.onDevice("check_pool_live_allocations", dev, func(d *device) error {
		p, err := d.livePool("check_pool_live_allocations", id)
		if err != nil {
			return err
		}
		var out []spec.Ptr
		for _, s := range d.segmentsOf(p) {
			for b := s.head; b != nil; b = b.next {
				if b.allocated {
					out = append(out, b.ptr)
				}
			}
		}
		expected := slices.Sorted(slices.Values(live))
		same = slices.Equal(out, slices.Compact(expected))
		return nil
	})
	return same, err
}

// gather asks where the program is, if the device's diary wants to know.
func (a *Allocator) gather(dev spec.Device, level spec.ContextLevel) any {
	if dev < 0 || int(dev) >= len(a.devices) {
		return nil
	}
	return a.devices[dev].diary.gather(level)
}
