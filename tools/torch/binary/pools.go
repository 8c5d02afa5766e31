//go:build cgo && linux

package binary

/*
#include "adaptor.h"
#include <stdlib.h>
*/
import "C"

import (
	"unsafe"

	"gaugeblock/spec"
)

// onPool performs an operation on a pool of a device.
func (a *Allocator) onPool(operation C.int, dev spec.Device, id spec.PoolID, more ...uint64) error {
	if err := a.device("pool", dev); err != nil {
		return err
	}
	a.give(append([]uint64{uint64(dev), id.Capture, id.User}, more...)...)
	return a.call(operation)
}

// CreatePool is CUDAAllocator::createOrIncrefPool, with setUseOnOOM and setNoSplit.
func (a *Allocator) CreatePool(dev spec.Device, id spec.PoolID, o spec.PoolOptions) error {
	if o.Memory != nil {
		return &spec.NotSupportedError{Op: "create_pool", Reason: "the adaptor gives pools no functions of their own"}
	}
	return a.onPool(C.TORCH_POOL_CREATE, dev, id, flag(o.UseOnOOM), flag(o.NoSplit))
}

// BeginAllocateToPool is CUDAAllocator::beginAllocateToPool.
func (a *Allocator) BeginAllocateToPool(dev spec.Device, id spec.PoolID, filter spec.RequestFilter) error {
	if filter == nil {
		return &spec.InvalidArgumentError{Op: "begin_allocate_to_pool", Reason: "there is no filter"}
	}
	number := uint64(len(a.filters))
	a.filters = append(a.filters, filter)
	return a.onPool(C.TORCH_POOL_BEGIN, dev, id, number)
}

// EndAllocateToPool is CUDAAllocator::endAllocateToPool.
func (a *Allocator) EndAllocateToPool(dev spec.Device, id spec.PoolID) error {
	return a.onPool(C.TORCH_POOL_END, dev, id)
}

// MarkCaptureBegin is CUDAAllocator::markCaptureBegin. Before 2.13 there is none, and it does
// nothing.
func (a *Allocator) MarkCaptureBegin(dev spec.Device) error { return a.markCapture(dev, true) }

// MarkCaptureEnd is CUDAAllocator::markCaptureEnd, likewise.
func (a *Allocator) MarkCaptureEnd(dev spec.Device) error { return a.markCapture(dev, false) }

func (a *Allocator) markCapture(dev spec.Device, begins bool) error {
	if err := a.device("capture", dev); err != nil {
		return err
	}
	a.give(uint64(dev), flag(begins))
	return a.call(C.TORCH_MARK_CAPTURE)
}

// ReleasePool is CUDAAllocator::releasePool.
func (a *Allocator) ReleasePool(dev spec.Device, id spec.PoolID) error {
	return a.onPool(C.TORCH_POOL_RELEASE, dev, id)
}

// PoolUseCount is CUDAAllocator::getPoolUseCount.
func (a *Allocator) PoolUseCount(dev spec.Device, id spec.PoolID) (int, error) {
	err := a.onPool(C.TORCH_POOL_USES, dev, id)
	return int(int64(a.x.address)), err
}

// SetUseOnOOM is CUDAAllocator::setUseOnOOM.
func (a *Allocator) SetUseOnOOM(dev spec.Device, id spec.PoolID, on bool) error {
	return a.onPool(C.TORCH_POOL_ON_OOM, dev, id, flag(on))
}

// SetNoSplit is CUDAAllocator::setNoSplit.
func (a *Allocator) SetNoSplit(dev spec.Device, id spec.PoolID) error {
	return a.onPool(C.TORCH_POOL_NO_SPLIT, dev, id)
}

// EmptyPool is CUDAAllocator::emptyCache for one pool.
func (a *Allocator) EmptyPool(id spec.PoolID) error {
	a.give(id.Capture, id.User)
	return a.call(C.TORCH_EMPTY_CACHE)
}

// poolState is a state that the adaptor keeps.
type poolState struct {
	allocator *state
	id        spec.PoolID
	number    uint64
}

// PoolID is the pool that the state is of.
func (s *poolState) PoolID() spec.PoolID { return s.id }

// Checkpoint is CUDAAllocator::getCheckpointState.
func (a *Allocator) Checkpoint(dev spec.Device, id spec.PoolID) (spec.PoolState, error) {
	if err := a.onPool(C.TORCH_CHECKPOINT, dev, id); err != nil {
		return nil, err
	}
	return &poolState{a.state, id, uint64(a.x.address)}, nil
}

// Restore is CUDAAllocator::setCheckpointPoolState.
func (a *Allocator) Restore(dev spec.Device, state spec.PoolState) (spec.RestoreDelta, error) {
	s, own := state.(*poolState)
	if !own || s.allocator != a.state {
		return spec.RestoreDelta{}, &spec.InvalidArgumentError{Op: "restore", Reason: "the state is another allocator's"}
	}
	if err := a.device("restore", dev); err != nil {
		return spec.RestoreDelta{}, err
	}
	a.give(uint64(dev), s.number)
	if err := a.call(C.TORCH_RESTORE); err != nil {
		return spec.RestoreDelta{}, err
	}
	w := a.words()
	var d spec.RestoreDelta
	for _, list := range []*[]spec.Ptr{&d.Freed, &d.Created} {
		n := w[0]
		for _, p := range w[1 : 1+n] {
			*list = append(*list, spec.Ptr(p))
		}
		w = w[1+n:]
	}
	return d, nil
}

// CheckPoolLiveAllocations is CUDAAllocator::checkPoolLiveAllocations.
func (a *Allocator) CheckPoolLiveAllocations(dev spec.Device, id spec.PoolID, live []spec.Ptr) (bool, error) {
	if len(live) > 0 {
		list := make([]uint64, len(live))
		for i, p := range live {
			list[i] = uint64(p)
		}
		held := C.CBytes(unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), 8*len(list)))
		defer C.free(held)
		a.x.words = (*C.uint64_t)(held)
	}
	err := a.onPool(C.TORCH_CHECK_LIVE, dev, id, uint64(len(live)))
	return a.x.address != 0, err
}
