package alloc

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
)

// Private pools keep the memory of some requests apart: what a graph was captured
// with must not be given to anyone else while the graph can be launched. A pool
// lives while its use count is positive; after that it is freeable, and goes when
// it holds no memory of the driver.

// privatePools are the pools of a device beside the default one. Where upstream
// walks them in the order of its hash table, so does this list: that order can be
// seen in which pool serves, or is released, first.
type privatePools []*pool

// hashOrder is where upstream's hash table has a pool.
func hashOrder(id spec.PoolID) uint64 {
	n := id.Capture
	if n == 0 {
		n = id.User
	}
	return n * 11400714819323198485
}

func (l privatePools) find(id spec.PoolID) *pool {
	for _, p := range l {
		if p.id == id {
			return p
		}
	}
	return nil
}

func (l *privatePools) insert(p *pool) {
	at, _ := slices.BinarySearchFunc(*l, p.id, compareHashOrder)
	*l = slices.Insert(*l, at, p)
}

// compareHashOrder puts two pools whose places are equal by their ids.
func compareHashOrder(p *pool, id spec.PoolID) int {
	return cmp.Or(
		cmp.Compare(hashOrder(p.id), hashOrder(id)),
		cmp.Compare(p.id.Capture, id.Capture),
		cmp.Compare(p.id.User, id.User))
}

// byID lists the pools in order of their ids.
func (l privatePools) byID() []*pool {
	return slices.SortedFunc(slices.Values(l), func(p, q *pool) int {
		return cmp.Or(cmp.Compare(p.id.Capture, q.id.Capture), cmp.Compare(p.id.User, q.id.User))
	})
}

// freeBytes is how much is free in all private pools: of no use to other requests.
func (l privatePools) freeBytes() (bytes uint64) {
	for _, p := range l {
		for _, half := range [...]*blockPool{&p.small, &p.large} {
			for b := range half.free.all() {
				bytes += b.size
			}
		}
	}
	return bytes
}

// createPool makes a pool, or raises the use count of one that is live.
func (d *device) createPool(op string, id spec.PoolID, o spec.PoolOptions) (*pool, error) {
	if id.IsDefault() {
		return nil, &spec.InvalidArgumentError{Op: op, Reason: "the id is that of the default pool"}
	}
	p := d.private.find(id)
	if p == nil {
		p = newPool(id)
		p.memory, p.useOnOOM, p.noSplit = o.Memory, o.UseOnOOM, o.NoSplit
		p.useCount = 1
		d.private.insert(p)
		return p, nil
	}
	if p.useCount == 0 {
		return nil, alreadyReleased(op, id)
	}
	if o.Memory != nil {
		return nil, &spec.InvalidStateError{Op: op, Reason: "pool " + id.String() + " exists, and cannot be given other memory"}
	}
	p.useOnOOM = p.useOnOOM || o.UseOnOOM
	p.noSplit = p.noSplit || o.NoSplit
	p.useCount++
	return p, nil
}

// livePool finds a pool by its id.
func (d *device) livePool(op string, id spec.PoolID) (*pool, error) {
	if p := d.private.find(id); p != nil {
		return p, nil
	}
	return nil, &spec.InvalidStateError{Op: op, Reason: "there is no pool " + id.String()}
}

// alreadyReleased says that a pool is there, but nobody's any more.
func alreadyReleased(op string, id spec.PoolID) error {
	return &spec.InvalidStateError{Op: op, Reason: "pool " + id.String() + " was released and waits to be freed"}
}

// releasePool lowers the use count.
func (d *device) releasePool(id spec.PoolID) error {
	p, err := d.livePool("release_pool", id)
	if err != nil {
		return err
	}
	if p.useCount == 0 {
		return &spec.InvalidStateError{Op: "release_pool", Reason: "pool " + id.String() + " has already been released"}
	}
	p.useCount--
	return nil
}

// releaseFreeable returns what it can of every pool that nobody uses any more.
func (d *device) releaseFreeable(context any) error {
	for _, p := range slices.Clone(d.private) {
		if p.useCount == 0 {
			if err := d.emptyFreeable(p, context); err != nil {
				return err
			}
		}
	}
	return nil
}

