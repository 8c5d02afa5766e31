package alloc

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
)

// A pool is a private pool (upstream: PrivatePool) or the default pool (upstream: two
// BlockPools without an owner). It has two block pools: small requests (up to
// Geometry.SmallSize) and large ones are kept apart, so that small blocks do not split the
// large segments. The default pool serves every request that is not routed to a private pool.
//
// Private pools keep the memory of some requests apart: memory that a graph was
// captured with must not be allocated to others while the graph can be launched. A
// private pool is live while its use count is positive. After that it is freeable, and is
// erased when nothing refers to it (canEraseLocked).
//
// The cached memory of a freeable pool is returned by EmptyCache, by Close, by EmptyPool, and by a
// malloc before its last attempt at the driver, unless a capture may be underway
// (releaseCachedBlocksLocked, release.go). ReleasePool only lowers the use count. A live pool returns
// memory only for a request to itself, under max_split_size_mb (releaseAvailableCachedBlocksLocked), and
// only if nothing in it was captured.
type pool struct {
	id          spec.PoolID
	smallBlocks blockPool
	largeBlocks blockPool

	// The rest is for private pools only.

	useCount        int             // 0: the pool is freeable
	cudaMallocCount int             // upstream's cudaMalloc_count; see mapping.go for what it counts
	pins            int             // requests for the pool that have released the device's mutex
	captured        bool            // memory was requested on a stream that the driver said was captured
	useOnOOM        bool            // serves requests for the default pool as a last resort
	noSplit         bool            // no malloc splits a block
	allocator       spec.PoolMemory // used instead of the driver, if not nil (upstream: allocator_)
}

func newPool(id spec.PoolID) *pool {
	p := &pool{id: id}
	p.smallBlocks = blockPool{owner: p, kind: spec.SmallPool}
	p.largeBlocks = blockPool{owner: p, kind: spec.LargePool}
	return p
}

// hasSegments reports whether the pool has a segment: each is tied to the lists of its stream.
func (p *pool) hasSegments() bool {
	return len(p.smallBlocks.blocks.lists) > 0 || len(p.largeBlocks.blocks.lists) > 0
}

// blockPoolFor is the block pool for a rounded size in bytes.
func (p *pool) blockPoolFor(size uint64, g *spec.Geometry) *blockPool {
	if g.PoolKind(size) == spec.SmallPool {
		return &p.smallBlocks
	}
	return &p.largeBlocks
}

// A blockPool is the free blocks of a pool for small, or for large, requests (upstream:
// BlockPool).
type blockPool struct {
	owner  *pool // never nil (upstream's owner_PrivatePool is, for the default pool)
	kind   spec.PoolKind
	blocks blocksByStream

	// getFreeBlocksCallCount counts the searches (getFreeBlockLocked) while garbage
	// collection is on. The age of a free block is the number since it was put into the
	// free blocks: a remainder starts at 0 again.
	getFreeBlocksCallCount uint64
}

// insertFree puts a free, mapped block into the free blocks (upstream:
// insert_into_blocks).
func (p *blockPool) insertFree(b *block) {
	p.startAge(b)
	b.segment.lists.free.insert(b)
}

// startAge sets the age of a block to 0.
func (p *blockPool) startAge(b *block) {
	if p.getFreeBlocksCallCount > 0 {
		b.writeRare().gcCountBase = p.getFreeBlocksCallCount
	}
}

// gcAge is the age of a free block, in searches.
func (p *blockPool) gcAge(b *block) uint64 {
	return p.getFreeBlocksCallCount - b.readRare().gcCountBase
}

// largestBlock is the size in bytes of the largest free block.
func (p *blockPool) largestBlock() uint64 {
	largest := uint64(0)
	for b := range p.blocks.allFree() {
		largest = max(largest, b.size)
	}
	return largest
}

// privatePools are the private pools of a device, live and freeable, in the order in
// which upstream iterates over its hash table of them. The order decides which pool
// serves, or is released, first.
type privatePools []*pool

// orderKey is upstream's hash of a pool id, which decides the order.
func orderKey(id spec.PoolID) uint64 {
	n := id.Capture
	if n == 0 {
		n = id.User
	}
	return n * golden
}

func (l privatePools) find(id spec.PoolID) *pool {
	if at, found := l.search(id); found {
		return l[at]
	}
	return nil
}

func (l *privatePools) insert(p *pool) {
	at, _ := l.search(p.id)
	*l = slices.Insert(*l, at, p)
}

func (l *privatePools) remove(p *pool) {
	if at, found := l.search(p.id); found {
		*l = slices.Delete(*l, at, at+1)
	}
}

