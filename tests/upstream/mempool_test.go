package upstream

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Class TestMemPool of test/test_cuda.py: pools that a program makes for itself.

// ownMemory are a pool's own functions, as upstream's dummy allocator: they pass on
// to the driver and count.
type ownMemory struct {
	p             *program
	allocs, frees int
}

func (m *ownMemory) Allocate(dev spec.Device, bytes uint64, _ spec.Stream) (spec.Ptr, error) {
	m.allocs++
	return m.p.gpu.Malloc(dev, bytes)
}

func (m *ownMemory) Free(dev spec.Device, ptr spec.Ptr, _ uint64, _ spec.Stream) error {
	m.frees++
	return m.p.gpu.Free(dev, ptr)
}

// called checks how often the functions were called.
func (m *ownMemory) called(allocs, frees int) {
	m.p.t.Helper()
	if m.allocs != allocs || m.frees != frees {
		m.p.t.Errorf("the pool's functions were called %d and %d times, want %d and %d", m.allocs, m.frees, allocs, frees)
	}
}

// segmentCount checks how many segments a pool has.
func (m *memPool) segmentCount(want int) {
	m.p.t.Helper()
	if n := len(m.segments()); n != want {
		m.p.t.Errorf("pool %v has %d segments, want %d", m.id, n, want)
	}
}

// users checks a pool's use count.
func (m *memPool) users(want int) {
	m.p.t.Helper()
	if n := m.useCount(); n != want {
		m.p.t.Errorf("pool %v has a use count of %d, want %d", m.id, n, want)
	}
}

// Upstream: every new pool has another id. Here the program names its pools; two
// names are two pools, and that of the default pool is taken.
func TestMemPool_MempoolId(t *testing.T) {
	p := newProgram(t, setup{})
	a, b := p.newMemPool(spec.PoolOptions{}), p.newMemPool(spec.PoolOptions{})
	a.use(p, func() {
		p.empty(mainStream, 1)
		a.users(2)
		b.users(1)
	})
	a.segmentCount(1)
	b.segmentCount(0)
	var refused *spec.InvalidArgumentError
	if err := p.allocator.CreatePool(p.device, spec.DefaultPool, spec.PoolOptions{}); !errors.As(err, &refused) {
		t.Errorf("making the default pool: %v", err)
	}
}

// Upstream, later than 2.11 as a test: segments and trace entries name their pool.
func TestMemPool_PoolIdInSnapshot(t *testing.T) {
	storytellers(t, func(t *testing.T, p *storyteller) {
		p.record(spec.HistoryOptions{Level: spec.ContextAll})
		pool := p.newMemPool(spec.PoolOptions{})
		pool.use(p.program, func() { p.empty(mainStream, floats(64)) })
		s := p.snapshot()
		if len(s.Segments) != 1 || s.Segments[0].Pool != pool.id {
			t.Errorf("segments: %v", s.Segments)
		}
		for _, e := range s.Traces[p.device] {
			if e.Pool != pool.id {
				t.Errorf("%v names pool %v", e.Action, e.Pool)
			}
		}
	})
}

// Upstream: when a pool is deleted its memory goes back, and no other.
func TestMemPool_MempoolEmptyCache(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		pool := p.newMemPool(spec.PoolOptions{})
		x := p.empty(mainStream, floats(1024*1024))
		pool.use(p, func() { p.free(p.empty(mainStream, floats(1024*1024))) })
		p.free(x)
		pool.delete()
		segments := p.snapshot().Segments
		if len(segments) != 1 || segments[0].Pool != spec.DefaultPool {
			t.Errorf("segments: %v, want one of the default pool", segments)
		}
	})
}

// Upstream: a tensor outlives its pool. When it is freed as well, the next empty
// cache gives its memory back with the pool's own function.
func TestMemPool_MempoolEmptyCacheInactive(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		memory := &ownMemory{p: p}
		pool := p.newMemPool(spec.PoolOptions{Memory: memory})
		var x tensor
		pool.use(p, func() { x = p.empty(mainStream, 16*spec.MiB) })
		pool.delete()
		memory.called(1, 0)
		p.free(x)
		p.emptyCache()
		memory.called(1, 1)
	})
}

// Upstream: a pool's functions are called for whole segments, of 2 MiB for two
// tensors of 1 MiB; the pool is used once by itself and once more while requests go
// to it; deleting it gives the segments back.
func TestMemPool_MempoolWithAllocator(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		memory := &ownMemory{p: p}
		pool := p.newMemPool(spec.PoolOptions{Memory: memory})
		pool.users(1)
		memory.called(0, 0)

		var out [3]tensor
		pool.use(p, func() {
			out[0] = p.empty(mainStream, spec.MiB)
			pool.users(2)
		})
		pool.users(1)
		memory.called(1, 0)
		p.empty(mainStream, spec.MiB)
		pool.use(p, func() {
			pool.segmentCount(1)
			out[1] = p.empty(mainStream, spec.MiB)
			pool.segmentCount(1)
			out[2] = p.empty(mainStream, spec.MiB)
			pool.segmentCount(2)
		})
		pool.segmentCount(2)
		p.free(out[:]...)
		pool.delete()
		memory.called(2, 2)
	})
}

// Upstream: a pool's functions stay with its memory, though the program has let go
// of both pool and functions.
func TestMemPool_TensorDeleteAfterAllocatorDelete(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		memory := &ownMemory{p: p}
		pool := p.newMemPool(spec.PoolOptions{Memory: memory})
		var data tensor
		pool.use(p, func() { data = p.empty(mainStream, floats(4)) })
		pool.delete()
		memory.called(1, 0)
		p.free(data)
		p.emptyCache()
		memory.called(1, 1)
	})
}

// Upstream: a pool that does not split allocates whole segments, so that it has
// more of them, each one block.
func TestMemPool_MempoolNoSplit(t *testing.T) {
	p := newProgram(t, setup{})
	split, whole := p.newMemPool(spec.PoolOptions{}), p.newMemPool(spec.PoolOptions{NoSplit: true})
	for range 2 {
		split.use(p, func() { p.empty(mainStream, 4*spec.MiB) })
		whole.use(p, func() { p.empty(mainStream, 4*spec.MiB) })
	}
	split.segmentCount(1)
	whole.segmentCount(2)
	if n := len(blocks(split.segments())); n != 3 {
		t.Errorf("the pool that splits has %d blocks", n)
	}
	for _, g := range whole.segments() {
		if len(g.Blocks) != 1 {
			t.Errorf("the segment at %v has %d blocks", g.Address, len(g.Blocks))
		}
	}
}

// Upstream, later than 2.11: a snapshot can be had without the history, and shows
// the same memory. Ours shows the same memory whether a history is kept or not.
func TestMemPool_SnapshotIncludeTracesCorrectness(t *testing.T) {
	var seen [][]spec.Segment
	for _, recording := range []bool{true, false} {
		p := &storyteller{newProgram(t, setup{}), "main"}
		if recording {
			p.record(spec.HistoryOptions{})
		}
		for range 3 {
			p.empty(mainStream, spec.MiB)
		}
		s := p.snapshot()
		if got := len(s.Traces[p.device]) > 0; got != recording {
			t.Errorf("there is a history: %t, want %t", got, recording)
		}
		seen = append(seen, trace.Layout(&s))
	}
	if diff := cmp.Diff(seen[0], seen[1]); diff != "" {
		t.Error(diff)
	}
}
