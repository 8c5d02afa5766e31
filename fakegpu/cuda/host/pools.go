//go:build cgo && linux

package host

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/tidwall/btree"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// The driver's own pools (cudaMallocAsync and its family). A pool keeps what is freed for the next
// request: of the same stream at once, for another stream when an event behind the free is seen to
// be complete. Each allocation is a lifetime of the memory, so that work which comes too late, or
// on a stream that does not wait, is a hazard.
//
// What a captured stream gets is the graph's.

// driverPools are the pools of a process. Each device's default pool has the device's
// number plus 1.
type driverPools struct {
	mu      sync.Mutex
	plain   []plainFree
	closing []*openedPiece // freed, and not yet waited for
	byID    map[uint64]*driverPool
	next    uint64
	current map[spec.Device]uint64            // the pool of requests that name none
	pieces  btree.Map[spec.Ptr, *pooledPiece] // that are allocated
}

// driverPool is one of them.
type driverPool struct {
	arena
	threshold            uint64 // bytes that stay reserved when somebody waits
	most                 uint64 // bytes that may be reserved; 0: no limit
	used                 uint64 // bytes, as they were requested
	topReserved, topUsed uint64
	flags                [4]uint64   // attributes 1 to 3
	destroyed            bool        // its memory goes when all is freed
	shareable            bool        // it can be exported
	opens                *driverPool // which was exported; nil: it has memory of its own
}

// pooledPiece is memory that is allocated from a pool.
type pooledPiece struct {
	pool   *driverPool
	id     uint64       // of the pool
	memory spec.Range   // as it was requested
	life   uint64       // the number of its lifetime
	opened *openedPiece // of an opened pool; nil: of another
}

// firstOwnPool is the number of the first pool that a program creates.
const firstOwnPool = 0x6000_0000_0000

// pool finds a pool; 0 is the device's current one.
func (d *driverPools) pool(p *Process, id uint64, dev spec.Device) *driverPool {
	if d.byID == nil {
		d.byID, d.next = map[uint64]*driverPool{}, firstOwnPool
		d.current = map[spec.Device]uint64{}
		for i := range p.GPU.DeviceCount() {
			d.byID[uint64(i)+1] = newDriverPool(p.GPU, spec.Device(i))
			d.current[spec.Device(i)] = uint64(i) + 1
		}
	}
	if id == 0 {
		id = d.current[dev]
	}
	return d.byID[id]
}

func newDriverPool(g *fakegpu.GPU, dev spec.Device) *driverPool {
	return &driverPool{arena: arena{gpu: g, device: dev}, flags: [4]uint64{1: 1, 2: 1, 3: 1}}
}

// poolMalloc is cudaMallocFromPoolAsync.
func (p *Process) poolMalloc(dev spec.Device, id uint64, s spec.Stream, bytes uint64) (spec.Ptr, int) {
	captured, err := p.inCapture(dev, s)
	switch {
	case err != nil:
		return 0, number(err)
	case captured:
		at, err := p.GPU.MallocInCapture(dev, s, bytes)
		return at, number(err)
	}
	d := &p.pools
	d.mu.Lock()
	defer d.mu.Unlock()
	pool := d.pool(p, id, dev)
	if pool == nil || pool.destroyed || pool.opens != nil {
		return 0, invalidValue
	}
	if bytes == 0 {
		return 0, 0
	}
	if pool.most != 0 && pool.used+bytes > pool.most {
		return 0, outOfMemory
	}
	at, err := pool.obtain(dev, s, bytes)
	if err != nil {
		return 0, number(err)
	}
	memory := spec.Range{Ptr: at, Bytes: bytes}
	pool.used += bytes
	pool.topUsed, pool.topReserved = max(pool.topUsed, pool.used), max(pool.topReserved, pool.reserved())
	life := p.GPU.BeginLifetime(fakegpu.Lifetime{Device: dev, Stream: s, Range: memory, Owner: "cudaMallocAsync", Yields: true})
	d.pieces.Set(at, &pooledPiece{pool: pool, id: cmp.Or(id, d.current[dev]), memory: memory, life: life})
	return at, 0
}