// search is the index of a pool, or where it would be.
func (l privatePools) search(id spec.PoolID) (int, bool) {
	return slices.BinarySearchFunc(l, id, func(q *pool, id spec.PoolID) int {
		return cmp.Or(cmp.Compare(orderKey(q.id), orderKey(id)), compareIDs(q.id, id))
	})
}

// byID lists the pools in order of their ids.
func (l privatePools) byID() []*pool {
	return slices.SortedFunc(slices.Values(l), func(p, q *pool) int { return compareIDs(p.id, q.id) })
}

func compareIDs(a, b spec.PoolID) int {
	return cmp.Or(cmp.Compare(a.Capture, b.Capture), cmp.Compare(a.User, b.User))
}

// freeBytes is the size in bytes of all free, mapped blocks of private pools.
func (l privatePools) freeBytes() (bytes uint64) {
	for _, p := range l {
		for _, bp := range [...]*blockPool{&p.smallBlocks, &p.largeBlocks} {
			for b := range bp.blocks.allFree() {
				bytes += b.size
			}
		}
	}
	return bytes
}

// createOrIncrefPoolLocked makes a pool, or raises the use count of a live one.
func (d *device) createOrIncrefPoolLocked(
	op string, id spec.PoolID, o spec.PoolOptions,
) (*pool, error) {
	if id.IsDefault() {
		return nil, &spec.InvalidArgumentError{Op: op, Reason: "the id is that of the default pool"}
	}
	p := d.graphPools.find(id)
	if p == nil {
		p = newPool(id)
		p.allocator, p.useOnOOM, p.noSplit = o.Memory, o.UseOnOOM, o.NoSplit
		p.useCount = 1
		d.graphPools.insert(p)
		return p, nil
	}
	if p.useCount == 0 {
		return nil, alreadyReleased(op, id)
	}
	if o.Memory != nil {
		reason := "pool " + id.String() + " exists, and cannot be given other memory"
		return nil, &spec.InvalidStateError{Op: op, Reason: reason}
	}
	p.useOnOOM = p.useOnOOM || o.UseOnOOM
	p.noSplit = p.noSplit || o.NoSplit
	p.useCount++
	return p, nil
}

// findPoolLocked finds a private pool, live or freeable.
func (d *device) findPoolLocked(op string, id spec.PoolID) (*pool, error) {
	if p := d.graphPools.find(id); p != nil {
		return p, nil
	}
	return nil, &spec.InvalidStateError{Op: op, Reason: "there is no pool " + id.String()}
}

// livePoolLocked finds a live private pool.
func (d *device) livePoolLocked(op string, id spec.PoolID) (*pool, error) {
	p, err := d.findPoolLocked(op, id)
	if err != nil {
		return nil, err
	}
	if p.useCount == 0 {
		return nil, alreadyReleased(op, id)
	}
	return p, nil
}

func alreadyReleased(op string, id spec.PoolID) error {
	reason := "pool " + id.String() + " was released and waits to be freed"
	return &spec.InvalidStateError{Op: op, Reason: reason}
}

// segmentsOfLocked lists the segments of a pool by address (upstream:
// get_private_pool_head_blocks).
func (d *device) segmentsOfLocked(p *pool) []*segment {
	var segments []*segment
	for _, s := range d.segments {
		if s.blockPool.owner == p {
			segments = append(segments, s)
		}
	}
	return segments
}

