//go:build cgo && linux

package host

/*
#include "gaugeblock_cuda_table.h"
*/
import "C"

import "gaugeblock/spec"

func (p *Process) poolOperation(operation C.int, w *words) (int, bool) {
	switch operation {
	case C.GAUGEBLOCK_POOL_MALLOC:
		at, result := p.poolMalloc(device(w[0]), uint64(w[1]), stream(w[2]), uint64(w[3]))
		w[4] = C.uint64_t(at)
		return result, true
	case C.GAUGEBLOCK_POOL_FREE:
		return p.freeAsync(ptr(w[1]), device(w[0]), stream(w[2])), true
	case C.GAUGEBLOCK_POOL_CREATE, C.GAUGEBLOCK_POOL_DEFAULT, C.GAUGEBLOCK_POOL_CURRENT, C.GAUGEBLOCK_POOL_MAKE_CURRENT, C.GAUGEBLOCK_POOL_DESTROY,
		C.GAUGEBLOCK_POOL_TRIM, C.GAUGEBLOCK_POOL_GET, C.GAUGEBLOCK_POOL_SET, C.GAUGEBLOCK_POOL_ACCESS:
		p.pools.mu.Lock()
		defer p.pools.mu.Unlock()
		return p.managePool(operation, w), true
	}
	return 0, false
}

// poolOfDevice makes a pool of a device, or finds one.
func (p *Process) poolOfDevice(operation C.int, w *words) int {
	d, dev := &p.pools, device(w[0])
	if d.pool(p, 0, dev) == nil {
		return invalidDevice
	}
	switch operation {
	case C.GAUGEBLOCK_POOL_CREATE:
		d.next += streamStep
		d.byID[d.next] = newDriverPool(p.GPU, dev)
		d.byID[d.next].most, d.byID[d.next].shareable = uint64(w[2]), w[3] != 0
		w[1] = C.uint64_t(d.next)
	case C.GAUGEBLOCK_POOL_DEFAULT:
		w[1] = C.uint64_t(dev) + 1
	case C.GAUGEBLOCK_POOL_CURRENT:
		w[1] = C.uint64_t(d.current[dev])
	case C.GAUGEBLOCK_POOL_MAKE_CURRENT:
		pool := d.byID[uint64(w[1])]
		if pool == nil || pool.destroyed || pool.opens != nil || pool.device != dev {
			return invalidValue
		}
		d.current[dev] = uint64(w[1])
	}
	return 0
}

// managePool does what is not about memory of a pool. The pools are locked.
func (p *Process) managePool(operation C.int, w *words) int {
	d := &p.pools
	switch operation {
	case C.GAUGEBLOCK_POOL_CREATE, C.GAUGEBLOCK_POOL_DEFAULT, C.GAUGEBLOCK_POOL_CURRENT, C.GAUGEBLOCK_POOL_MAKE_CURRENT:
		return p.poolOfDevice(operation, w)
	}
	pool := d.pool(p, uint64(w[0]), spec.Device(-1))
	if w[0] == 0 || pool == nil || pool.opens != nil && operation != C.GAUGEBLOCK_POOL_DESTROY {
		return invalidValue
	}
	switch operation {
	case C.GAUGEBLOCK_POOL_DESTROY:
		return d.destroy(uint64(w[0]))
	case C.GAUGEBLOCK_POOL_TRIM:
		return number(pool.trim(uint64(w[1])))
	case C.GAUGEBLOCK_POOL_GET:
		value, result := pool.get(uint64(w[1]))
		w[2] = C.uint64_t(value)
		return result
	case C.GAUGEBLOCK_POOL_SET:
		return pool.set(uint64(w[1]), uint64(w[2]))
	}
	// Access by a peer is the device's matter: EnablePeerAccess gives it.
	if device(w[1]) == pool.device {
		return 0
	}
	return number(p.GPU.EnablePeerAccess(device(w[1]), pool.device))
}
