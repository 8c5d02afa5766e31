package torch

import (
	"slices"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// A pool that PyTorch has erased while expandable memory of it is allocated. The blocks then
// refer to an object that is gone. Nothing comes of that before such a block is freed, or the
// layout is looked at; a free writes to what is now at the object's place, and whatever comes
// later may come of it. What may be so is found from what the reference has done.

// memoryOfErasedPools is what is known of such pools.
type memoryOfErasedPools struct {
	memory  []spec.Range // segments of erased pools that had active blocks then
	touched bool         // since then a block of the memory was freed
}

// see records an operation that the reference has performed.
func (o *memoryOfErasedPools) see(m *mismatch, op *trace.Op, out *perform.Result, a spec.Allocator) {
	o.touched = o.touched || o.frees(m, op) || slices.ContainsFunc(out.Entries, func(e spec.TraceEntry) bool { return o.has(e.Addr) })
	if len(m.facts.released) == 0 || !m.facts.expandable {
		return
	}
	erased := erasedPools(a, m.Header.Devices)
	if len(erased) == 0 {
		return
	}
	s, err := a.Snapshot()
	for _, g := range s.Segments {
		if err == nil && g.Expandable && erased[devicePool{g.Device, g.Pool}] && g.ActiveSize > 0 && !o.has(g.Address) {
			o.memory = append(o.memory, spec.Range{Ptr: g.Address, Bytes: g.TotalSize})
		}
	}
}

// devicePool is a pool of a device.
type devicePool struct {
	device spec.Device
	pool   spec.PoolID
}

// erasedPools are the pools that the reference keeps and PyTorch erases, at the latest when it
// releases what pools have.
func erasedPools(a spec.Allocator, devices int) map[devicePool]bool {
	return poolsWith(a, devices, func(p *spec.PoolView) bool { return p.Freeable && p.DriverSegments <= 0 })
}

// existingPools are all that the reference has.
func existingPools(a spec.Allocator, devices int) map[devicePool]bool {
	return poolsWith(a, devices, func(*spec.PoolView) bool { return true })
}

func poolsWith(a spec.Allocator, devices int, property func(*spec.PoolView) bool) map[devicePool]bool {
	pools := map[devicePool]bool{}
	for dev := range devices {
		inspect(a, spec.Device(dev), spec.Visitor{Pool: func(p *spec.PoolView) {
			if property(p) {
				pools[devicePool{spec.Device(dev), p.ID}] = true
			}
		}})
	}
	return pools
}

// filledPools are those with an expandable segment that is mapped up to the end of its range.
func filledPools(a spec.Allocator, devices int) map[devicePool]bool {
	pools := map[devicePool]bool{}
	for dev := range devices {
		inspect(a, spec.Device(dev), spec.Visitor{Block: func(b *spec.BlockView) {
			if b.Expandable && b.Last && b.Mapped {
				pools[devicePool{spec.Device(dev), b.Pool}] = true
			}
		}})
	}
	return pools
}

// frees reports whether the operation frees such a block.
func (o *memoryOfErasedPools) frees(m *mismatch, op *trace.Op) bool {
	ids := op.Frees
	if op.Kind == trace.OpFree {
		ids = []int64{op.ID}
	}
	return slices.ContainsFunc(ids, func(id int64) bool { return o.has(m.facts.places[id]) })
}

func (o *memoryOfErasedPools) has(at spec.Ptr) bool {
	return slices.ContainsFunc(o.memory, func(r spec.Range) bool { return r.Ptr <= at && at < r.End() })
}

// ends reports whether a crash, or a call that does not come back, may come of it.
func (o *memoryOfErasedPools) ends(m *mismatch) bool {
	if what := m.Difference.What; what != "crash" && what != "hang" || len(o.memory) == 0 {
		return false
	}
	waits := slices.ContainsFunc(o.memory, func(r spec.Range) bool { return m.anyPending(r) }) // its free may complete
	looks := m.Every > 0 && m.Difference.Operation%m.Every == 0 || m.op.Kind == trace.OpRestore || m.op.Kind == trace.OpCheckpoint
	return o.touched || o.frees(m, m.op) || waits && !ofDevice(m.op.Kind) || looks
}

// anyPending reports whether a block of a range was freed and still used.
func (m *mismatch) anyPending(r spec.Range) bool {
	return slices.ContainsFunc(m.before.Segments, func(s spec.Segment) bool {
		return slices.ContainsFunc(s.Blocks, func(b spec.Block) bool {
			return r.Ptr <= b.Address && b.Address < r.End() && b.State == spec.ActivePendingFree
		})
	})
}
