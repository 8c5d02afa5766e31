package perform

import (
	"fmt"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Private pools and their checkpoints.
var poolKinds = map[trace.OpKind]kind{
	trace.OpPoolCreate:  {perform: (*machine).poolCreate, needs: privatePools},
	trace.OpPoolBegin:   {perform: (*machine).poolBegin, needs: privatePools},
	trace.OpPoolEnd:     {perform: (*machine).poolEnd, needs: privatePools},
	trace.OpPoolRelease: {perform: (*machine).poolRelease, needs: privatePools},
	trace.OpPoolDelete:  {perform: (*machine).poolDelete, needs: privatePools},
	trace.OpCheckpoint:  {perform: (*machine).checkpointPool, needs: checkpointer},
	trace.OpRestore:     {perform: (*machine).restorePool, needs: checkpointer},
}

// pools is the allocator's private pools, for operations that do not always need them.
func (m *machine) pools(op *trace.Op) (spec.PrivatePools, error) {
	pools, able := m.allocator.(spec.PrivatePools)
	if !able {
		return nil, lacks(op.Kind, "PrivatePools")
	}
	return pools, nil
}

func (m *machine) poolCreate(op *trace.Op) error {
	return m.allocator.(spec.PrivatePools).CreatePool(op.Device, op.Pool, spec.PoolOptions{UseOnOOM: op.UseOnOOM, NoSplit: op.NoSplit})
}

func (m *machine) poolBegin(op *trace.Op) error {
	filter, err := m.filter(op)
	if err != nil {
		return err
	}
	return m.allocator.(spec.PrivatePools).BeginAllocateToPool(op.Device, op.Pool, filter)
}

// filter is the one that the operation describes.
func (m *machine) filter(op *trace.Op) (spec.RequestFilter, error) {
	switch op.By {
	case trace.ByThread:
		return spec.ForThread(op.Thread), nil
	case trace.ByStream:
		return spec.ForStream(m.stream(op, op.Stream)), nil
	}
	status, err := m.gpu.CaptureStatus(op.Device, m.stream(op, op.Stream))
	if err != nil {
		return nil, err
	}
	if status.Status == spec.CaptureNone {
		return nil, m.badOp(op, fmt.Sprintf("stream %d takes part in no capture", op.Stream))
	}
	return spec.ForCapture(m.gpu, status.ID), nil
}

func (m *machine) poolEnd(op *trace.Op) error {
	return m.allocator.(spec.PrivatePools).EndAllocateToPool(op.Device, op.Pool)
}

func (m *machine) poolRelease(op *trace.Op) error {
	return m.allocator.(spec.PrivatePools).ReleasePool(op.Device, op.Pool)
}

// poolDelete is what the end of a torch.cuda.MemPool does.
func (m *machine) poolDelete(op *trace.Op) error {
	pools := m.allocator.(spec.PrivatePools)
	if err := pools.ReleasePool(op.Device, op.Pool); err != nil {
		return err
	}
	return pools.EmptyPool(op.Pool)
}

// checkpoint is a state of a pool, with the allocations that lay in it.
type checkpoint struct {
	state spec.PoolState
	live  map[int64]allocation
}

func (m *machine) checkpointPool(op *trace.Op) error {
	pools, err := m.pools(op)
	if err != nil {
		return err
	}
	state, err := m.allocator.(spec.Checkpointer).Checkpoint(op.Device, op.Pool)
	if err != nil {
		return err
	}
	snapshot, err := pools.SnapshotPool(op.Pool)
	if err != nil {
		return err
	}
	m.checkpoints[op.State] = checkpoint{state, m.allocationsIn(snapshot.Segments)}
	return nil
}

// allocationsIn picks the live allocations that lie in the given segments.
func (m *machine) allocationsIn(segments []spec.Segment) map[int64]allocation {
	blocks := map[spec.Ptr]bool{}
	for i := range segments {
		for _, b := range segments[i].Blocks {
			blocks[b.Address] = true
		}
	}
	in := map[int64]allocation{}
	for id, a := range m.allocations {
		if blocks[a.ptr] {
			in[id] = a
		}
	}
	return in
}

func (m *machine) restorePool(op *trace.Op) error {
	saved, taken := m.checkpoints[op.State]
	if !taken {
		return ErrSkipped
	}
	for _, id := range op.Live {
		if _, in := saved.live[id]; !in {
			return m.badOp(op, fmt.Sprintf("id %d was not in the pool when state %d was taken", id, op.State))
		}
	}
	delta, err := m.allocator.(spec.Checkpointer).Restore(op.Device, saved.state)
	if err != nil {
		return err
	}
	m.out.Restored = delta
	for _, id := range op.Freed {
		delete(m.allocations, id)
	}
	for _, id := range op.Live {
		m.allocations[id] = saved.live[id]
	}
	return nil
}
