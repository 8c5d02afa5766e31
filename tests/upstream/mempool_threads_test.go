package upstream

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec"
)

// Class TestMemPool of test/test_cuda.py: whose requests go to which pool.

// Upstream: threads that make pools at the same time get a pool each.
func TestMemPool_MempoolMultithread(t *testing.T) {
	p := newProgram(t, setup{})
	var threads sync.WaitGroup
	failures := make([]error, 4)
	ids := make([]spec.PoolID, 4)
	for i := range ids {
		ids[i] = p.newPoolID()
		threads.Go(func() { failures[i] = p.allocator.CreatePool(p.device, ids[i], spec.PoolOptions{}) })
	}
	threads.Wait()
	p.must(errors.Join(failures...))
	for _, id := range ids {
		m := &memPool{p: p, id: id}
		m.users(1)
		p.owned.pools = append(p.owned.pools, m)
	}
}

// Upstream: threads empty the cache while each allocates to a pool of its own. The
// pools keep their segments, and so does the default pool, since emptying it would
// wait for events. (Upstream's threads run freely, ours take turns.)
func TestMemPool_MempoolEmptycacheMultithread(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		var pools []*memPool
		for range 4 {
			pools = append(pools, p.newMemPool(spec.PoolOptions{}))
		}
		var nest func(i int)
		nest = func(i int) {
			if i == len(pools) {
				return
			}
			view := p.thread(spec.Thread(i))
			pools[i].use(view, func() {
				view.free(view.empty(mainStream, floats(4)))
				nest(i + 1)
				view.emptyCache()
			})
		}
		p.free(p.empty(mainStream, floats(4)))
		nest(0)
		for _, pool := range pools {
			pool.segmentCount(1)
		}
		if n := len(p.segments(spec.DefaultPool)); n != 1 {
			t.Errorf("the default pool has %d segments", n)
		}
	})
}

// Upstream: pools are used within each other; requests go to the innermost.
func TestMemPool_NestedMempool(t *testing.T) {
	p := newProgram(t, setup{})
	var pools [3]*memPool
	for i := range pools {
		pools[i] = p.newMemPool(spec.PoolOptions{})
	}
	allocate := func() { p.empty(mainStream, 20*spec.MiB) }
	pools[0].use(p, func() {
		allocate()
		pools[1].use(p, func() {
			allocate()
			pools[2].use(p, allocate)
			allocate()
		})
		allocate()
	})
	for i, want := range []int{2, 2, 1} {
		pools[i].segmentCount(want)
	}
}

// Upstream: one thread allocates to a pool, another one allocates meanwhile; only
// the first one's memory is the pool's.
func TestMemPool_MempoolCtxMultithread(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		side := p.thread(1)
		pool := p.newMemPool(spec.PoolOptions{})
		active := map[spec.PoolID]uint64{}
		p.empty(mainStream, spec.MiB)
		pool.use(p, func() {
			p.free(p.empty(mainStream, spec.MiB))
			side.empty(mainStream, spec.MiB)
			for _, g := range p.snapshot().Segments {
				active[g.Pool] += g.ActiveSize
			}
		})
		want := map[spec.PoolID]uint64{spec.DefaultPool: 2 * spec.MiB, pool.id: 0}
		if diff := cmp.Diff(want, active); diff != "" {
			t.Error(diff)
		}
	})
}

// Upstream, later than 2.11: four threads take sizes off a list and allocate them, in
// turn, twice. The addresses are the same both times, in the order of the list.
func TestMemPool_MultiThreadsAllocInSameOrder(t *testing.T) {
	p := newProgram(t, setup{})
	round := func() (addresses []spec.Ptr) {
		var sizes []uint64
		for mib := uint64(8); mib > 0; mib -= 2 {
			sizes = append(sizes, mib*spec.MiB, mib*spec.MiB, mib*spec.MiB, mib*spec.MiB)
		}
		var list sync.Mutex
		var threads sync.WaitGroup
		var failure error
		for id := range spec.Thread(4) {
			threads.Go(func() {
				for {
					list.Lock()
					if len(sizes) == 0 {
						list.Unlock()
						return
					}
					ptr, err := p.allocator.Malloc(spec.Request{Bytes: sizes[0], Thread: id})
					sizes, addresses, failure = sizes[1:], append(addresses, ptr), errors.Join(failure, err)
					list.Unlock()
				}
			})
		}
		threads.Wait()
		p.must(failure)
		for _, ptr := range addresses {
			p.must(p.allocator.Free(ptr))
		}
		return addresses
	}
	if diff := cmp.Diff(round(), round()); diff != "" {
		t.Error(diff)
	}
}
