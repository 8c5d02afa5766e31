package alloc

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// An Allocator serves all devices of a driver (upstream: NativeCachingAllocator). It
// implements spec.Allocator and the optional interfaces of Abilities. All methods may be called
// from several goroutines at once.
type Allocator struct {
	driver     spec.Driver
	geometry   spec.Geometry
	rules      upstream.Rules
	devices    []*device
	only       *device     // if there is one device, that one
	eventPools []eventPool // by device
	threads    *threadMetadata
	uncached   uncached
	opened     openedHandles
	enabled    atomic.Bool

	configuring sync.Mutex // held by what sets something on every device

	mu          sync.Mutex
	history     spec.HistoryOptions
	annotations ringBuffer[spec.Annotation]
}

// Abilities are the interfaces of spec that an Allocator implements.
type Abilities interface {
	spec.Allocator
	spec.MemoryLimiter
	spec.Configurer
	spec.StatsResetter
	spec.BaseAllocator
	spec.CacheInformer
	spec.Toggler
	spec.HistoryRecorder
	spec.Observable
	spec.Inspector
	spec.PrivatePools
	spec.Checkpointer
	spec.ExpandableSegments
	spec.PeerAllocator
	spec.SharedMemory
	spec.CallerAware
	spec.CaptureMarker
	spec.ExactAllocator
	spec.BlockAnnotator
	spec.MoreStatsInformer
	spec.RejectionObservable
	spec.ReserveClassifier
}

var _ Abilities = (*Allocator)(nil)

// Options are the arguments of New.
type Options struct {
	// Geometry has the sizes to work with. The zero value stands for upstream's.
	Geometry spec.Geometry
	// Rules are the decisions in which releases of PyTorch differ. The zero value stands for
	// those of 2.11.
	Rules upstream.Rules
	// Settings has the syntax of PYTORCH_ALLOC_CONF.
	Settings string
	// Config, if not nil, is used instead of Settings. It can express settings that
	// no string can, which a model device needs.
	Config *spec.Config
	// Uncached makes every allocation a call of the driver, as
	// PYTORCH_NO_CUDA_MEMORY_CACHING=1 does.
	Uncached bool
}

// New makes an allocator for all devices of a driver.
func New(driver spec.Driver, o Options) (*Allocator, error) {
	if o.Geometry == (spec.Geometry{}) {
		o.Geometry = spec.DefaultGeometry()
	}
	if err := o.Geometry.Validate(); err != nil {
		return nil, err
	}
	if driver == nil {
		return nil, &spec.InvalidArgumentError{Op: "new allocator", Reason: "there is no driver"}
	}
	if driver.DeviceCount() < 1 {
		const reason = "the driver has no device"
		return nil, &spec.InvalidArgumentError{Op: "new allocator", Reason: reason}
	}
	cfg, err := o.config()
	if err != nil {
		return nil, err
	}
	a := &Allocator{
		driver: driver, geometry: o.Geometry, rules: o.Rules,
		eventPools: make([]eventPool, driver.DeviceCount()),
		threads:    newThreadMetadata(),
	}
	a.annotations.resize(1)
	a.enabled.Store(!o.Uncached)
	for id := range driver.DeviceCount() {
		d, err := newDevice(a, spec.Device(id), cfg)
		if err != nil {
			return nil, err
		}
		a.devices = append(a.devices, d)
	}
	if len(a.devices) == 1 {
		a.only = a.devices[0]
	}
	return a, nil
}

func (o *Options) config() (spec.Config, error) {
	if o.Config != nil {
		return *o.Config, nil
	}
	return o.Rules.Settings.Parse(o.Settings, o.Geometry)
}

// device finds a device by its number.
func (a *Allocator) device(op string, dev spec.Device) (*device, error) {
	if dev < 0 || int(dev) >= len(a.devices) {
		return nil, a.noDevice(op, dev)
	}
	return a.devices[dev], nil
}

func (a *Allocator) noDevice(op string, dev spec.Device) error {
	reason := fmt.Sprintf("there is no device %d, the number of devices is %d", dev, len(a.devices))
	return &spec.InvalidArgumentError{Op: op, Reason: reason}
}

// deviceOf is the device whose allocator is to free, or look up, the pointer. It is nil if
// no device has the pointer allocated. If there is one device, it is that one without a look
// at its table, unless the memory was allocated uncached: the device looks the pointer up anyway.
func (a *Allocator) deviceOf(p spec.Ptr) *device {
	if len(a.devices) == 1 {
		if a.uncached.used.Load() && a.uncached.has(p) {
			return nil
		}
		return a.devices[0]
	}
	for _, d := range a.devices {
		if d.hasAllocated(p) {
			return d
		}
	}
	return nil
}

