//go:build cgo && linux

package binary

/*
#include "adaptor.h"
*/
import "C"

import (
	"unsafe"

	"gaugeblock/spec"
)

var _ interface {
	spec.Allocator
	spec.MemoryLimiter
	spec.Configurer
	spec.StatsResetter
	spec.BaseAllocator
	spec.CacheInformer
	spec.Toggler
	spec.HistoryRecorder
	spec.Observable
	spec.PrivatePools
	spec.Checkpointer
	spec.ExpandableSegments
	spec.PeerAllocator
	spec.SharedMemory
	spec.ExactAllocator
} = (*Allocator)(nil)

// device refuses a device that is not there: PyTorch asserts, or does not look.
func (a *Allocator) device(op string, dev spec.Device) error {
	if dev < 0 || int(dev) >= a.gpu.DeviceCount() {
		return &spec.InvalidArgumentError{Op: op, Reason: "there is no such device"}
	}
	return nil
}

// Malloc is CUDAAllocator::allocate, as tensors use it, for a given stream.
func (a *Allocator) Malloc(r spec.Request) (spec.Ptr, error) {
	if err := a.device("malloc", r.Device); err != nil {
		return 0, err
	}
	if a.steps != nil {
		return a.steps.Malloc(r, a.malloc)
	}
	return a.malloc(r)
}

func (a *Allocator) malloc(r spec.Request) (spec.Ptr, error) {
	a.request = r
	a.give(uint64(r.Device), uint64(r.Stream), r.Bytes)
	if err := a.call(C.TORCH_MALLOC); err != nil {
		return 0, err
	}
	return spec.Ptr(a.x.address), nil
}

// MallocAt is CUDAAllocator::allocateWithAddress.
func (a *Allocator) MallocAt(r spec.Request, p spec.Ptr) error {
	if err := a.device("malloc_at", r.Device); err != nil || r.Bytes == 0 {
		return err
	}
	a.request = r
	a.give(uint64(r.Device), uint64(r.Stream), r.Bytes, uint64(p))
	return a.call(C.TORCH_MALLOC_AT)
}

// Free is what the end of a DataPtr does.
func (a *Allocator) Free(p spec.Ptr) error {
	if p == 0 {
		return nil
	}
	a.give(uint64(p))
	return a.call(C.TORCH_FREE)
}

// RecordStream is CUDAAllocator::recordStream.
func (a *Allocator) RecordStream(p spec.Ptr, dev spec.Device, s spec.Stream) error {
	if err := a.device("record_stream", dev); err != nil || p == 0 {
		return err
	}
	a.give(uint64(p), uint64(dev), uint64(s))
	return a.call(C.TORCH_RECORD_STREAM)
}

// EmptyCache is CUDAAllocator::emptyCache for the default pool.
func (a *Allocator) EmptyCache() error {
	a.give(0, 0)
	return a.call(C.TORCH_EMPTY_CACHE)
}

// StatsWithCalls asks for the figures of a device with every call from here on, so that
// Stats need not ask again; -1 ends it.
func (a *Allocator) StatsWithCalls(dev spec.Device) { a.figuresOf, a.fresh = dev, false }

// Stats is CUDAAllocator::getDeviceStats.
func (a *Allocator) Stats(dev spec.Device) (spec.DeviceStats, error) {
	s, err := a.LatestStats(dev)
	if err != nil {
		return spec.DeviceStats{}, err
	}
	return *s, nil
}

// LatestStats is Stats without a copy: the next call to PyTorch's allocator overwrites them.
func (a *Allocator) LatestStats(dev spec.Device) (*spec.DeviceStats, error) {
	if err := a.device("statistics", dev); err != nil {
		return nil, err
	}
	if a.figuresOf != dev || !a.fresh {
		before := a.figuresOf
		a.figuresOf = dev
		err := a.call(C.TORCH_STATS)
		a.figuresOf = before
		if err != nil {
			return nil, err
		}
	}
	return a.latest(), nil
}

// latest are the figures that came with the latest call: the adaptor writes them in the order of
// the structure, which consists of 64-bit numbers.
func (a *Allocator) latest() *spec.DeviceStats {
	var _ [C.TORCH_FIGURES * 8]byte = [unsafe.Sizeof(spec.DeviceStats{})]byte{}
	return (*spec.DeviceStats)(unsafe.Pointer(&a.x.figures))
}

// Snapshot is CUDAAllocator::snapshot, with the history if it is being recorded.
func (a *Allocator) Snapshot() (spec.Snapshot, error) {
	s, err := a.SnapshotPool(spec.DefaultPool)
	if err != nil || !a.HistoryEnabled() {
		return s, err
	}
	for dev := range a.gpu.DeviceCount() {
		entries, err := a.ring(spec.Device(dev))
		if err != nil {
			return s, err
		}
		s.Traces = append(s.Traces, entries)
	}
	return s, nil
}

// SnapshotPool is a snapshot of one pool's segments, without the history.
func (a *Allocator) SnapshotPool(id spec.PoolID) (spec.Snapshot, error) {
	a.give(id.Capture, id.User)
	if err := a.call(C.TORCH_SNAPSHOT); err != nil {
		return spec.Snapshot{}, err
	}
	return spec.Snapshot{Segments: segments(a.words()), Config: a.settings}, nil
}

// segments reads what the adaptor wrote.
func segments(w []uint64) []spec.Segment {
	next := func() uint64 {
		first := w[0]
		w = w[1:]
		return first
	}
	list := make([]spec.Segment, next())
	for i := range list {
		g := &list[i]
		g.Device, g.Address, g.TotalSize = spec.Device(next()), spec.Ptr(next()), next()
		g.RequestedSize, g.AllocatedSize, g.ActiveSize = next(), next(), next()
		g.Stream, g.PoolKind, g.Expandable = spec.Stream(next()), spec.PoolKind(next()), next() != 0
		g.Pool = spec.PoolID{Capture: next(), User: next()}
		g.Blocks = make([]spec.Block, next())
		at := g.Address
		for j := range g.Blocks {
			b := &g.Blocks[j]
			b.Address, b.Size, b.RequestedSize = at, next(), next()
			b.State = spec.BlockState(next())
			at += spec.Ptr(b.Size)
		}
	}
	return list
}
