package arena

import (
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// AsSeed uses the cache as it was found, as well as that can be done: it asks the cache
// first and then the driver, and returns the pieces of which nothing is out when the
// cache is emptied. Of what the cache does not refuse it refuses nothing.
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
		i, err = u.obtain(d, r, func(ptr spec.Ptr, bytes uint64) int {
			return d.cache.CacheInsert(r.Bytes, bytes, ptr, r.Stream)
		})
		if err != nil {
			return 0, err
		}
	}
	defer d.recount()
	return d.give(r, i), nil
}

// Free implements spec.Allocator.
func (u *AsSeed) Free(p spec.Ptr) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, d := range u.devices {
		if i, out := d.out[p]; out {
			delete(d.out, p)
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
		if i, out := d.out[p]; out {
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
		if err := u.returnUnused(spec.Device(dev), d); err != nil {
			return err
		}
		d.recount()
	}
	return nil
}

// returnUnused returns the pieces of which nothing is out.
func (u *AsSeed) returnUnused(dev spec.Device, d *deviceUser[*Seed]) error {
	var kept []spec.Range
	var failed error
	for _, piece := range d.pieces {
		if failed == nil && !d.inUse(piece) {
			blocks := d.blocksOf(piece)
			if failed = u.driver.Free(dev, piece.Ptr); failed == nil {
				d.stats.NumDeviceFree++
				for _, i := range blocks {
					d.gone[i] = true
				}
				continue
			}
		}
		kept = append(kept, piece)
	}
	d.pieces = kept
	return failed
}

func (d *deviceUser[C]) inUse(piece spec.Range) bool {
	for _, p := range d.pointers() {
		if piece.Ptr <= p && p < piece.End() {
			return true
		}
	}
	return false
}
