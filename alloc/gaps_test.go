package alloc_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestLivePoolHasNoGaps: in an expandable segment of a live private pool, the mapped memory
// begins at the base and has no gaps, whichever calls of the driver fail. Restores rely on it.
func TestLivePoolHasNoGaps(t *testing.T) {
	pool := spec.PoolID{User: 1}
	calls := []string{"CreatePage", "MapPage", "SetAccess", "UnmapPage", "ReleasePage"}
	met, growths := 0, 0
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 0))
		r := newFaultRun(t, "expandable_segments:True,garbage_collection_threshold:0.3")
		r.name = fmt.Sprintf("seed %d", seed)
		r.slack = 8 * 20 * mib
		must(t, r.a.SetMemoryFraction(0, 0.9))
		must(t, r.a.BeginAllocateToPool(0, pool, spec.ForStream(r.streams[1])))
		for range 6 {
			must(t, r.gpu.FailCall(calls[random.IntN(len(calls))], 1+random.IntN(20), spec.ErrDriverOutOfMemory))
		}
		mapped := uint64(0)
		for i := range 40 {
			switch names := slices.Sorted(maps.Keys(r.out)); random.IntN(6) {
			case 0, 1, 2:
				r.malloc(fmt.Sprint(i), random.IntN(2), 1<<(9+random.IntN(18)))
			case 3, 4:
				if len(names) > 0 {
					r.free(names[random.IntN(len(names))])
				}
			default:
				r.step("empty cache", r.a.EmptyCache())
				r.step("empty pool", r.a.EmptyPool(pool))
			}
			before := mapped
			mapped = r.mappedWithoutGaps(pool)
			if mapped < before {
				t.Fatalf("%s, step %d: memory of the pool was unmapped", r.name, i)
			}
			if before > 0 && mapped > before {
				growths++
			}
		}
		met += 6 - r.gpu.PendingFaults()
	}
	if met < 60 || growths < 60 {
		t.Errorf("only %d faults were met, and the pool grew only %d times", met, growths)
	}
}

// mappedWithoutGaps is the number of mapped bytes of a pool. No mapped block may lie behind
// an unmapped one of its segment.
func (r *faultRun) mappedWithoutGaps(pool spec.PoolID) (bytes uint64) {
	r.t.Helper()
	unmapped := false
	must(r.t, r.a.Inspect(0, spec.Visitor{Block: func(b *spec.BlockView) {
		if b.Pool != pool {
			return
		}
		if b.First {
			unmapped = false
		}
		if b.Mapped && unmapped {
			r.t.Errorf("%s: the block at %v lies behind a gap", r.name, b.Address)
		}
		unmapped = unmapped || !b.Mapped
		if b.Mapped {
			bytes += b.Size
		}
	}}))
	return bytes
}

// TestManyPools: each of many private pools is found by its id, and only those that were
// released are erased.
func TestManyPools(t *testing.T) {
	const many = 500
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	id := func(i int) spec.PoolID { return spec.PoolID{Capture: uint64(i % 3), User: uint64(1 + i)} }
	random := rand.New(rand.NewPCG(16, 4))
	there := map[int]bool{}
	for step := range 4 * many {
		i := random.IntN(many)
		switch {
		case !there[i]:
			must(t, a.CreatePool(0, id(i), spec.PoolOptions{}))
			there[i] = true
		case step%2 == 0:
			must(t, a.ReleasePool(0, id(i)))
			must(t, a.EmptyPool(id(i)))
			delete(there, i)
		}
		j := random.IntN(many)
		if n, err := a.PoolUseCount(0, id(j)); (n == 1) != there[j] || (err == nil) != there[j] {
			t.Fatalf("step %d: pool %v is in use %d times (%v), want it there: %v", step, id(j), n, err, there[j])
		}
	}
}
