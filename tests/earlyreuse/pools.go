package earlyreuse

import (
	"slices"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// routing is one to a pool that has accepted a request.
type routing struct {
	pool  spec.PoolID
	begun int
}

// BeginAllocateToPool listens to the filter: it is the allocator that asks it, so
// that nothing is asked of the driver that would not have been anyway. Of several
// filters that accept a request the one begun last counts.
func (p *pooled) BeginAllocateToPool(dev spec.Device, id spec.PoolID, filter spec.RequestFilter) error {
	if filter == nil {
		return p.pools.BeginAllocateToPool(dev, id, nil)
	}
	w := p.watched
	w.mu.Lock()
	w.begun++
	begun := w.begun
	w.mu.Unlock()
	return p.pools.BeginAllocateToPool(dev, id, func(r spec.Request) bool {
		accepted := filter(r)
		if accepted && r.Bytes > 0 {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.routed[r].begun < begun {
				w.routed[r] = routing{id, begun}
			}
		}
		return accepted
	})
}

// checkpoint is the allocator's, with the pool's live allocations.
type checkpoint struct {
	spec.PoolState
	live []fakegpu.Lifetime
}

// Checkpoint remembers the pool's live allocations with its state: the allocator only
// knows the rounded sizes.
func (p *pooled) Checkpoint(dev spec.Device, id spec.PoolID) (spec.PoolState, error) {
	state, err := p.pools.Checkpoint(dev, id)
	if err != nil {
		return nil, err
	}
	c := &checkpoint{PoolState: state}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.live {
		if l.Device == dev && l.Pool == id {
			c.live = append(c.live, l)
		}
	}
	return c, nil
}

// Restore sets the pool back. What is allocated before and after keeps its lifetime. What
// was not before begins one that belongs to the pool's graphs, as what they left does.
func (p *pooled) Restore(dev spec.Device, state spec.PoolState) (spec.RestoreDelta, error) {
	c, ours := state.(*checkpoint)
	if !ours {
		return p.pools.Restore(dev, state)
	}
	defer p.locked(dev)()
	delta, err := p.pools.Restore(dev, c.PoolState)
	if err != nil {
		return delta, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var begin []fakegpu.Lifetime
	stays := map[spec.Ptr]bool{}
	for _, ptr := range delta.Created {
		i := slices.IndexFunc(c.live, func(l fakegpu.Lifetime) bool { return l.Range.Ptr == ptr })
		if i < 0 {
			continue // it was not allocated by Malloc
		}
		l := c.live[i]
		if stays[ptr] = p.live[ptr].Range == l.Range; !stays[ptr] {
			l.Captured = true
			begin = append(begin, l)
		}
	}
	for _, ptr := range delta.Freed {
		if !stays[ptr] {
			p.gpu.EndLifetime(ptr)
			delete(p.live, ptr)
		}
	}
	for _, l := range begin {
		p.beginLifetime(l)
	}
	return delta, nil
}
