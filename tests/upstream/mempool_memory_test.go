package upstream

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec"
)

// Class TestMemPool of test/test_cuda.py: where the memory of pools comes from, and
// whom it serves when there is no other.

// Upstream: 80 MiB are allowed, and lie in two pools of 40, one of which is kept for
// the case that there is no other memory. A request for the default pool fails as
// long as both are full; when both are free it gets memory of that one, and of no
// other. Then that pool can be used as before.
func TestMemPool_MempoolLimitedMemoryWithAllocator(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		p.limit(80 * spec.MiB)
		notUsed := p.newMemPool(spec.PoolOptions{Memory: &ownMemory{p: p}})
		used := p.newMemPool(spec.PoolOptions{Memory: &ownMemory{p: p}, UseOnOOM: true})
		var a, b, e tensor
		notUsed.use(p, func() { a = p.empty(mainStream, 40*spec.MiB) })
		used.use(p, func() { b = p.empty(mainStream, 40*spec.MiB) })
		p.outOfMemory(mainStream, 40*spec.MiB)

		p.free(a, b)
		c := p.empty(mainStream, 30*spec.MiB)
		p.outOfMemory(mainStream, 30*spec.MiB)
		p.free(c)
		used.use(p, func() { e = p.empty(mainStream, 20*spec.MiB) })
		if c.Ptr != b.Ptr || e.Ptr != b.Ptr {
			t.Errorf("tensors at %v and %v, want both at %v", c.Ptr, e.Ptr, b.Ptr)
		}
	})
}

// Upstream: 40 MiB are allowed. Of many pools that are kept for the case of need,
// one after the other has them and is deleted; only the one that is left serves
// others.
func TestMemPool_DeletedMempoolNotUsedOnOom(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		p.limit(40 * spec.MiB)
		var pool *memPool
		for range 11 {
			if pool != nil {
				pool.delete()
			}
			pool = p.newMemPool(spec.PoolOptions{Memory: &ownMemory{p: p}, UseOnOOM: true})
			pool.use(p, func() { p.free(p.empty(mainStream, 40*spec.MiB)) })
		}
		for range 2 {
			p.empty(mainStream, 20*spec.MiB)
		}
		if live := p.liveBlocks(pool.id); live != 2 {
			t.Errorf("%d blocks of the last pool are live", live)
		}
	})
}

// Upstream: a pool with functions of its own has no expandable segment, though the
// setting is on; the default pool has one.
func TestMemPool_MempoolExpandable(t *testing.T) {
	p := newProgram(t, setup{settings: "expandable_segments:True"})
	pool := p.newMemPool(spec.PoolOptions{Memory: &ownMemory{p: p}})
	pool.use(p, func() { p.empty(mainStream, spec.MiB) })
	p.empty(mainStream, spec.MiB)
	expandable := map[spec.PoolID]bool{}
	for _, g := range p.snapshot().Segments {
		expandable[g.Pool] = g.Expandable
	}
	if diff := cmp.Diff(map[spec.PoolID]bool{pool.id: false, spec.DefaultPool: true}, expandable); diff != "" {
		t.Error(diff)
	}
}

// carved are a pool's own functions that return parts of one piece of memory,
// those of one stream from below, those of all others from above.
type carved struct {
	low        spec.Stream
	head, tail spec.Ptr
}

func (c *carved) Allocate(_ spec.Device, bytes uint64, s spec.Stream) (spec.Ptr, error) {
	if s == c.low {
		c.head += spec.Ptr(bytes)
		return c.head - spec.Ptr(bytes), nil
	}
	c.tail -= spec.Ptr(bytes)
	return c.tail, nil
}

func (c *carved) Free(spec.Device, spec.Ptr, uint64, spec.Stream) error { return nil }

// Upstream, later than 2.11: a pool's memory comes at descending addresses, and is
// allocated a second time in the order in which it was obtained. 2.11 knows no such
// order: of free blocks of the same size the one at the lowest address is taken. So
// the second round is the first one where addresses ascended, and reversed, for each
// size, where they descended.
func TestMemPool_NcclMemAllocAddressesInRandomOrder(t *testing.T) {
	p := newProgram(t, setup{})
	up, down := p.newStream(), p.newStream()
	base, err := p.gpu.Malloc(p.device, spec.GiB)
	p.must(err)
	pool := p.newMemPool(spec.PoolOptions{Memory: &carved{up, base, base + spec.Ptr(spec.GiB)}})
	round := func() map[string][]spec.Ptr {
		addresses := map[string][]spec.Ptr{}
		pool.use(p, func() {
			for range 3 {
				for _, mib := range []uint64{24, 32} {
					addresses["ascending"] = append(addresses["ascending"], p.empty(up, mib*spec.MiB).Ptr)
					key := fmt.Sprintf("descending, %d MiB", mib)
					addresses[key] = append(addresses[key], p.empty(down, mib*spec.MiB).Ptr)
				}
			}
		})
		for _, list := range addresses {
			for _, ptr := range list {
				p.must(p.allocator.Free(ptr))
			}
		}
		return addresses
	}
	first, second := round(), round()
	for key, list := range first {
		if key != "ascending" {
			list[0], list[2] = list[2], list[0]
		}
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
	pool.delete()
	p.must(p.gpu.Free(p.device, base))
}