// emptyFreeable returns what it can of one such pool, the small half first, and
// forgets the pool if it then holds no memory.
func (d *device) emptyFreeable(p *pool, context any) error {
	if err := d.releaseBlocks(&p.small, context); err != nil {
		return err
	}
	if err := d.releaseBlocks(&p.large, context); err != nil {
		return err
	}
	if err := d.dropUnmappedSegments(p); err != nil {
		return err
	}
	if d.forgettable(p) {
		d.private = slices.DeleteFunc(d.private, func(q *pool) bool { return q == p })
	}
	return nil
}

// forgettable reports whether nothing refers to a pool any more. Upstream trusts
// the count of driver segments alone, which expandable segments can bring to zero
// while blocks of the pool are still out; see docs/deviations.md.
func (d *device) forgettable(p *pool) bool {
	if p.driverSegments > 0 || p.pins > 0 || d.redirectionTo(p.id) >= 0 {
		return false
	}
	return !slices.ContainsFunc(d.segments, func(s *segment) bool { return s.head.pool.owner == p })
}

// emptyPool is emptyFreeable for the pool of that id, if it is freeable, after
// waiting for the events of its blocks.
func (d *device) emptyPool(id spec.PoolID, context any) error {
	p := d.private.find(id)
	if p == nil || p.useCount > 0 || d.driver.FreeForbidden() {
		return nil
	}
	if d.redirecting() {
		return &spec.InvalidStateError{Op: "empty_pool", Reason: "requests are being redirected, so events cannot be waited for"}
	}
	if err := d.waitForEvents(p, context); err != nil {
		return err
	}
	return d.emptyFreeable(p, context)
}

// takeFromOverflowPool searches the pools kept for the case that the driver has no
// memory, for a request for the default pool. Such pools are searched, and their
// blocks split, as if expandable segments were off.
func (d *device) takeFromOverflowPool(w *want) *block {
	if !w.pool.owner.id.IsDefault() {
		return nil
	}
	for _, p := range d.private {
		if !p.useOnOOM || p.useCount == 0 {
			continue
		}
		overflow := *w
		overflow.pool = p.half(w.size, &d.geometry)
		overflow.expandable = false
		if b := d.takeBestFit(&overflow); b != nil {
			*w = overflow
			return b
		}
	}
	return nil
}

// The program's side (spec.PrivatePools).

// CreatePool makes a pool, or raises its use count.
func (a *Allocator) CreatePool(dev spec.Device, id spec.PoolID, o spec.PoolOptions) error {
	return a.onDevice("create_pool", dev, func(d *device) error {
		_, err := d.createPool("create_pool", id, o)
		return err
	})
}

// ReleasePool lowers the use count.
func (a *Allocator) ReleasePool(dev spec.Device, id spec.PoolID) error {
	return a.onDevice("release_pool", dev, func(d *device) error { return d.releasePool(id) })
}

// PoolUseCount is the use count.
func (a *Allocator) PoolUseCount(dev spec.Device, id spec.PoolID) (count int, err error) {
	err = a.onDevice("pool_use_count", dev, func(d *device) error {
		p, err := d.livePool("pool_use_count", id)
		if err == nil {
			count = p.useCount
		}
		return err
	})
	return count, err
}

// SetUseOnOOM marks a pool as a last resort, or takes the mark away.
func (a *Allocator) SetUseOnOOM(dev spec.Device, id spec.PoolID, on bool) error {
	return a.onDevice("set_use_on_oom", dev, func(d *device) error {
		p, err := d.livePool("set_use_on_oom", id)
		if err == nil {
			p.useOnOOM = on
		}
		return err
	})
}

// SetNoSplit marks a pool whose blocks are given out whole.
func (a *Allocator) SetNoSplit(dev spec.Device, id spec.PoolID) error {
	return a.onDevice("set_no_split", dev, func(d *device) error {
		p, err := d.livePool("set_no_split", id)
		if err == nil {
			p.noSplit = true
		}
		return err
	})
}

// EmptyPool returns what one freeable pool can return, on every device.
func (a *Allocator) EmptyPool(id spec.PoolID) error {
	return a.onEachDevice(func(d *device, context any) error { return d.emptyPool(id, context) })
}

// onDevice does something with a device's lock held.
func (a *Allocator) onDevice(op string, dev spec.Device, do func(*device) error) error {
	d, err := a.device(op, dev)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return do(d)
}
