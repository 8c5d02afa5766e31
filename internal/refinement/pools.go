package refinement

import (
	"gaugeblock/model"
	"gaugeblock/model/bounded"
	"gaugeblock/spec"
)

// Private pools. In the model the routing of a stream to a pool stands for a capture of the
// stream. Here it is a filter that accepts the requests for the stream.

func (sys *System) doPool(name string, n []int) error {
	id := bounded.PoolID(uint64(n[0]))
	switch name {
	case "BeginAllocateToPool":
		if err := sys.allocator.BeginAllocateToPool(0, id, spec.ForStream(spec.Stream(n[1]))); err != nil {
			return err
		}
		sys.routed.Begin(id, spec.Stream(n[1]))
		sys.record.Truth = sys.record.Truth.BeginCapture(model.PoolRouting{Pool: id, Stream: spec.Stream(n[1]), Uncaptured: sys.routed.Uncaptured[id]})
		if err := sys.mark(id, 1); err != nil {
			return err
		}
		if err := sys.allocator.SetUseOnOOM(0, id, sys.overflow[id]); err != nil || !sys.noSplit[id] {
			return err
		}
		return sys.allocator.SetNoSplit(0, id)
	case "EndAllocateToPool":
		if err := sys.mark(id, -1); err != nil {
			return err
		}
		sys.routed.End(id)
		sys.record.Truth = sys.record.Truth.EndCapture(id)
		return sys.allocator.EndAllocateToPool(0, id)
	case "ReleasePool":
		if count, err := sys.allocator.PoolUseCount(0, id); err != nil || count == 1 && !sys.keepsCheckpoints {
			delete(sys.checkpoints, id) // a checkpoint is dropped with the last use of its pool
		}
		return sys.allocator.ReleasePool(0, id)
	case "EmptyPool":
		return sys.allocator.EmptyPool(id)
	}
	return sys.doCheckpoint(name, id)
}

// mark marks the begin of a capture into a pool, 1, or its end, -1, if that decides anything.
func (sys *System) mark(id spec.PoolID, change int) error {
	if !sys.initial.LooksAtMarks() || !sys.marks || sys.uncaptured[id] {
		return nil
	}
	sys.marked += change
	if change > 0 {
		return sys.allocator.MarkCaptureBegin(0)
	}
	return sys.allocator.MarkCaptureEnd(0)
}

// addPool appends a private pool.
func addPool(s *bounded.State, p *spec.PoolView) {
	if !p.ID.IsDefault() {
		s.Pools = append(s.Pools, model.Pool{ID: p.ID, UseCount: p.UseCount, UseOnOOM: p.UseOnOOM, NoSplit: p.NoSplit, DriverSegments: p.DriverSegments, Captured: p.Captured})
	}
}
