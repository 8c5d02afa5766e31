//go:build cgo && linux

package binary

/*
#include "adaptor.h"
*/
import "C"

import (
	"errors"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

// SetMemoryFraction is CUDAAllocator::setMemoryFraction.
func (a *Allocator) SetMemoryFraction(dev spec.Device, fraction float64) error {
	if err := a.device("set_memory_fraction", dev); err != nil {
		return err
	}
	a.give(uint64(dev))
	a.x.fraction = C.double(fraction)
	return a.call(C.TORCH_SET_FRACTION)
}

// MemoryFraction is CUDAAllocator::getMemoryFraction.
func (a *Allocator) MemoryFraction(dev spec.Device) (float64, error) {
	if err := a.device("memory_fraction", dev); err != nil {
		return 0, err
	}
	a.give(uint64(dev))
	err := a.call(C.TORCH_GET_FRACTION)
	return float64(a.x.fraction), err
}

// Configure is c10::CachingAllocator::setAllocatorSettings.
func (a *Allocator) Configure(text string) error {
	a.say(text)
	if err := a.call(C.TORCH_CONFIGURE); err != nil {
		return err
	}
	if c, err := settings.Apply(a.settings, text, spec.DefaultGeometry()); err == nil {
		a.settings = c
	}
	return nil
}

// Config is what the settings given so far come to. PyTorch's own are kept in several
// places and cannot be read in one.
func (a *Allocator) Config() spec.Config { return a.settings }

// ResetPeakStats is CUDAAllocator::resetPeakStats.
func (a *Allocator) ResetPeakStats(dev spec.Device) error { return a.onDevice(C.TORCH_RESET_PEAK, dev) }

// ResetAccumulatedStats is CUDAAllocator::resetAccumulatedStats.
func (a *Allocator) ResetAccumulatedStats(dev spec.Device) error {
	return a.onDevice(C.TORCH_RESET_SUMS, dev)
}

func (a *Allocator) onDevice(operation C.int, dev spec.Device) error {
	if err := a.device("device", dev); err != nil {
		return err
	}
	a.give(uint64(dev))
	return a.call(operation)
}

// BaseAllocation is CUDAAllocator::getBaseAllocation.
func (a *Allocator) BaseAllocation(p spec.Ptr) (base spec.Ptr, bytes uint64, err error) {
	a.give(uint64(p))
	if err := a.call(C.TORCH_BASE); err != nil {
		return 0, 0, err
	}
	return spec.Ptr(a.x.address), a.words()[0], nil
}

// CacheInfo is CUDAAllocator::cacheInfo.
func (a *Allocator) CacheInfo(dev spec.Device, atLeast uint64) (uint64, error) {
	if err := a.device("cache_info", dev); err != nil {
		return 0, err
	}
	a.give(uint64(dev), atLeast)
	err := a.call(C.TORCH_CACHE_INFO)
	return uint64(a.x.address), err
}

// Enable is CUDAAllocator::enable.
func (a *Allocator) Enable(on bool) {
	a.give(flag(on))
	_ = a.call(C.TORCH_ENABLE) // it cannot fail
	a.enabled = on
}

// Enabled reports whether caching is on.
func (a *Allocator) Enabled() bool { return a.enabled }

func flag(on bool) uint64 {
	if on {
		return 1
	}
	return 0
}

// OnOutOfMemory registers an observer (attachOutOfMemoryObserver).
func (a *Allocator) OnOutOfMemory(f func(spec.OutOfMemoryReport)) error {
	a.onOOM = append(a.onOOM, f)
	return nil
}

// OnTrace registers an observer (attachAllocatorTraceTracker). It hears of the entries of a
// call when the call is over, and no lock is held then.
func (a *Allocator) OnTrace(f func(spec.HistoryEntry)) error {
	a.onTrace = append(a.onTrace, f)
	return nil
}

// OnNeedMemory registers a function as by REGISTER_FREE_MEMORY_CALLBACK. It is called with
// the device's lock held, which the calling thread may take again.
func (a *Allocator) OnNeedMemory(f func() bool) error {
	a.onNeed = append(a.onNeed, f)
	return nil
}

// ExpandableSegmentSizes is CUDAAllocator::getExpandableSegmentSizes.
func (a *Allocator) ExpandableSegmentSizes(dev spec.Device) ([]spec.StreamSegmentSize, error) {
	if err := a.onDevice(C.TORCH_SIZES, dev); err != nil {
		return nil, err
	}
	var sizes []spec.StreamSegmentSize
	for w := a.words(); len(w) > 0; w = w[3:] {
		size := spec.StreamSegmentSize{Stream: spec.Stream(w[0]), PoolKind: spec.LargePool, Mapped: w[2]}
		if w[1] != 0 {
			size.PoolKind = spec.SmallPool
		}
		sizes = append(sizes, size)
	}
	return sizes, nil
}

// EnablePeerAccess is CUDAAllocator::enablePeerAccess.
func (a *Allocator) EnablePeerAccess(dev, peer spec.Device) error {
	if err := errors.Join(a.device("peer_access", dev), a.device("peer_access", peer)); err != nil {
		return err
	}
	if dev == peer {
		return &spec.InvalidArgumentError{Op: "peer_access", Reason: "a device is not its own peer"}
	}
	// First what c10::cuda::get_p2p_access does: cudaDeviceEnablePeerAccess.
	if err := a.gpu.EnablePeerAccess(dev, peer); err != nil {
		return err
	}
	a.give(uint64(dev), uint64(peer))
	return a.call(C.TORCH_PEER)
}

// CopyKind is not asked of PyTorch, whose memcpyAsync copies at once.
func (a *Allocator) CopyKind(spec.Device, spec.Device, bool) (spec.CopyKind, error) {
	return 0, &spec.NotSupportedError{Op: "copy_kind", Reason: "PyTorch copies at once"}
}

// ShareHandle is CUDAAllocator::shareIpcHandle.
func (a *Allocator) ShareHandle(p spec.Ptr) (spec.SharedHandle, error) {
	a.give(uint64(p))
	if err := a.call(C.TORCH_SHARE); err != nil {
		return spec.SharedHandle{}, err
	}
	return spec.SharedHandle{Handle: []byte(a.said()), Offset: uint64(a.x.address)}, nil
}

// OpenHandle is CUDAAllocator::getIpcDevPtr.
func (a *Allocator) OpenHandle(dev spec.Device, handle []byte) (spec.OpenedMemory, error) {
	if err := a.device("open_handle", dev); err != nil {
		return nil, err
	}
	a.give(uint64(dev))
	a.say(string(handle))
	if err := a.call(C.TORCH_OPEN); err != nil {
		return nil, err
	}
	return &openedMemory{a, spec.Ptr(a.x.address), a.words()[0]}, nil
}

type openedMemory struct {
	allocator *Allocator
	base      spec.Ptr
	number    uint64
}

func (o *openedMemory) Base() spec.Ptr { return o.base }

func (o *openedMemory) Close() error {
	o.allocator.give(o.number)
	return o.allocator.call(C.TORCH_CLOSE)
}
