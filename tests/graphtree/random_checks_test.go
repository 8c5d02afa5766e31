package graphtree

import (
	"slices"

	"pgregory.net/rapid"

	"gaugeblock/fakegpu"
	"gaugeblock/graphtree"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// check looks at what has to be true after any operation.
func (p *program) check(t *rapid.T) {
	for _, o := range p.held {
		if o.current && o.content != unknown {
			p.untouched(t, o)
		}
	}
	for _, h := range p.gpu.Hazards() {
		if h.Kind == fakegpu.Unordered || h.Kind == fakegpu.Returned || h.Kind == fakegpu.AllocatedTwice {
			t.Fatal(h)
		}
	}
	for _, v := range p.gpu.Violations() {
		t.Fatal(v)
	}
	p.poolIsLive(t)
	p.poolIsSmall(t)
}

// poolIsSmall: however many recordings there are, the pool is as large as the path
// that needs most, but for what cannot be used because of how it is cut up. That
// may be a segment of each kind, and half of what is needed.
func (p *program) poolIsSmall(t *rapid.T) {
	snapshot, err := p.allocator.SnapshotPool(pool)
	must(t, err)
	reserved := uint64(0)
	for _, g := range snapshot.Segments {
		reserved += g.TotalSize
	}
	g := spec.DefaultGeometry()
	if need := p.allocator.need; reserved > need+need/2+g.SmallBuffer+g.LargeBuffer {
		t.Fatalf("the pool has %d bytes, and never more than %d were needed", reserved, need)
	}
}

// untouched: nobody has written to an output that the program still holds.
func (p *program) untouched(t *rapid.T, o *output) {
	r, err := o.tensor.Range()
	if err != nil {
		t.Fatalf("an output of this generation, held all the time: %v", err)
	}
	r.Bytes = min(r.Bytes, numberBytes)
	got, err := p.gpu.ReadBack(0, 0, r)
	must(t, err)
	for i, b := range got {
		if int(b) != o.content {
			t.Fatalf("byte %d of the output at %v is %d, not %d: somebody has written there; %+v", i, r.Ptr, b, o.content, p.manager.Status())
		}
	}
}

// poolIsLive: while the allocator follows what happens, exactly the outputs that are
// held are allocated in the pool.
func (p *program) poolIsLive(t *rapid.T) {
	if state := p.manager.Status().State; state != graphtree.WarmUp && state != graphtree.Recording {
		return
	}
	var live []spec.Ptr
	for _, o := range p.held {
		if p.manager.Holds(o.tensor) {
			r, err := o.tensor.Range()
			must(t, err)
			live = append(live, r.Ptr)
		}
	}
	same, err := p.allocator.CheckPoolLiveAllocations(0, pool, live)
	must(t, err)
	if !same {
		snapshot, _ := p.allocator.SnapshotPool(pool)
		t.Fatalf("the pool's blocks are not those of the outputs that are held, %v: %+v", live, trace.Layout(&snapshot))
	}
}

// careful is an allocator whose restores are looked at: the pool must then have the
// allocated blocks that it had at the checkpoint. It also notes how much of the pool
// was allocated at the same time at most.
type careful struct {
	graphtree.Allocator
	t    *rapid.T
	need uint64 // bytes
}

func (c *careful) Malloc(r spec.Request) (spec.Ptr, error) {
	p, err := c.Allocator.Malloc(r)
	sum := uint64(0)
	for _, b := range c.allocated(pool) {
		sum += b.Size
	}
	c.need = max(c.need, sum)
	return p, err
}

type remembered struct {
	spec.PoolState
	blocks []spec.Block
}

func (c *careful) Checkpoint(dev spec.Device, id spec.PoolID) (spec.PoolState, error) {
	state, err := c.Allocator.Checkpoint(dev, id)
	if err != nil {
		return nil, err
	}
	return &remembered{state, c.allocated(id)}, nil
}

func (c *careful) Restore(dev spec.Device, state spec.PoolState) (spec.RestoreDelta, error) {
	r := state.(*remembered)
	delta, err := c.Allocator.Restore(dev, r.PoolState)
	if got := c.allocated(r.PoolID()); err == nil && !slices.Equal(got, r.blocks) {
		c.t.Fatalf("restored %v, and there was %v", got, r.blocks)
	}
	return delta, err
}

// allocated is the pool's allocated blocks, without what was requested.
func (c *careful) allocated(id spec.PoolID) (blocks []spec.Block) {
	snapshot, err := c.Allocator.SnapshotPool(id)
	must(c.t, err)
	for _, g := range trace.Layout(&snapshot) {
		for _, b := range g.Blocks {
			if b.State == spec.ActiveAllocated {
				b.RequestedSize = 0
				blocks = append(blocks, b)
			}
		}
	}
	return blocks
}
