package refinement

import (
	"slices"

	"gaugeblock/fakegpu"
	"gaugeblock/model"
	"gaugeblock/spec"
)

// A RoutedGPU reports a stream whose requests are routed to a pool as being captured, in the
// relaxed mode, as the specification has it. The GPU below captures nothing, since captured work
// does not run.
type RoutedGPU struct {
	*fakegpu.GPU
	routings []model.PoolRouting // begun and not ended, in order

	Uncaptured map[spec.PoolID]bool // routed to without a capture: these are not reported
}

// Begin routes the requests for a stream to a pool.
func (r *RoutedGPU) Begin(pool spec.PoolID, s spec.Stream) {
	r.routings = append(r.routings, model.PoolRouting{Pool: pool, Stream: s})
}

// End ends the routing to a pool.
func (r *RoutedGPU) End(pool spec.PoolID) {
	r.routings = slices.DeleteFunc(r.routings, func(b model.PoolRouting) bool { return b.Pool == pool })
}

// streamOf is the stream whose requests are routed to a pool.
func (r *RoutedGPU) streamOf(pool spec.PoolID) (s spec.Stream, is bool) {
	i := slices.IndexFunc(r.routings, func(b model.PoolRouting) bool { return b.Pool == pool })
	if i < 0 {
		return 0, false
	}
	return r.routings[i].Stream, true
}

// CaptureStatus implements spec.Driver.
func (r *RoutedGPU) CaptureStatus(dev spec.Device, s spec.Stream) (spec.CaptureInfo, error) {
	info, err := r.GPU.CaptureStatus(dev, s)
	if i := slices.IndexFunc(r.routings, func(b model.PoolRouting) bool { return b.Stream == s && !r.Uncaptured[b.Pool] }); i >= 0 && err == nil {
		return spec.CaptureInfo{Status: spec.CaptureActive, ID: spec.CaptureID(r.routings[i].Pool.Capture)}, nil
	}
	return info, err
}
