package concurrent

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"gaugeblock/spec"
)

// pools are the private pools that the goroutines share.
var pools = []spec.PoolID{{User: 1}, {User: 2}, {Capture: 1}}

// worker is one goroutine. Everything in it is its own.
type worker struct {
	*world
	r        *rand.Rand
	thread   spec.Thread
	cached   []allocation // what it has allocated while caching was on
	uncached []allocation
	opened   []spec.OpenedMemory
	states   []savedState
}

type allocation struct {
	ptr    spec.Ptr
	device spec.Device
}

type savedState struct {
	device spec.Device
	state  spec.PoolState
}

// newWorkers numbers threads from 1: requests that name none are of thread 0, and would be routed to its pools.
func newWorkers(w *world, seed uint64) (workers []*worker) {
	for i := range goroutines {
		workers = append(workers, &worker{world: w, r: rand.New(rand.NewPCG(seed, uint64(i))), thread: spec.Thread(i + 1)})
	}
	return workers
}

// doAtOnce lets all workers call random methods of a deck.
func doAtOnce(workers []*worker, deck []func(*worker), calls int) {
	atOnce(func(i int, back func()) {
		k := workers[i]
		for range calls {
			k.do(deck[k.r.IntN(len(deck))])
			back()
		}
	})
}

// do calls a method, in which the driver may panic.
func (k *worker) do(call func(*worker)) {
	defer func() {
		if p := recover(); p != nil && p != any(errFails) {
			panic(p)
		}
	}()
	call(k)
}

func (k *worker) device() spec.Device { return spec.Device(k.r.IntN(devices)) }

func (k *worker) stream(dev spec.Device) spec.Stream {
	return k.streams[dev][k.r.IntN(len(k.streams[dev]))]
}

func (k *worker) pool() spec.PoolID { return pools[k.r.IntN(len(pools))] }

// any is one of the worker's pointers, now and then one that nobody has.
func (k *worker) any() spec.Ptr {
	if n := len(k.cached) + len(k.uncached); n > 0 && k.r.IntN(20) > 0 {
		i := k.r.IntN(n)
		if i < len(k.cached) {
			return k.cached[i].ptr
		}
		return k.uncached[i-len(k.cached)].ptr
	}
	return spec.Ptr(k.r.Uint64())
}

func (k *worker) malloc(r spec.Request) {
	r.Thread = k.thread
	p, err := k.a.Malloc(r)
	k.got(p, r.Device, err)
}

// got keeps what was allocated. Memory that nobody allocated from the cache is uncached.
func (k *worker) got(p spec.Ptr, dev spec.Device, err error) {
	if err != nil || p == 0 {
		return
	}
	cached := false
	_ = k.a.Inspect(dev, spec.Visitor{Block: func(b *spec.BlockView) { cached = cached || b.Address == p && b.Allocated }})
	if cached {
		k.cached = append(k.cached, allocation{p, dev})
	} else {
		k.uncached = append(k.uncached, allocation{p, dev})
	}
}

// free frees one of the worker's pointers; a second free must be refused.
func (k *worker) free(list *[]allocation, free func(spec.Ptr) error) {
	if len(*list) == 0 {
		return
	}
	i := k.r.IntN(len(*list))
	p := (*list)[i]
	if err := free(p.ptr); err != nil {
		k.expect("a free", err)
		return
	}
	*list = slices.Delete(*list, i, i+1)
}

// expect fails unless an error is the driver's.
func (k *worker) expect(what string, err error) {
	if err != nil && !isDriverError(err) && !(k.mayReturnGarbage && isTyped(err)) {
		k.fail(fmt.Sprintf("%s: %v", what, err))
	}
}

// putAway frees all that the worker has.
func (k *worker) putAway() {
	k.gpu.DrainAll()
	for len(k.cached)+len(k.uncached) > 0 {
		k.free(&k.cached, k.a.Free)
		k.free(&k.uncached, k.a.Free)
	}
	for _, m := range k.opened {
		k.expect("closing", m.Close())
	}
	k.opened = nil
}
