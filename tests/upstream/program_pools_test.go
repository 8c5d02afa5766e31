package upstream

import "gaugeblock/spec"

// memPool is a pool that a program makes for itself (torch.cuda.MemPool).
type memPool struct {
	p       *program
	id      spec.PoolID
	deleted bool
}

func (p *program) newMemPool(o spec.PoolOptions) *memPool {
	p.t.Helper()
	m := &memPool{p: p, id: p.newPoolID()}
	p.must(p.allocator.CreatePool(p.device, m.id, o))
	p.owned.pools = append(p.owned.pools, m)
	return m
}

// use diverts what the calling thread asks for to the pool while body runs
// (torch.cuda.use_mem_pool).
func (m *memPool) use(p *program, body func()) {
	p.t.Helper()
	p.must(p.allocator.BeginAllocateToPool(p.device, m.id, spec.ForThread(p.caller)))
	body()
	p.must(p.allocator.EndAllocateToPool(p.device, m.id))
	p.must(p.allocator.ReleasePool(p.device, m.id))
}

// delete gives the pool up; what is still allocated from it stays so (the destructor).
func (m *memPool) delete() {
	p := m.p
	p.t.Helper()
	if m.deleted {
		return
	}
	m.deleted = true
	p.must(p.allocator.SetUseOnOOM(p.device, m.id, false))
	p.must(p.allocator.ReleasePool(p.device, m.id))
	p.must(p.allocator.EmptyPool(m.id))
}

// segments is the pool's own snapshot (MemPool.snapshot).
func (m *memPool) segments() []spec.Segment {
	m.p.t.Helper()
	s, err := m.p.allocator.SnapshotPool(m.id)
	m.p.must(err)
	return s.Segments
}

func (m *memPool) useCount() int {
	m.p.t.Helper()
	n, err := m.p.allocator.PoolUseCount(m.p.device, m.id)
	m.p.must(err)
	return n
}
