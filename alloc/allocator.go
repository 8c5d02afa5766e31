package alloc

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

// An Allocator is the front that a program talks to: it knows the devices, and
// which pointer belongs to which. It implements spec.Allocator and the abilities
// listed below; all methods may be called from several goroutines at once.
type Allocator struct {
	driver     spec.Driver
	geometry   spec.Geometry
	devices    []*device
	eventPools []eventPool // by device
	notes      *threadNotes
	uncached   uncached
	opened     openedHandles
	enabled    atomic.Bool

	configuring sync.Mutex // one Configure at a time

	mu          sync.Mutex
	history     spec.HistoryOptions
	annotations ring[spec.Annotation]
}

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
	spec.Inspector
	spec.PrivatePools
	spec.Checkpointer
	spec.ExpandableSegments
	spec.PeerAllocator
	spec.SharedMemory
} = (*Allocator)(nil)

// Options says how an allocator is to be made.
type Options struct {
	// Geometry is the sizes to work with; upstream's if it is the zero value.
	Geometry spec.Geometry
	// Settings is what PYTORCH_ALLOC_CONF would hold.
	Settings string
	// Config, if given, is used instead of Settings; a model device has settings
	// that no string can express.
	Config *spec.Config
	// Uncached makes every allocation go to the driver and back, as
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
		return nil, &spec.InvalidArgumentError{Op: "new allocator", Reason: "the driver has no device"}
	}
	cfg, err := o.config()
	if err != nil {
		return nil, err
	}
	a := &Allocator{
		driver: driver, geometry: o.Geometry,
		eventPools: make([]eventPool, driver.DeviceCount()),
		notes:      newThreadNotes(),
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
	return a, nil
}

func (o *Options) config() (spec.Config, error) {
	if o.Config != nil {
		return *o.Config, nil
	}
	return settings.Parse(o.Settings, o.Geometry)
}

// device finds a device by its number.
func (a *Allocator) device(op string, dev spec.Device) (*device, error) {
	if dev < 0 || int(dev) >= len(a.devices) {
		return nil, &spec.InvalidArgumentError{Op: op, Reason: fmt.Sprintf("there is no device %d, only %d of them", dev, len(a.devices))}
	}
	return a.devices[dev], nil
}

// owner is the device that has given a pointer out, or nil. With a single device,
// which has given out all that there is, nothing needs to be found out: the device
// looks for itself.
func (a *Allocator) owner(p spec.Ptr) *device {
	if len(a.devices) == 1 && !a.uncached.used.Load() {
		return a.devices[0]
	}
	for _, d := range a.devices {
		if d.table.has(p) {
			return d
		}
	}
	return nil
}

// Malloc gives out memory; see spec.Allocator and malloc.go.
func (a *Allocator) Malloc(r spec.Request) (spec.Ptr, error) {
	d, err := a.device("malloc", r.Device)
	if err != nil {
		return 0, err
	}
	if r.Bytes == 0 {
		return 0, nil
	}
	if r.Bytes >= a.geometry.MaxRequest {
		return 0, &spec.OutOfMemoryError{Device: r.Device, Requested: r.Bytes}
	}
	if !a.enabled.Load() {
		return a.uncached.malloc(d, r.Bytes)
	}
	return d.malloc(r)
}

// Free takes memory back; see spec.Allocator and free.go.
func (a *Allocator) Free(p spec.Ptr) error {
	if p == 0 {
		return nil
	}
	if d := a.owner(p); d != nil {
		return d.free(p)
	}
	if a.uncached.has(p) {
		return a.uncached.free(p)
	}
	return &spec.InvalidPointerError{Op: "free", Ptr: p}
}

// RecordStream notes a use on another stream; see spec.Allocator. Memory that was
// given out uncached needs no note: the driver's free waits for the device.
func (a *Allocator) RecordStream(p spec.Ptr, dev spec.Device, s spec.Stream) error {
	if _, err := a.device("record_stream", dev); err != nil {
		return err
	}
	if p == 0 {
		return nil
	}
	if d := a.owner(p); d != nil {
		return d.recordStream(p, dev, s)
	}
	if a.uncached.has(p) {
		return nil
	}
	return &spec.InvalidPointerError{Op: "record_stream", Ptr: p}
}

// EmptyCache gives back what is cached and can go, on every device. A device
// whose driver refuses does not keep the others from it.
func (a *Allocator) EmptyCache() error {
	return a.onEachDevice((*device).releaseCached)
}

// onEachDevice does something with each device's lock held, whether or not it
// failed on the ones before.
func (a *Allocator) onEachDevice(do func(d *device, context any) error) (failures error) {
	for _, d := range a.devices {
		context := d.diary.gather(spec.ContextAll)
		d.mu.Lock()
		failures = errors.Join(failures, do(d, context))
		d.mu.Unlock()
	}
	return failures
}

// Close gives back all that can go, address ranges without memory and the driver
// events kept for reuse included. Memory that is out stays out.
func (a *Allocator) Close() error {
	failures := a.EmptyCache()
	for _, d := range a.devices {
		d.mu.Lock()
		failures = errors.Join(failures, d.dropUnmappedSegments(nil))
		d.mu.Unlock()
	}
	for i := range a.eventPools {
		failures = errors.Join(failures, a.eventPools[i].destroy(a.driver))
	}
	return failures
}

// Enable turns caching on or off for allocations to come.
func (a *Allocator) Enable(on bool) { a.enabled.Store(on) }

// Enabled reports whether caching is on.
func (a *Allocator) Enabled() bool { return a.enabled.Load() }
