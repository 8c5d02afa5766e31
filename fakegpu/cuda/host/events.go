//go:build cgo && linux

package host

/*
#include "gaugeblock_cuda_table.h"
*/
import "C"

import "gaugeblock/spec"

// CUDA's flags of events.
const (
	disableTiming = 2
	interprocess  = 4
)

// createEvent: an event that other processes can open has no time.
func (p *Process) createEvent(w *words) int {
	flags := uint64(w[2])
	if flags&interprocess != 0 && flags&disableTiming == 0 {
		return invalidValue
	}
	create := p.GPU.CreateTimedEvent
	if flags&disableTiming != 0 {
		create = p.GPU.CreateEvent
	}
	e, err := create(device(w[0]))
	w[1] = C.uint64_t(e)
	if err == nil && flags&interprocess != 0 {
		p.shareable.Store(e, true)
	}
	return number(err)
}

// shareEvent gives a handle of an event that was created for it.
func (p *Process) shareEvent(w *words) int {
	e := spec.EventHandle(w[0])
	if _, can := p.shareable.Load(e); !can {
		return invalidHandle
	}
	handle, err := p.GPU.ShareEvent(e)
	copy(memory(w[1], 64), handle)
	return number(err)
}
