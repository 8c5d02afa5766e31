//go:build cgo && linux

package host

import (
	"errors"
	"slices"
	"sync"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// The driver's own pools (cudaMallocAsync and its family). A pool keeps what is freed for the next
// request: of the same stream at once, for another stream when an event behind the free is seen to
// be complete. Each allocation is a lifetime of the memory, so that work which comes too late, or
// on a stream that does not wait, is a hazard.
//
// Simpler than the driver's: pieces are not cut. What a captured stream gets is the graph's.

// driverPools are the pools of a process. Each device's default pool has the device's
// number plus 1.
type driverPools struct {
	mu     sync.Mutex
	byID   map[uint64]*driverPool
	next   uint64
	pieces map[spec.Ptr]*pooledPiece // that are allocated
}

// driverPool is one of them.
type driverPool struct {
	device spec.Device
	free   []*pooledPiece // in the order in which they were freed

	threshold            uint64 // bytes that stay reserved when somebody waits for the device
	reserved, used       uint64 // bytes
	topReserved, topUsed uint64
	flags                [4]uint64 // attributes 1 to 3
}

// pooledPiece is memory of the machine that the pool owns.
type pooledPiece struct {
	pool   *driverPool
	memory spec.Range
	stream spec.Stream      // that it was freed on
	event  spec.EventHandle // behind the free
	cut    bool             // an allocator has made parts of it, which have owners of their own
}

// firstOwnPool is the number of the first pool that a program creates.
const firstOwnPool = 0x6000_0000_0000

// pool finds a pool; 0 is the default pool of the device.
func (d *driverPools) pool(p *Process, id uint64, dev spec.Device) *driverPool {
	if d.byID == nil {
		d.byID, d.next, d.pieces = map[uint64]*driverPool{}, firstOwnPool, map[spec.Ptr]*pooledPiece{}
		for i := range p.GPU.DeviceCount() {
			d.byID[uint64(i)+1] = newDriverPool(spec.Device(i))
		}
	}
	if id == 0 {
		id = uint64(dev) + 1
	}
	return d.byID[id]
}

func newDriverPool(dev spec.Device) *driverPool {
	return &driverPool{device: dev, flags: [4]uint64{1: 1, 2: 1, 3: 1}}
}

// poolMalloc is cudaMallocFromPoolAsync.
func (p *Process) poolMalloc(dev spec.Device, id uint64, s spec.Stream, bytes, mode uint64) (spec.Ptr, int) {
	captured, err := p.inCapture(dev, s, mode)
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
	if pool == nil {
		return 0, invalidValue
	}
	if bytes == 0 {
		return 0, 0
	}
	piece, result := pool.find(p, s, bytes)
	if piece == nil && result == 0 {
		piece, result = pool.obtain(p, bytes)
	}
	if result != 0 {
		return 0, result
	}
	pool.used += piece.memory.Bytes
	pool.topUsed = max(pool.topUsed, pool.used)
	d.pieces[piece.memory.Ptr] = piece
	piece.cut = false
	p.GPU.BeginLifetime(fakegpu.Lifetime{Device: pool.device, Stream: s, Range: piece.memory, Owner: "cudaMallocAsync"})
	return piece.memory.Ptr, 0
}

// cut says that an allocator has allocated memory, which may be part of what it has from a
// pool: from then on the owners of its parts are looked at, and no longer the piece's.
func (p *Process) cut(r spec.Range) {
	d := &p.pools
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, piece := range d.pieces { // at most one contains it
		if !piece.cut && piece.memory.Contains(r) {
			piece.cut = true
			p.GPU.EndLifetime(piece.memory.Ptr)
		}
	}
}

// inCapture reports whether a stream is being captured. Of another stream a thread that is not
// relaxed may ask nothing while a capture forbids it, which invalidates the capture.
func (p *Process) inCapture(dev spec.Device, s spec.Stream, mode uint64) (bool, error) {
	info, err := p.GPU.CaptureStatus(dev, s)
	if err != nil || info.Status != spec.CaptureNone {
		return err == nil, err
	}
	if mode != captureRelaxed {
		err = p.GPU.Free(dev, 0) // of nothing
	}
	return false, err
}

// freeAsync is cudaFreeAsync.
func (p *Process) freeAsync(at spec.Ptr, dev spec.Device, s spec.Stream, mode uint64) int {
	captured, err := p.inCapture(dev, s, mode)
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

// find takes the smallest piece that is large enough, and not twice as large, from those
// that the stream may use now.
func (pool *driverPool) find(p *Process, s spec.Stream, bytes uint64) (*pooledPiece, int) {
	best := -1
	for i, f := range pool.free {
		fits := f.memory.Bytes >= bytes && f.memory.Bytes/2 <= bytes
		if !fits || best >= 0 && pool.free[best].memory.Bytes <= f.memory.Bytes {
			continue
		}
		if f.stream != s {
			complete, err := p.GPU.QueryEvent(f.event)
			if err != nil || !complete {
				continue
			}
		}
		best = i
	}
	if best < 0 {
		return nil, 0
	}
	piece := pool.free[best]
	pool.free = slices.Delete(pool.free, best, best+1)
	return piece, number(p.GPU.DestroyEvent(piece.event))
}

// obtain asks the device, and if it has none once more when the pool has given up what it
// keeps.
func (pool *driverPool) obtain(p *Process, bytes uint64) (*pooledPiece, int) {
	bytes = (bytes + 511) &^ 511
	at, err := p.GPU.Malloc(pool.device, bytes)
	if errors.Is(err, spec.ErrDriverOutOfMemory) && len(pool.free) > 0 {
		if result := pool.trim(p, 0); result != 0 {
			return nil, result
		}
		at, err = p.GPU.Malloc(pool.device, bytes)
	}
	if err != nil {
		return nil, number(err)
	}
	pool.reserved += bytes
	pool.topReserved = max(pool.topReserved, pool.reserved)
	return &pooledPiece{pool: pool, memory: spec.Range{Ptr: at, Bytes: bytes}}, 0
}

// trim gives free pieces whose use is over back to the device, until no more than keep
// bytes are reserved.
func (pool *driverPool) trim(p *Process, keep uint64) int {
	kept := pool.free[:0]
	for i, f := range pool.free {
		if pool.reserved <= keep {
			kept = append(kept, pool.free[i:]...)
			break
		}
		complete, err := p.GPU.QueryEvent(f.event)
		if err == nil && complete {
			err = errors.Join(p.GPU.DestroyEvent(f.event), p.GPU.Free(pool.device, f.memory.Ptr))
			pool.reserved -= f.memory.Bytes
		} else {
			kept = append(kept, f)
		}
		if err != nil {
			pool.free = append(kept, pool.free[i+1:]...)
			return number(err)
		}
	}
	pool.free = kept
	return 0
}

// isPooled reports whether memory is a pool's and allocated.
func (p *Process) isPooled(at spec.Ptr) bool {
	p.pools.mu.Lock()
	defer p.pools.mu.Unlock()
	return p.pools.pieces[at] != nil
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
	piece := d.pieces[at]
	if piece == nil {
		return invalidValue
	}
	event, err := p.GPU.CreateEvent(dev)
	if err != nil {
		return number(err)
	}
	if err := p.GPU.RecordEvent(event, dev, s); err != nil {
		return number(errors.Join(err, p.GPU.DestroyEvent(event)))
	}
	delete(d.pieces, at)
	if !piece.cut {
		p.GPU.EndLifetime(at)
	}
	piece.stream, piece.event = s, event
	piece.pool.free = append(piece.pool.free, piece)
	piece.pool.used -= piece.memory.Bytes
	return 0
}

// waited: somebody has waited for the device, and pools give back what they keep beyond
// their thresholds.
func (p *Process) waited() int {
	d := &p.pools
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range sortedIDs(d.byID) {
		if pool := d.byID[id]; pool.reserved > pool.threshold && len(pool.free) > 0 {
			if result := pool.trim(p, pool.threshold); result != 0 {
				return result
			}
		}
	}
	return 0
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
		return pool.reserved, 0
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
		pool.flags[attribute] = value
	case attribute == attributeThreshold:
		pool.threshold = value
	case attribute == attributeTopReserved && value == 0:
		pool.topReserved = pool.reserved
	case attribute == attributeTopUsed && value == 0:
		pool.topUsed = pool.used
	default:
		return invalidValue
	}
	return 0
}
