package pluggable

import (
	"fmt"
	"sync"

	"gaugeblock/spec"
)

// Functions are what is plugged in: a pair of functions that must be there, and hooks
// that may. The names are those of PyTorch's setters.
type Functions struct {
	// Malloc allocates memory, Free takes it back. Free hears again what Malloc was
	// asked, so that whoever writes the pair need not keep it.
	Malloc func(bytes uint64, dev spec.Device, s spec.Stream) (spec.Ptr, error)
	Free   func(p spec.Ptr, bytes uint64, dev spec.Device, s spec.Stream) error

	Init                func(devices int) // once, before anything else
	Reset               func() error      // give cached memory back
	MemoryFraction      func(fraction float64, dev spec.Device) error
	BaseAllocation      func(p spec.Ptr) (base spec.Ptr, bytes uint64, err error)
	RecordStream        func(p spec.Ptr, s spec.Stream) error
	BeginAllocateToPool func(dev spec.Device, id spec.PoolID, filter func(spec.Stream) bool) error
	EndAllocateToPool   func(dev spec.Device, id spec.PoolID) error
	ReleasePool         func(dev spec.Device, id spec.PoolID) error
}

// An Allocator is a pair of functions with the bookkeeping that makes an allocator of
// it: what is allocated, of which size, device and stream. As PyTorch's does, it does nothing
// where a hook is missing, and knows neither figures nor pictures: Stats and Snapshot
// are not supported.
type Allocator struct {
	functions Functions
	devices   int

	mu   sync.Mutex
	live map[spec.Ptr]allocation
}

var (
	_ spec.Allocator     = (*Allocator)(nil)
	_ spec.BaseAllocator = (*Allocator)(nil)
)

// allocation is one that has not been freed.
type allocation struct {
	bytes  uint64
	device spec.Device
	stream spec.Stream
}

// New makes an allocator of functions, for a number of devices.
func New(f Functions, devices int) (*Allocator, error) {
	switch {
	case f.Malloc == nil || f.Free == nil:
		return nil, &spec.InvalidArgumentError{Op: "new allocator", Reason: "both functions of the pair are needed"}
	case devices < 1:
		return nil, &spec.InvalidArgumentError{Op: "new allocator", Reason: fmt.Sprintf("there are %d devices", devices)}
	}
	if f.Init != nil {
		f.Init(devices)
	}
	return &Allocator{functions: f, devices: devices, live: map[spec.Ptr]allocation{}}, nil
}

// device refuses a device that is not there.
func (a *Allocator) device(op string, dev spec.Device) error {
	if dev < 0 || int(dev) >= a.devices {
		return &spec.InvalidArgumentError{Op: op, Reason: fmt.Sprintf("there is no device %d, only %d of them", dev, a.devices)}
	}
	return nil
}

// Malloc allocates memory; see spec.Allocator. A function that gives the null pointer
// without an error, as a C function must, has no memory.
func (a *Allocator) Malloc(r spec.Request) (spec.Ptr, error) {
	if err := a.device("malloc", r.Device); err != nil || r.Bytes == 0 {
		return 0, err
	}
	p, err := a.functions.Malloc(r.Bytes, r.Device, r.Stream)
	if err != nil {
		return 0, err
	}
	if p == 0 {
		return 0, &spec.OutOfMemoryError{Device: r.Device, Requested: r.Bytes}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.live[p] = allocation{r.Bytes, r.Device, r.Stream}
	return p, nil
}

// Free frees memory; see spec.Allocator. It is not live any more when the function is
// called, for by then the memory may be allocated again. If the function fails, it is
// live again.
func (a *Allocator) Free(p spec.Ptr) error {
	if p == 0 {
		return nil
	}
	a.mu.Lock()
	m, live := a.live[p]
	delete(a.live, p)
	a.mu.Unlock()
	if !live {
		return &spec.InvalidPointerError{Op: "free", Ptr: p}
	}
	err := a.functions.Free(p, m.bytes, m.device, m.stream)
	if err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.live[p] = m
	}
	return err
}

// find is what is known of a live allocation.
func (a *Allocator) find(op string, p spec.Ptr) (allocation, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m, live := a.live[p]
	if !live {
		return m, &spec.InvalidPointerError{Op: op, Ptr: p}
	}
	return m, nil
}

// RecordStream notes a use on another stream; see spec.Allocator. The hook is not told
// the stream's device.
func (a *Allocator) RecordStream(p spec.Ptr, dev spec.Device, s spec.Stream) error {
	const op = "record_stream"
	if err := a.device(op, dev); err != nil || p == 0 {
		return err
	}
	if _, err := a.find(op, p); err != nil || a.functions.RecordStream == nil {
		return err
	}
	return a.functions.RecordStream(p, s)
}

// EmptyCache gives cached memory back; see spec.Allocator.
func (a *Allocator) EmptyCache() error {
	if a.functions.Reset == nil {
		return nil
	}
	return a.functions.Reset()
}

// SetMemoryFraction limits a device; see spec.MemoryLimiter.
func (a *Allocator) SetMemoryFraction(dev spec.Device, fraction float64) error {
	if err := a.device("set_memory_fraction", dev); err != nil || a.functions.MemoryFraction == nil {
		return err
	}
	return a.functions.MemoryFraction(fraction, dev)
}

// BaseAllocation finds the driver's piece around a pointer; without a hook it is the
// allocation itself.
func (a *Allocator) BaseAllocation(p spec.Ptr) (base spec.Ptr, bytes uint64, err error) {
	m, err := a.find("base_allocation", p)
	if err != nil {
		return 0, 0, err
	}
	if a.functions.BaseAllocation == nil {
		return p, m.bytes, nil
	}
	return a.functions.BaseAllocation(p)
}

// BeginAllocateToPool diverts to a pool the requests for the streams that the filter
// accepts, until EndAllocateToPool. Of spec.PrivatePools there is no more than these two
// and ReleasePool.
func (a *Allocator) BeginAllocateToPool(dev spec.Device, id spec.PoolID, filter func(spec.Stream) bool) error {
	if err := a.device("pool_begin", dev); err != nil || a.functions.BeginAllocateToPool == nil {
		return err
	}
	return a.functions.BeginAllocateToPool(dev, id, filter)
}

// EndAllocateToPool ends what BeginAllocateToPool began.
func (a *Allocator) EndAllocateToPool(dev spec.Device, id spec.PoolID) error {
	if err := a.device("pool_end", dev); err != nil || a.functions.EndAllocateToPool == nil {
		return err
	}
	return a.functions.EndAllocateToPool(dev, id)
}

// ReleasePool takes a use from a pool.
func (a *Allocator) ReleasePool(dev spec.Device, id spec.PoolID) error {
	if err := a.device("pool_release", dev); err != nil || a.functions.ReleasePool == nil {
		return err
	}
	return a.functions.ReleasePool(dev, id)
}

// Stats are not supported.
func (a *Allocator) Stats(spec.Device) (spec.DeviceStats, error) {
	return spec.DeviceStats{}, &spec.NotSupportedError{Op: "stats", Reason: "a pair of functions keeps no figures"}
}

// Snapshot is not supported.
func (a *Allocator) Snapshot() (spec.Snapshot, error) {
	return spec.Snapshot{}, &spec.NotSupportedError{Op: "snapshot", Reason: "a pair of functions shows nothing of itself"}
}
