package refinement

import (
	"gaugeblock/model"
	"gaugeblock/model/bounded"
	"gaugeblock/spec"
)

// Private pools. The model's redirection is the capture of a stream; here it is what the
// allocator sees of one, a filter that accepts the requests for the stream.

// captureUse is a use of a block that was noted while something was redirected.
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
			delete(w.checkpoints, id) // what was noted goes with the graph that it was noted for
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
