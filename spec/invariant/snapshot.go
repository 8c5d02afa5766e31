package invariant

import "gaugeblock/spec"

// examineSnapshot checks what a snapshot shows, device by device, and compares it
// with the statistics where they are known.
func examineSnapshot(o *Observation, r *violationReport) {
	checkOrder(o.Snapshot.Segments, r)
	var w blockWalk
	for _, dev := range o.devices() {
		w.start(o.Geometry, dev, r)
		for i := range o.Snapshot.Segments {
			if s := &o.Snapshot.Segments[i]; s.Device == dev {
				w.snapshotSegment(s)
				checkSegmentFigures(s, r)
			}
		}
		w.finish()
		w.compare(o.statsOf(dev))
	}
}

// checkOrder holds a snapshot to its order. It is a part of invariant 2: segments
// that do not stand by address cannot be told apart by looking at neighbours, and
// whoever reads a snapshot does just that.
func checkOrder(segments []spec.Segment, r *violationReport) {
	for i := 1; i < len(segments); i++ {
		before, s := &segments[i-1], &segments[i]
		if s.Device < before.Device || s.Device == before.Device && s.Address < before.Address {
			r.add(liveBlocksDisjoint, s.Device, s.Address,
				"segment %v (%d bytes, device %d) is listed behind segment %v of device %d: not by device and address",
				s.Address, s.TotalSize, s.Device, before.Address, before.Device)
		}
	}
}

// snapshotSegment walks over a segment of a snapshot. Of a block that waits for
// streams a snapshot does not say what it waits for; one event stands for it.
func (w *blockWalk) snapshotSegment(s *spec.Segment) {
	if len(s.Blocks) == 0 {
		w.report.add(blocksTileSegments, s.Device, s.Address,
			"segment %v (%d bytes) has no blocks", s.Address, s.TotalSize)
		return
	}
	w.declared = s.TotalSize
	if first := s.Blocks[0].Address; first != s.Address {
		w.report.add(blocksTileSegments, s.Device, first,
			"the first block %v is not where its segment begins, %v", first, s.Address)
	}
	view := spec.BlockView{
		Stream: s.Stream, Pool: s.Pool, PoolKind: s.PoolKind, Expandable: s.Expandable, Mapped: true,
	}
	for i := range s.Blocks {
		b := &s.Blocks[i]
		view.Address, view.Size, view.RequestedSize = b.Address, b.Size, b.RequestedSize
		view.Allocated, view.EventCount = b.State == spec.ActiveAllocated, 0
		if b.State == spec.ActivePendingFree {
			view.EventCount = 1
		}
		view.First, view.Last = i == 0, i == len(s.Blocks)-1
		w.block(&view)
	}
	if end := s.Address + spec.Ptr(s.TotalSize); w.segment.end != end {
		w.report.add(blocksTileSegments, s.Device, w.segment.last,
			"the last block %v ends at %v, its segment at %v", w.segment.last, w.segment.end, end)
	}
}

// checkSegmentFigures is invariant 7.
func checkSegmentFigures(s *spec.Segment, r *violationReport) {
	var allocated, active, requested uint64
	for i := range s.Blocks {
		b := &s.Blocks[i]
		if b.State == spec.ActiveAllocated {
			allocated += b.Size
		}
		if b.State != spec.Inactive {
			active += b.Size
			requested += b.RequestedSize
		}
	}
	for _, f := range [...]struct {
		name      string
		said, sum uint64
	}{
		{"allocated", s.AllocatedSize, allocated},
		{"active", s.ActiveSize, active},
		{"requested", s.RequestedSize, requested},
	} {
		if f.said != f.sum {
			r.add(segmentFiguresAddUp, s.Device, s.Address,
				"segment %v says %d %s bytes, its blocks add up to %d", s.Address, f.said, f.name, f.sum)
		}
	}
}