// Malloc allocates memory; see spec.Allocator and malloc.go.
func (a *Allocator) Malloc(r spec.Request) (spec.Ptr, error) {
	if r.Device < 0 || int(r.Device) >= len(a.devices) {
		return 0, a.noDevice("malloc", r.Device)
	}
	if r.Bytes == 0 {
		return 0, nil
	}
	if r.Bytes >= a.geometry.MaxRequest {
		return 0, &spec.OutOfMemoryError{Device: r.Device, Requested: r.Bytes}
	}
	d := a.devices[r.Device]
	if !a.enabled.Load() {
		return a.uncached.malloc(d, r.Bytes)
	}
	return d.malloc(r)
}

// Free frees memory; see spec.Allocator and free.go.
func (a *Allocator) Free(p spec.Ptr) error {
	if p == 0 {
		return nil
	}
	if d := a.only; d != nil && !a.uncached.used.Load() {
		return d.free(p)
	}
	if d := a.deviceOf(p); d != nil {
		return d.free(p)
	}
	if a.uncached.has(p) {
		return a.uncached.free(p)
	}
	return &spec.InvalidPointerError{Op: "free", Ptr: p}
}

// Free frees memory for the caller.
func (a callerView) Free(p spec.Ptr) error {
	if d := a.deviceOf(p); p != 0 && d != nil {
		return d.freeForCaller(p, a.caller)
	}
	return a.Allocator.Free(p)
}

// RecordStream records a use of a block on another stream; see spec.Allocator. For
// memory that was allocated uncached nothing is recorded: the driver's free waits for
// the device.
func (a *Allocator) RecordStream(p spec.Ptr, dev spec.Device, s spec.Stream) error {
	return a.noCaller().RecordStream(p, dev, s)
}

// RecordStream is Allocator.RecordStream for the caller.
func (a callerView) RecordStream(p spec.Ptr, dev spec.Device, s spec.Stream) error {
	if _, err := a.device("record_stream", dev); err != nil {
		return err
	}
	if p == 0 {
		return nil
	}
	if d := a.deviceOf(p); d != nil {
		return d.recordStream(a.operation(d, nil), p, dev, s)
	}
	if a.uncached.has(p) {
		return nil
	}
	return &spec.InvalidPointerError{Op: "record_stream", Ptr: p}
}

// RawAlloc allocates memory on a device's default stream (upstream: raw_alloc).
func (a *Allocator) RawAlloc(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	return a.RawAllocWithStream(dev, bytes, 0)
}

// RawAllocWithStream allocates memory on a stream. Upstream takes the current device;
// here the device is named.
func (a *Allocator) RawAllocWithStream(
	dev spec.Device, bytes uint64, stream spec.Stream,
) (spec.Ptr, error) {
	return a.Malloc(spec.Request{Device: dev, Stream: stream, Bytes: bytes})
}

// RawDelete frees memory.
func (a *Allocator) RawDelete(p spec.Ptr) error { return a.Free(p) }

// RawDelete frees memory for the caller.
func (a callerView) RawDelete(p spec.Ptr) error { return a.Free(p) }

// EmptyCache returns to the driver the cached memory that can be returned, on every
// device. After a failure on one device the others are still emptied.
func (a *Allocator) EmptyCache() error { return a.noCaller().EmptyCache() }

// EmptyCache is Allocator.EmptyCache for the caller.
func (a callerView) EmptyCache() error {
	return a.onEachDeviceWithContext((*device).releaseCachedBlocksLocked)
}

// Close returns to the driver everything that can be returned, address ranges without
// memory and unused events included. Allocated memory stays allocated.
func (a *Allocator) Close() error {
	failures := a.EmptyCache()
	failures = errors.Join(failures, a.onEachDevice(func(d *device) error {
		return d.releaseUnmappedSegmentsLocked(nil)
	}))
	for i := range a.eventPools {
		failures = errors.Join(failures, a.eventPools[i].destroy(a.driver))
	}
	return failures
}

// Enable turns caching on or off for later allocations.
func (a *Allocator) Enable(on bool) { a.enabled.Store(on) }

// Enabled reports whether caching is on.
func (a *Allocator) Enabled() bool { return a.enabled.Load() }
