package alloc

import (
	"fmt"
	"sync"

	"gaugeblock/spec"
)

// A device is the allocator of one GPU. Everything below mu is guarded by it; the
// methods that need it held are all those whose names begin with a small letter,
// except where they say that they take it.
type device struct {
	id          spec.Device
	driver      spec.Driver
	geometry    spec.Geometry
	eventPools  []eventPool // of all devices
	totalMemory uint64      // bytes

	table      pointerTable // blocks that are out; may also be asked without the lock
	unreleased unreleasedPages

	mu       sync.Mutex
	cfg      spec.Config
	stats    spec.DeviceStats
	pool     *pool // the default pool
	private  privatePools
	segments segmentList
	pending  pendingEvents // what holds freed blocks back
	deferred deferredFrees // freed blocks whose streams were being captured
	growing  []*expandable // expandable segments, in the order in which they were made
	peers    []spec.Device // who may use the memory of this device, beside itself
	reach    captureReach  // what captures have shown to be behind their streams

	// redirections divert requests to private pools, the last begun first.
	redirections []redirection

	// shareType is how pages can be shared, nil until the first was created.
	shareType *spec.ShareType

	diary diary
	spare *block // structs to use again, linked by next

	limited bool   // there is a limit on what may be held from the driver
	limit   uint64 // bytes

	needMemory  []func() bool
	outOfMemory []func(spec.OutOfMemoryReport)
}

// newDevice reads what it must know from the driver.
func newDevice(a *Allocator, id spec.Device, cfg spec.Config) (*device, error) {
	properties, err := a.driver.Properties(id)
	if err != nil {
		return nil, fmt.Errorf("device %d: %w", id, err)
	}
	d := &device{
		id: id, driver: a.driver, geometry: a.geometry, eventPools: a.eventPools,
		totalMemory: properties.TotalMemory,
		cfg:         cfg,
		pool:        newPool(spec.DefaultPool),
	}
	d.diary.device, d.diary.notes = d, a.notes
	d.diary.ring.resize(1)
	d.stats.MaxSplitSize = int64(cfg.MaxSplitSize) // Unlimited becomes -1, as upstream prints it
	d.setFraction(cfg.PerProcessMemoryFraction)
	return d, nil
}

// setFraction limits what may be held from the driver; 1 takes the limit away.
func (d *device) setFraction(fraction float64) {
	d.limited = fraction < 1
	d.limit = 0
	if d.limited {
		d.limit = uint64(fraction * float64(d.totalMemory))
	}
}

// collectsGarbage reports whether old cached blocks are returned before new
// memory is obtained.
func (d *device) collectsGarbage() bool {
	return d.limited && d.cfg.GarbageCollectionThreshold > 0
}
