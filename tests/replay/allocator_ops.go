package replay

import (
	"fmt"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// What a trace asks of an allocator. Each method performs one kind of operation;
// handlers.go says which.

// lacks is the error of an operation that the allocator has no ability for.
func lacks(kind trace.OpKind, ability string) error {
	return &spec.NotSupportedError{Op: string(kind), Reason: "the allocator is not a spec." + ability}
}

func (m *machine) malloc(op *trace.Op) error {
	ptr, err := m.allocator.Malloc(spec.Request{
		Device: op.Device, Stream: m.stream(op, op.Stream), Bytes: op.Size, Thread: op.Thread,
	})
	if err != nil {
		return err
	}
	m.out.addr = ptr
	m.allocations[op.ID] = allocation{ptr: ptr, bytes: op.Size, device: op.Device}
	return nil
}

func (m *machine) free(op *trace.Op) error {
	a, live := m.allocations[op.ID]
	if !live {
		return errNeverGiven
	}
	if err := m.allocator.Free(a.ptr); err != nil {
		return err
	}
	delete(m.allocations, op.ID)
	return nil
}

func (m *machine) recordStream(op *trace.Op) error {
	a, live := m.allocations[op.ID]
	if !live {
		return errNeverGiven
	}
	return m.allocator.RecordStream(a.ptr, op.Device, m.stream(op, op.Stream))
}

func (m *machine) emptyCache(op *trace.Op) error {
	if op.Pool.IsDefault() {
		return m.allocator.EmptyCache()
	}
	pools, err := m.pools(op)
	if err != nil {
		return err
	}
	return pools.EmptyPool(op.Pool)
}

func (m *machine) setMemoryFraction(op *trace.Op) error {
	limiter, able := m.allocator.(spec.MemoryLimiter)
	if !able {
		return lacks(op.Kind, "MemoryLimiter")
	}
	return limiter.SetMemoryFraction(op.Device, op.Fraction)
}

func (m *machine) configure(op *trace.Op) error {
	configurer, able := m.allocator.(spec.Configurer)
	if !able {
		return lacks(op.Kind, "Configurer")
	}
	return configurer.Configure(op.Settings)
}

func (m *machine) resetPeak(op *trace.Op) error {
	resetter, able := m.allocator.(spec.StatsResetter)
	if !able {
		return lacks(op.Kind, "StatsResetter")
	}
	return resetter.ResetPeakStats(op.Device)
}

func (m *machine) resetAccumulated(op *trace.Op) error {
	resetter, able := m.allocator.(spec.StatsResetter)
	if !able {
		return lacks(op.Kind, "StatsResetter")
	}
	return resetter.ResetAccumulatedStats(op.Device)
}

func (m *machine) enable(op *trace.Op) error {
	toggler, able := m.allocator.(spec.Toggler)
	if !able {
		return lacks(op.Kind, "Toggler")
	}
	toggler.Enable(op.Enabled)
	return nil
}

// needMemoryCallback registers a function that, when first asked, frees the
// operation's allocations.
func (m *machine) needMemoryCallback(op *trace.Op) error {
	observable, able := m.allocator.(spec.Observable)
	if !able {
		return lacks(op.Kind, "Observable")
	}
	lent := op.Frees
	observable.OnNeedMemory(func() bool {
		freed := false
		for _, id := range lent {
			a, live := m.allocations[id]
			if live && m.allocator.Free(a.ptr) == nil {
				freed = true
				delete(m.allocations, id)
				m.out.freed = append(m.out.freed, id)
			}
		}
		lent = nil
		return freed
	})
	return nil
}

func (m *machine) peerAccess(op *trace.Op) error {
	peers, able := m.allocator.(spec.PeerAllocator)
	if !able {
		return lacks(op.Kind, "PeerAllocator")
	}
	return peers.EnablePeerAccess(op.Device, op.Peer)
}

// pools is the allocator's ability to keep memory apart.
func (m *machine) pools(op *trace.Op) (spec.PrivatePools, error) {
	pools, able := m.allocator.(spec.PrivatePools)
	if !able {
		return nil, lacks(op.Kind, "PrivatePools")
	}
	return pools, nil
}

func (m *machine) poolCreate(op *trace.Op) error {
	pools, err := m.pools(op)
	if err != nil {
		return err
	}
	return pools.CreatePool(op.Device, op.Pool, spec.PoolOptions{UseOnOOM: op.UseOnOOM, NoSplit: op.NoSplit})
}

func (m *machine) poolBegin(op *trace.Op) error {
	pools, err := m.pools(op)
	if err != nil {
		return err
	}
	filter, err := m.filter(op)
	if err != nil {
		return err
	}
	return pools.BeginAllocateToPool(op.Device, op.Pool, filter)
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
	if status.State == spec.CaptureNone {
		return nil, m.badOp(op, fmt.Sprintf("stream %d takes part in no capture", op.Stream))
	}
	return spec.ForCapture(m.gpu, status.ID), nil
}

func (m *machine) poolEnd(op *trace.Op) error {
	pools, err := m.pools(op)
	if err != nil {
		return err
	}
	return pools.EndAllocateToPool(op.Device, op.Pool)
}

func (m *machine) poolRelease(op *trace.Op) error {
	pools, err := m.pools(op)
	if err != nil {
		return err
	}
	return pools.ReleasePool(op.Device, op.Pool)
}

// poolDelete is what the end of a torch.cuda.MemPool does.
func (m *machine) poolDelete(op *trace.Op) error {
	pools, err := m.pools(op)
	if err != nil {
		return err
	}
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
	checkpointer, able := m.allocator.(spec.Checkpointer)
	if !able {
		return lacks(op.Kind, "Checkpointer")
	}
	pools, err := m.pools(op)
	if err != nil {
		return err
	}
	state, err := checkpointer.Checkpoint(op.Device, op.Pool)
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
	checkpointer, able := m.allocator.(spec.Checkpointer)
	if !able {
		return lacks(op.Kind, "Checkpointer")
	}
	saved, taken := m.checkpoints[op.State]
	if !taken {
		return errNeverGiven
	}
	for _, id := range op.Live {
		if _, in := saved.live[id]; !in {
			return m.badOp(op, fmt.Sprintf("id %d was not in the pool when state %d was taken", id, op.State))
		}
	}
	delta, err := checkpointer.Restore(op.Device, saved.state)
	if err != nil {
		return err
	}
	m.out.restored = delta
	for _, id := range op.Freed {
		delete(m.allocations, id)
	}
	for _, id := range op.Live {
		m.allocations[id] = saved.live[id]
	}
	return nil
}
