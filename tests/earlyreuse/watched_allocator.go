package earlyreuse

import (
	"sync"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// New is an allocator that does what another one does, and tells the GPU of it. It
// has private pools and checkpoints if the other one has both; and if that has all
// abilities of the reference, it has all. Any other selection of abilities is left out,
// and has to be asked of the other one, see Underlying.
//
// A checkpoint made through the result has to be restored through it.
func New(a spec.Allocator, gpu *fakegpu.GPU) spec.Allocator {
	w := &watched{Allocator: a, gpu: gpu, live: map[spec.Ptr]fakegpu.Lifetime{}, routed: map[spec.Request]routing{}}
	pools, ok := a.(pools)
	if !ok {
		return w
	}
	p := &pooled{w, pools}
	if all, ok := a.(alloc.Abilities); ok {
		return &complete{all, p}
	}
	return p
}

// Underlying is the allocator that New was given.
func Underlying(a spec.Allocator) spec.Allocator {
	switch a := a.(type) {
	case *watched:
		return a.Allocator
	case *pooled:
		return a.Allocator
	case *complete:
		return a.pooled.Allocator
	}
	return a
}

// watched is the part that all allocators have.
type watched struct {
	spec.Allocator
	gpu *fakegpu.GPU

	mu     sync.Mutex
	live   map[spec.Ptr]fakegpu.Lifetime // what is allocated
	routed map[spec.Request]routing      // what the filters say of requests under way
	begun  int                           // routings to a pool so far
}

// pools are the abilities that have to do with lifetimes.
type pools interface {
	spec.PrivatePools
	spec.Checkpointer
}

type pooled struct {
	*watched
	pools
}

// complete has the abilities of the reference. What has to do with lifetimes is done by
// pooled, everything else by the allocator itself.
type complete struct {
	alloc.Abilities
	pooled *pooled
}

func (c *complete) Malloc(r spec.Request) (spec.Ptr, error) { return c.pooled.Malloc(r) }

func (c *complete) Free(p spec.Ptr) error { return c.pooled.Free(p) }

func (c *complete) BeginAllocateToPool(dev spec.Device, id spec.PoolID, filter spec.RequestFilter) error {
	return c.pooled.BeginAllocateToPool(dev, id, filter)
}

func (c *complete) Checkpoint(dev spec.Device, id spec.PoolID) (spec.PoolState, error) {
	return c.pooled.Checkpoint(dev, id)
}

func (c *complete) Restore(dev spec.Device, state spec.PoolState) (spec.RestoreDelta, error) {
	return c.pooled.Restore(dev, state)
}

// Malloc allocates memory, and says so. A lifetime has the bytes that were asked for;
// those that the allocator has added are not part of it.
func (w *watched) Malloc(r spec.Request) (spec.Ptr, error) {
	defer w.locked(r.Device)()
	p, err := w.Allocator.Malloc(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	pool := w.routed[r].pool
	delete(w.routed, r)
	if err == nil && p != 0 {
		w.beginLifetime(fakegpu.Lifetime{
			Range: spec.Range{Ptr: p, Bytes: r.Bytes}, Device: r.Device, Stream: r.Stream, Pool: pool,
		})
	}
	return p, err
}

func (w *watched) beginLifetime(l fakegpu.Lifetime) {
	l.Number = w.gpu.BeginLifetime(l)
	w.live[l.Range.Ptr] = l
}

// Free frees memory. It says so first: as soon as the allocator has freed the memory,
// another thread may allocate it.
func (w *watched) Free(p spec.Ptr) error {
	w.mu.Lock()
	l, live := w.live[p]
	delete(w.live, p)
	w.mu.Unlock()
	if !live {
		return w.Allocator.Free(p)
	}
	defer w.locked(l.Device)()
	undo := w.gpu.EndLifetime(p)
	err := w.Allocator.Free(p)
	if err != nil {
		undo()
		w.mu.Lock()
		w.live[p] = l
		w.mu.Unlock()
	}
	return err
}

// locked tells the GPU that the present host thread takes a device's lock in the
// allocator, and returns what releases it: what one caller has seen of the device,
// the next one may rely on. A lock is a thread that nobody is.
func (w *watched) locked(dev spec.Device) (release func()) {
	lock, caller := ^spec.Thread(dev), w.gpu.Thread()
	w.gpu.OrderThreads(lock, caller)
	return func() { w.gpu.OrderThreads(caller, lock) }
}
