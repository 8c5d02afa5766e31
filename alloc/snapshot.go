package alloc

import "gaugeblock/spec"

// Snapshot is a picture of all memory held from the driver, with the history.
// Each device's part is taken in one moment; what other devices do meanwhile is
// in their parts or is not.
func (a *Allocator) Snapshot() (spec.Snapshot, error) { return a.snapshot(spec.DefaultPool) }

func (a *Allocator) snapshot(only spec.PoolID) (spec.Snapshot, error) {
	s := spec.Snapshot{Traces: make([][]spec.HistoryEntry, len(a.devices))}
	for i, d := range a.devices {
		d.mu.Lock()
		s.Traces[i] = d.diary.ring.list()
		active := d.picture(&s, only)
		d.traceSnapshot(only, active)
		if i == 0 {
			s.Config = d.cfg
		}
		d.mu.Unlock()
	}
	a.mu.Lock()
	s.Annotations = a.annotations.list()
	a.mu.Unlock()
	return s, nil
}

// SnapshotPool is a picture of one pool's memory.
func (a *Allocator) SnapshotPool(id spec.PoolID) (spec.Snapshot, error) {
	if id.IsDefault() {
		return a.Snapshot()
	}
	return a.snapshot(id)
}

// picture adds the device's segments to a snapshot, all or those of one pool, and
// returns the bytes of their active blocks.
func (d *device) picture(s *spec.Snapshot, only spec.PoolID) (active uint64) {
	for _, seg := range d.segments {
		if !only.IsDefault() && seg.head.pool.owner.id != only {
			continue
		}
		for b := seg.head; b != nil; b = b.next {
			// An expandable segment is shown once for each range with memory.
			if b.mapped && (b.prev == nil || !b.prev.mapped) {
				drawn := d.draw(b)
				active += drawn.ActiveSize
				s.Segments = append(s.Segments, drawn)
			}
		}
	}
	return active
}

// draw is the picture of the memory from a block on, up to its end or that of the
// range that has memory.
func (d *device) draw(head *block) spec.Segment {
	drawn := spec.Segment{
		Device: d.id, Address: head.ptr, Stream: head.stream,
		Pool: head.pool.owner.id, PoolKind: head.pool.kind, Expandable: !head.plain(),
	}
	if head.prev == nil {
		drawn.Context = head.segment.context
	}
	for b := head; b != nil && b.mapped; b = b.next {
		drawn.TotalSize += b.size
		if b.allocated {
			drawn.AllocatedSize += b.size
		}
		if !b.free() {
			drawn.ActiveSize += b.size
			drawn.RequestedSize += b.requested
		}
		drawn.Blocks = append(drawn.Blocks, spec.Block{
			Address: b.ptr, Size: b.size, RequestedSize: b.requested,
			State: b.state(), Context: b.context,
		})
	}
	return drawn
}
