package alloc

import "gaugeblock/spec"

// A pool is two halves: small requests (up to Geometry.SmallSize) and large ones
// are kept apart, so that small blocks do not break up the large segments. The
// default pool serves every request that nothing diverts.
type pool struct {
	id    spec.PoolID
	small blockPool
	large blockPool

	// What follows concerns private pools only; see privatepool.go.

	useCount       int  // the pool is freeable when it is zero
	driverSegments int  // upstream's cudaMalloc_count: see mapping.go for its oddity
	pins           int  // requests for the pool that have released the lock meanwhile
	captured       bool // a graph knows addresses of the pool
	useOnOOM       bool
	noSplit        bool
	memory         spec.PoolMemory // in the driver's place, or nil
}

func newPool(id spec.PoolID) *pool {
	p := &pool{id: id}
	p.small = newBlockPool(p, spec.SmallPool)
	p.large = newBlockPool(p, spec.LargePool)
	return p
}

// half is the part of the pool that serves a rounded size in bytes.
func (p *pool) half(size uint64, g *spec.Geometry) *blockPool {
	if size <= g.SmallSize {
		return &p.small
	}
	return &p.large
}

// A blockPool is one half of a pool: its free blocks, ordered for best fit.
type blockPool struct {
	owner *pool
	kind  spec.PoolKind // SmallPool or LargePool: which figures its blocks count in
	free  blockSet      // free blocks with memory behind them

	// unmapped has the ranges of expandable segments that have no memory.
	unmapped blockSet

	// requests counts the searches made here while garbage collection is on; the
	// age of a free block is what it has grown by since.
	requests uint64
}

func newBlockPool(owner *pool, kind spec.PoolKind) blockPool {
	return blockPool{owner: owner, kind: kind, free: blockSet{bySize: true}}
}

// listOf is the list that a free block belongs on.
func (p *blockPool) listOf(b *block) *blockSet {
	if b.mapped {
		return &p.free
	}
	return &p.unmapped
}

// keep puts a free block on the free list.
func (p *blockPool) keep(b *block) {
	b.freeSince = p.requests
	p.free.insert(b)
}

// age is how many searches the pool has seen since the block became free.
func (p *blockPool) age(b *block) uint64 { return p.requests - b.freeSince }