// obtain takes memory, and if the device has none once more when the pool has given up what it
// keeps.
func (pool *driverPool) obtain(dev spec.Device, s spec.Stream, bytes uint64) (spec.Ptr, error) {
	id, _ := pool.gpu.StreamID(dev, s)
	t := taker{id, func(p fakegpu.Point) bool { return pool.flags[followsEvents] != 0 && pool.gpu.Follows(dev, s, p) }}
	bytes = aligned(bytes)
	at, err := pool.take(t, bytes)
	if errors.Is(err, spec.ErrDriverOutOfMemory) {
		if err := pool.giveBack(0); err != nil {
			return 0, err
		}
		at, err = pool.take(t, bytes)
	}
	return at, err
}

func aligned(bytes uint64) uint64 { return (bytes + arenaAlign - 1) &^ (arenaAlign - 1) }

// inCapture reports whether a stream is being captured. Of another stream nothing may
// be asked while a capture forbids it, which invalidates the capture.
func (p *Process) inCapture(dev spec.Device, s spec.Stream) (bool, error) {
	info, err := p.GPU.CaptureStatus(dev, s)
	if err != nil || info.Status != spec.CaptureNone {
		return err == nil, err
	}
	return false, p.mayAllocate(dev)
}

// freeAsync is cudaFreeAsync.
func (p *Process) freeAsync(at spec.Ptr, dev spec.Device, s spec.Stream) int {
	captured, err := p.inCapture(dev, s)
	switch {
	case err != nil:
		return number(err)
	case captured:
		return number(p.GPU.FreeInCapture(dev, s, at))
	}
	if found, err := p.GPU.FreeOfGraph(at); found {
		return number(err)
	}
	return p.poolFree(at, dev, s, false)
}

// isPooled reports whether memory is a pool's and allocated.
func (p *Process) isPooled(at spec.Ptr) bool {
	p.pools.mu.Lock()
	defer p.pools.mu.Unlock()
	_, is := p.pools.pieces.Get(at)
	return is
}

// pieceAround finds the allocated piece of a pool that an address is in.
func (p *Process) pieceAround(at spec.Ptr) (piece *pooledPiece, found bool) {
	p.pools.mu.Lock()
	defer p.pools.mu.Unlock()
	p.pools.pieces.Descend(at, func(_ spec.Ptr, is *pooledPiece) bool {
		piece, found = is, at < is.memory.End()
		return false
	})
	return piece, found
}

