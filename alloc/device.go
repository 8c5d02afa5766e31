package alloc

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// A device is the allocator of one GPU (upstream: DeviceCachingAllocator). mu guards the
// fields below it, with everything that is reached through them: segments, blocks, pools.
// It is also held for every write of allocatedBlocks. The other fields above it are set
// once, or have a mutex of their own.
type device struct {
	id          spec.Device
	driver      spec.Driver
	geometry    spec.Geometry
	rules       upstream.Rules
	eventPools  []eventPool // of all devices
	uncached    *uncached   // of all devices
	totalMemory uint64      // bytes

	allocatedBlocks pointerTable // used with mu held; if there are several devices, also read without it
	unreleasedPages unreleasedPages
	contextRecorder atomic.Pointer[contextRecorder] // read before mu is taken

	turns      sync.Mutex // held by the goroutine whose turn it is to take mu; see lock.go
	mu         sync.Mutex
	operation  operation // under way; nothing is set in it while mu is not held
	cfg        spec.Config
	blockStats blockStats
	stats      spec.DeviceStats // the other statistics
	moreStats  moreStats

	defaultPool *pool
	graphPools  privatePools // live and freeable
	segments    segmentList

	cudaEvents     eventQueues        // outstanding events of the pending blocks
	recordedEvents []spec.EventHandle // see recordEventsLocked
	deferredBlocks deferredBlocks     // freed while there may have been a capture, without events yet

	capturesUnderway  []poolRouting     // the routings of requests (upstream's name), in the order begun
	capturesMarked    int               // captures that the program has marked as under way
	graphReuseContext graphReuseContext // while requests are routed

	expandableSegments    []*segment // in the order in which they were made
	reserveClasses        map[spec.Stream]string
	handleType            *spec.ShareType // of all pages; nil until one was created
	devicesWithPeerAccess []spec.Device

	traceBuffer traceBuffer

	limited              bool   // there is a limit on the reserved memory
	allowedMemoryMaximum uint64 // bytes: the limit

	freeMemoryCallbacks []func() bool
	oomObservers        []func(spec.OutOfMemoryReport)
	rejectionObservers  []func(spec.RejectionReport)

	// How many were made, counted if ties among free blocks are broken by their number.
	blocksMade, segmentsMade uint64

	spareBlocks *block // structs of blocks that no longer exist, linked by next; see spareBlockLocked
}

// newDevice makes the allocator of a device. It queries the size of the device's memory.
func newDevice(a *Allocator, id spec.Device, cfg spec.Config) (*device, error) {
	properties, err := a.driver.Properties(id)
	if err != nil {
		return nil, fmt.Errorf("device %d: %w", id, err)
	}
	d := &device{
		id: id, driver: a.driver, geometry: a.geometry, rules: a.rules, eventPools: a.eventPools, uncached: &a.uncached,
		totalMemory: properties.TotalMemory, cfg: cfg,
		defaultPool: newPool(spec.DefaultPool),
		traceBuffer: traceBuffer{threads: a.threads},
	}
	d.allocatedBlocks.shared = a.driver.DeviceCount() > 1
	d.traceBuffer.allocBuffer.resize(1)
	d.stats.MaxSplitSize = int64(cfg.MaxSplitSize) // Unlimited becomes -1, as upstream prints it
	if f := cfg.PerProcessMemoryFraction; f < 1 {
		d.limited, d.allowedMemoryMaximum = memoryLimit(f, d.totalMemory, &d.rules)
	}
	return d, nil
}

// onDevice calls do with the device's mutex held.
func (a *Allocator) onDevice(op string, dev spec.Device, do func(*device) error) error {
	d, err := a.device(op, dev)
	if err != nil {
		return err
	}
	return d.withMutex(do)
}

// hasAllocated reports whether a block is allocated at p. The table is shared. It takes the
// mutex if the table is changing.
func (d *device) hasAllocated(p spec.Ptr) bool {
	found, certain := d.allocatedBlocks.has(p)
	if certain {
		return found
	}
	d.mu.Lock()
	defer d.unlock()
	return d.allocatedBlocks.findLocked(p) != nil
}

// withMutex calls do with the device's mutex held.
func (d *device) withMutex(do func(*device) error) error {
	d.mu.Lock()
	defer d.unlock()
	return do(d)
}

// onEachDevice calls do for each device with its mutex held, also after a failure.
func (a *Allocator) onEachDevice(do func(*device) error) (failures error) {
	for _, d := range a.devices {
		failures = errors.Join(failures, d.withMutex(do))
	}
	return failures
}

// unlock delivers the trace entries that wait, and releases the mutex. It is deferred: a
// function of the program may panic, or end the goroutine.
func (d *device) unlock() {
	d.operation = operation{}
	if d.traceBuffer.hasUndelivered() {
		d.deliverAndUnlock()
		return
	}
	d.mu.Unlock()
}

func (d *device) deliverAndUnlock() {
	defer d.mu.Unlock()
	d.traceBuffer.deliver()
}

// withoutMutexLocked calls f, which may call the program's functions or the driver, with
// the mutex released. Other callers may then change everything, but the pins keep the pool
// from being erased. It releases the mutex meanwhile.
func (d *device) withoutMutexLocked(p *pool, f func()) {
	d.deliverLocked()
	p.pins++
	present := d.operation
	d.operation = operation{}
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		p.pins--
		d.operation = present
	}()
	f()
}
