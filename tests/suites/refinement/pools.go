package refinement

import (
	"gaugeblock/model"
	"gaugeblock/model/bounded"
	"gaugeblock/spec"
)

// Private pools. In the model the routing of a stream to a pool stands for a capture of the
// stream. Here it is a filter that accepts the requests for the stream.

// graphStreamUse is a stream use that was recorded while requests were routed to a pool.
type graphStreamUse struct {
	block  spec.Ptr
	stream spec.Stream
}

func (w *System) doPool(name string, n []int) error {
	id := bounded.PoolID(uint64(n[0]))
	switch name {
	case "BeginAllocateToPool":
		if err := w.allocator.BeginAllocateToPool(0, id, spec.ForStream(spec.Stream(n[1]))); err != nil {
			return err
		}
		w.routed[id] = spec.Stream(n[1])
		return w.allocator.SetUseOnOOM(0, id, w.overflow[id])
	case "EndAllocateToPool":
		delete(w.routed, id)
		return w.allocator.EndAllocateToPool(0, id)
	case "ReleasePool":
		if count, err := w.allocator.PoolUseCount(0, id); err != nil || count == 1 {
			delete(w.checkpoints, id) // a checkpoint is dropped with the last use of its pool
		}
		return w.allocator.ReleasePool(0, id)
	}
	return w.doCheckpoint(name, id)
}

// addPool appends a private pool.
func addPool(s *bounded.State, p *spec.PoolView) {
	if !p.ID.IsDefault() {
		s.Pools = append(s.Pools, model.Pool{ID: p.ID, UseCount: p.UseCount, UseOnOOM: p.UseOnOOM})
	}
}