// releaseFreeablePoolsLocked returns to the driver what it can of every freeable pool.
func (d *device) releaseFreeablePoolsLocked() error {
	for _, p := range slices.Clone(d.graphPools) {
		if p.useCount == 0 {
			if err := d.releaseFreeablePoolLocked(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// releaseFreeablePoolLocked returns to the driver what it can of a freeable pool, that of the
// small block pool first. It erases the pool if nothing refers to it any more.
func (d *device) releaseFreeablePoolLocked(p *pool) error {
	if err := d.releaseBlocksLocked(&p.smallBlocks); err != nil {
		return err
	}
	if err := d.releaseBlocksLocked(&p.largeBlocks); err != nil {
		return err
	}
	if err := d.releaseUnmappedSegmentsLocked(p); err != nil {
		return err
	}
	if d.canEraseLocked(p) {
		d.graphPools.remove(p)
	}
	return nil
}

// canEraseLocked reports whether nothing refers to a pool. Upstream tests cudaMalloc_count
// alone, which with expandable segments (in pools since pytorch/pytorch#128068) can be 0 while
// blocks of the pool are allocated (deviation pools/erased-with-memory).
func (d *device) canEraseLocked(p *pool) bool {
	return p.cudaMallocCount <= 0 && p.pins == 0 && !p.hasSegments() && d.routingToLocked(p.id) < 0
}

// emptyPoolLocked is releaseFreeablePoolLocked for a pool that is found by its id, if it is
// freeable. It first waits for the events of the pool's blocks. While there may be a capture
// (mayCaptureLocked) that is an error. (Upstream fails an assertion, in a destructor:
// pytorch/pytorch#146431.)
func (d *device) emptyPoolLocked(id spec.PoolID) error {
	p := d.graphPools.find(id)
	if p == nil || p.useCount > 0 || d.driver.FreeForbidden() {
		return nil
	}
	switch capturing, err := d.mayCaptureLocked(); {
	case err != nil:
		return err
	case capturing:
		const reason = "events cannot be waited for while requests are routed or the stream is captured"
		return &spec.InvalidStateError{Op: "empty_pool", Reason: reason}
	}
	if err := d.synchronizeAndFreeEventsLocked(p); err != nil {
		return err
	}
	return d.releaseFreeablePoolLocked(p)
}

// tryMempoolFallbackLocked searches the pools marked useOnOOM, for a request for the
// default pool. They are searched, and their blocks split, as if expandable segments
// were off.
func (d *device) tryMempoolFallbackLocked(params *allocParams) *block {
	if !params.blockPool.owner.id.IsDefault() {
		return nil
	}
	useExpandable := params.useExpandable && d.rules.UseOnOOMExpandable
	for _, p := range d.graphPools {
		if !p.useOnOOM || p.useCount == 0 {
			continue
		}
		blockPool := p.blockPoolFor(params.size, &d.geometry)
		if b := d.getFreeBlockLocked(blockPool, params.stream, params.size, useExpandable); b != nil {
			params.blockPool, params.useExpandable = blockPool, useExpandable
			return b
		}
	}
	return nil
}

// CreatePool makes a private pool, or raises the use count of a live one; see
// spec.PrivatePools.
func (a *Allocator) CreatePool(dev spec.Device, id spec.PoolID, o spec.PoolOptions) error {
	return a.onDevice("create_pool", dev, func(d *device) error {
		_, err := d.createOrIncrefPoolLocked("create_pool", id, o)
		return err
	})
}

// onPool calls do for a private pool, live or freeable, with the device's mutex held.
func (a *Allocator) onPool(op string, dev spec.Device, id spec.PoolID, do func(*pool) error) error {
	return a.onDevice(op, dev, func(d *device) error {
		p, err := d.findPoolLocked(op, id)
		if err != nil {
			return err
		}
		return do(p)
	})
}

// ReleasePool lowers the use count of a private pool.
func (a *Allocator) ReleasePool(dev spec.Device, id spec.PoolID) error {
	const op = "release_pool"
	return a.onPool(op, dev, id, func(p *pool) error {
		if p.useCount == 0 {
			reason := "pool " + id.String() + " has already been released"
			return &spec.InvalidStateError{Op: op, Reason: reason}
		}
		p.useCount--
		return nil
	})
}

// PoolUseCount returns the use count of a private pool.
func (a *Allocator) PoolUseCount(dev spec.Device, id spec.PoolID) (count int, err error) {
	err = a.onPool("pool_use_count", dev, id, func(p *pool) error {
		count = p.useCount
		return nil
	})
	return count, err
}

// SetUseOnOOM marks a private pool as a last resort for requests for the default pool,
// or removes the mark.
func (a *Allocator) SetUseOnOOM(dev spec.Device, id spec.PoolID, on bool) error {
	return a.onPool("set_use_on_oom", dev, id, func(p *pool) error {
		p.useOnOOM = on
		return nil
	})
}

// SetNoSplit marks a private pool whose blocks are allocated whole.
func (a *Allocator) SetNoSplit(dev spec.Device, id spec.PoolID) error {
	return a.onPool("set_no_split", dev, id, func(p *pool) error {
		p.noSplit = true
		return nil
	})
}

// EmptyPool returns to the driver what can be returned of one freeable pool, on every
// device.
func (a *Allocator) EmptyPool(id spec.PoolID) error { return a.noCaller().EmptyPool(id) }

// EmptyPool is Allocator.EmptyPool for the caller.
func (a callerView) EmptyPool(id spec.PoolID) error {
	return a.onEachDeviceWithContext(func(d *device) error { return d.emptyPoolLocked(id) })
}