// poolFree frees memory of a pool; cudaFree of such memory waits for the device first.
func (p *Process) poolFree(at spec.Ptr, dev spec.Device, s spec.Stream, wait bool) int {
	d := &p.pools
	if wait {
		_, dev, _ = p.GPU.MemoryAround(at)
		if err := p.await(func() error { return p.GPU.SynchronizeDevice(dev) }); err != nil {
			return number(err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	piece, is := d.pieces.Get(at)
	if !is {
		return p.freePlain(at, dev, s)
	}
	event, err := p.GPU.CreateEvent(dev)
	if err != nil {
		return number(err)
	}
	if err := p.GPU.RecordEvent(event, dev, s); err != nil {
		return number(errors.Join(err, p.GPU.DestroyEvent(event)))
	}
	if piece.opened != nil {
		return p.freeOpened(piece, event)
	}
	point, err := p.GPU.PointIn(dev, s)
	if err != nil {
		return number(err)
	}
	d.pieces.Delete(at)
	p.GPU.EndYielded(at, piece.life)
	pool := piece.pool
	stream, _ := p.GPU.StreamID(dev, s)
	pool.give(at, aligned(piece.memory.Bytes), freedRange{stream: stream, event: event, point: point})
	pool.used -= piece.memory.Bytes
	if wait { // so all frees before are known to be over
		return number(pool.forget())
	}
	return 0
}

// freePlain is cudaFreeAsync of memory of cudaMalloc. It is given back when somebody waits.
func (p *Process) freePlain(at spec.Ptr, dev spec.Device, s spec.Stream) int {
	switch {
	case at == 0:
		return 0
	case !p.GPU.IsPiece(at) || slices.ContainsFunc(p.pools.plain, func(f plainFree) bool { return f.at == at }):
		return invalidValue
	}
	_, of, _ := p.GPU.MemoryAround(at)
	event, err := p.GPU.CreateEvent(dev)
	if err == nil {
		err = p.GPU.RecordEvent(event, dev, s)
	}
	if err == nil {
		p.pools.plain = append(p.pools.plain, plainFree{at, of, event})
	}
	return number(err)
}

// plainFree is memory of cudaMalloc that cudaFreeAsync was called of.
type plainFree struct {
	at     spec.Ptr
	device spec.Device
	event  spec.EventHandle
}

// freeWaited gives back what the streams are through with.
func (p *Process) freeWaited() error {
	kept := p.pools.plain[:0]
	for _, f := range p.pools.plain {
		if complete, err := p.GPU.QueryEvent(f.event); err != nil || !complete {
			kept = append(kept, f)
			continue
		}
		err := p.GPU.Free(f.device, f.at)
		if errors.Is(err, fakegpu.ErrEndlessWait) {
			kept = append(kept, f)
			continue
		}
		if err := errors.Join(err, p.GPU.DestroyEvent(f.event)); err != nil {
			return err
		}
	}
	p.pools.plain = kept
	return nil
}

// waited: somebody has waited for a stream or the device, and pools give back what they keep beyond
// their thresholds. Of a pool that was destroyed the last memory goes.
func (p *Process) waited() int {
	d := &p.pools
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := errors.Join(p.freeWaited(), p.closeWaited()); err != nil {
		return number(err)
	}
	for _, id := range sortedIDs(d.byID) {
		pool := d.byID[id]
		if err := pool.giveBack(pool.threshold); err != nil {
			return number(err)
		}
		if pool.destroyed && len(pool.pages) == 0 {
			delete(d.byID, id)
			if err := pool.close(); err != nil {
				return number(err)
			}
		}
	}
	return 0
}

// destroy is cudaMemPoolDestroy: nothing is allocated from the pool any more, and what is allocated
// goes back to the device when it is freed and somebody waits.
func (d *driverPools) destroy(id uint64) int {
	pool := d.byID[id]
	if id < firstOwnPool || pool.destroyed || pool.opens != nil && d.hasPieces(pool) {
		return invalidValue
	}
	pool.destroyed, pool.threshold = true, 0
	if d.current[pool.device] == id {
		d.current[pool.device] = uint64(pool.device) + 1
	}
	if err := pool.giveBack(0); err != nil {
		return number(err)
	}
	if len(pool.pages) > 0 {
		return 0
	}
	delete(d.byID, id)
	return number(pool.close())
}

func sortedIDs(pools map[uint64]*driverPool) []uint64 {
	var ids []uint64
	for id := range pools {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// The attributes of a pool (cudaMemPoolAttr).
const (
	followsEvents        = 1
	attributeThreshold   = 4
	attributeReserved    = 5
	attributeTopReserved = 6
	attributeUsed        = 7
	attributeTopUsed     = 8
)

func (pool *driverPool) get(attribute uint64) (uint64, int) {
	switch attribute {
	case 1, 2, 3:
		return pool.flags[attribute], 0
	case attributeThreshold:
		return pool.threshold, 0
	case attributeReserved:
		return pool.reserved(), 0
	case attributeTopReserved:
		return pool.topReserved, 0
	case attributeUsed:
		return pool.used, 0
	case attributeTopUsed:
		return pool.topUsed, 0
	}
	return 0, invalidValue
}

// set: the two largest figures can be set to 0, which starts them anew.
func (pool *driverPool) set(attribute, value uint64) int {
	switch {
	case attribute >= 1 && attribute <= 3:
		pool.flags[attribute] = min(value, 1)
	case attribute == attributeThreshold:
		pool.threshold = value
	case attribute == attributeTopReserved && value == 0:
		pool.topReserved = pool.reserved()
	case attribute == attributeTopUsed && value == 0:
		pool.topUsed = pool.used
	default:
		return invalidValue
	}
	return 0
}
