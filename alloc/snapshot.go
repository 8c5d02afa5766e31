package alloc

import (
	"iter"

	"gaugeblock/spec"
)

// Snapshot shows all reserved memory, with the history. The part of each device is of one
// moment. The parts of different devices are of different moments.
func (a *Allocator) Snapshot() (spec.Snapshot, error) { return a.snapshot(spec.DefaultPool) }

// SnapshotPool shows the memory of one private pool, or all memory if id is that of the
// default pool.
func (a *Allocator) SnapshotPool(id spec.PoolID) (spec.Snapshot, error) { return a.snapshot(id) }

func (a *Allocator) snapshot(id spec.PoolID) (spec.Snapshot, error) {
	s := spec.Snapshot{Traces: make([][]spec.HistoryEntry, len(a.devices))}
	err := a.onEachDevice(func(d *device) error {
		s.Traces[d.id] = d.traceBuffer.allocBuffer.list()
		active := d.snapshotSegmentsLocked(&s, id)
		d.recordSnapshotTraceLocked(id, active)
		if d.id == 0 {
			s.Config = d.cfg
		}
		return nil
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	s.Annotations = a.annotations.list()
	return s, err
}

// snapshotSegmentsLocked adds the device's segments to a snapshot, all or those of one
// pool. It returns the size in bytes of their active blocks. An expandable segment is
// added once for each mapped range.
func (d *device) snapshotSegmentsLocked(s *spec.Snapshot, id spec.PoolID) (active uint64) {
	for _, seg := range d.segments {
		if !id.IsDefault() && seg.blockPool.owner.id != id {
			continue
		}
		for b := seg.head; b != nil; b = b.next {
			if b.mapped && (b.prev == nil || !b.prev.mapped) {
				info := segmentInfo(d.id, b)
				active += info.ActiveSize
				s.Segments = append(s.Segments, info)
			}
		}
	}
	return active
}

// segmentInfo describes the mapped blocks from first on, up to the next unmapped one.
func segmentInfo(dev spec.Device, first *block) spec.Segment {
	s := first.segment
	info := spec.Segment{
		Device: dev, Address: first.ptr, Stream: s.stream,
		Pool: s.blockPool.owner.id, PoolKind: s.blockPool.kind, Expandable: first.isExpandable(),
	}
	if first.prev == nil {
		info.Context = s.contextWhenAllocated
	}
	for b := first; b != nil && b.mapped; b = b.next {
		info.TotalSize += b.size
		if b.allocated {
			info.AllocatedSize += b.size
		}
		if !b.isFree() {
			info.ActiveSize += b.size
			info.RequestedSize += b.requestedSize
		}
		info.Blocks = append(info.Blocks, spec.Block{
			Address: b.ptr, Size: b.size, RequestedSize: b.requestedSize,
			State: b.state(), Context: b.readRare().contextWhenAllocated,
		})
	}
	return info
}

// Inspect shows a checker the device's own structures (spec.Inspector). The mutex is
// held meanwhile.
func (a *Allocator) Inspect(dev spec.Device, v spec.Visitor) error {
	return a.onDevice("inspect", dev, func(d *device) error {
		d.inspectBlocksLocked(&v)
		inspectPool(d.defaultPool, false, &v)
		for _, p := range d.graphPools.byID() {
			inspectPool(p, p.useCount == 0, &v)
		}
		d.inspectStreamUsesLocked(&v)
		d.inspectEventsLocked(&v)
		d.inspectCapturesLocked(&v)
		return nil
	})
}

func (d *device) inspectBlocksLocked(v *spec.Visitor) {
	if v.Block == nil {
		return
	}
	var view spec.BlockView
	for _, s := range d.segments {
		for b := s.head; b != nil; b = b.next {
			b.show(&view)
			v.Block(&view)
		}
	}
}

func (d *device) inspectStreamUsesLocked(v *spec.Visitor) {
	if v.StreamUse == nil {
		return
	}
	for _, s := range d.segments {
		for b := s.head; b != nil; b = b.next {
			for _, u := range b.readRare().streamUses {
				v.StreamUse(&spec.StreamUseView{
					Block: b.ptr, Stream: u.stream, DuringCapture: u.duringCapture,
				})
			}
		}
	}
}

func inspectPool(p *pool, freeable bool, v *spec.Visitor) {
	if v.Pool != nil {
		v.Pool(&spec.PoolView{
			ID: p.id, UseCount: p.useCount, DriverSegments: p.cudaMallocCount, Captured: p.captured,
			Freeable: freeable, UseOnOOM: p.useOnOOM, NoSplit: p.noSplit, Pins: p.pins,
		})
	}
	for _, bp := range [...]*blockPool{&p.smallBlocks, &p.largeBlocks} {
		inspectBlocks(bp.blocks.allFree(), v.Free)
		inspectBlocks(bp.blocks.allUnmapped(), v.Unmapped)
	}
}

func inspectBlocks(blocks iter.Seq[*block], visit func(*spec.BlockView)) {
	if visit == nil {
		return
	}
	var view spec.BlockView
	for b := range blocks {
		b.show(&view)
		visit(&view)
	}
}

func (d *device) inspectCapturesLocked(v *spec.Visitor) {
	if v.DeferredFree != nil {
		for _, f := range d.deferredBlocks {
			v.DeferredFree(&spec.DeferredFreeView{Block: f.block.ptr, Markers: len(f.markers)})
		}
	}
	if v.Routing != nil {
		for _, r := range d.capturesUnderway {
			v.Routing(r.pool.id)
		}
	}
}

func (d *device) inspectEventsLocked(v *spec.Visitor) {
	if v.PendingEvent == nil {
		return
	}
	for _, q := range d.cudaEvents {
		for _, e := range q.outstanding() {
			v.PendingEvent(&spec.PendingEventView{Stream: q.stream.Stream, Device: q.stream.Device, Event: e.event, Block: e.block.ptr})
		}
	}
}

// show fills a view of a block.
func (b *block) show(view *spec.BlockView) {
	blockPool := b.segment.blockPool
	*view = spec.BlockView{
		Address: b.ptr, Size: b.size, RequestedSize: b.requestedSize,
		Stream: b.segment.stream, Pool: blockPool.owner.id, PoolKind: blockPool.kind,
		Allocated: b.allocated, Mapped: b.mapped, Expandable: b.isExpandable(),
		EventCount: int(b.readRare().eventCount), StreamUses: len(b.readRare().streamUses),
		First: b.prev == nil, Last: b.next == nil,
		Order: b.order(), Age: blockPool.gcAge(b),
	}
}
