package arena

import (
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// AsSeed uses the cache as it was found, as well as possible: it calls the cache first and
// then the driver, and frees the segments without allocated blocks when the cache is
// emptied. It refuses nothing that the cache does not refuse.
type AsSeed struct{ user[*Seed] }

// NewAsSeed is a replay.Factory.
func NewAsSeed(driver spec.Driver, _ *trace.Header) (spec.Allocator, error) {
	u := &AsSeed{}
	u.begin(driver, NewSeed)
	return u, nil
}

// Malloc implements spec.Allocator.
func (u *AsSeed) Malloc(r spec.Request) (spec.Ptr, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	d, err := u.device("malloc", r.Device)
	if err != nil {
		return 0, err
	}
	i, ok := d.cache.CacheFind(r.Bytes, r.Stream)
	if !ok {
		i, err = u.allocateSegment(d, r, func(ptr spec.Ptr, bytes uint64) int {
			return d.cache.CacheInsert(r.Bytes, bytes, ptr, r.Stream)
		})
		if err != nil {
			return 0, err
		}
	}
	defer d.recount()
	return d.register(r, i), nil
}

// Free implements spec.Allocator.
func (u *AsSeed) Free(p spec.Ptr) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, d := range u.devices {
		if i, isAllocated := d.allocated[p]; isAllocated {
			delete(d.allocated, p)
			d.cache.CacheFree(i)
			d.recount()
		}
	}
	return nil
}

// RecordStream implements spec.Allocator.
func (u *AsSeed) RecordStream(p spec.Ptr, _ spec.Device, s spec.Stream) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, d := range u.devices {
		if i, isAllocated := d.allocated[p]; isAllocated {
			d.cache.RecordStreamOnBlock(i, s)
		}
	}
	return nil
}

// EmptyCache implements spec.Allocator.
func (u *AsSeed) EmptyCache() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for dev, d := range u.devices {
		d.cache.EmptyCache()
		if err := u.freeUnused(spec.Device(dev), d); err != nil {
			return err
		}
		d.recount()
	}
	return nil
}

// freeUnused frees the segments without allocated blocks.
func (u *AsSeed) freeUnused(dev spec.Device, d *deviceUser[*Seed]) error {
	var kept []spec.Range
	var failed error
	for _, segment := range d.segments {
		if failed == nil && !d.hasAllocated(segment) {
			blocks := d.blocksIn(segment)
			if failed = u.driver.Free(dev, segment.Ptr); failed == nil {
				d.stats.NumDeviceFree++
				for _, i := range blocks {
					d.freed[i] = true
				}
				continue
			}
		}
		kept = append(kept, segment)
	}
	d.segments = kept
	return failed
}

func (d *deviceUser[C]) hasAllocated(segment spec.Range) bool {
	for _, p := range d.pointers() {
		if segment.Ptr <= p && p < segment.End() {
			return true
		}
	}
	return false
}
