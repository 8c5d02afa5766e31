//go:build cgo && linux

package host

/*
#include "gaugeblock_cuda_table.h"
*/
import "C"

import (
	"fmt"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// ownOperation does what is not CUDA's.
func (p *Process) ownOperation(operation C.int, w *words) (int, bool) {
	g := p.GPU
	switch operation {
	case C.GAUGEBLOCK_BUSY:
		return number(g.Busy(device(w[0]), stream(w[1]))), true
	case C.GAUGEBLOCK_DRAIN:
		return number(g.Drain(device(w[0]), stream(w[1]))), true
	case C.GAUGEBLOCK_SET_FREE:
		if device(w[0]) < 0 || int(device(w[0])) >= g.DeviceCount() {
			return 101, true
		}
		g.SetFreeMemory(device(w[0]), uint64(w[1]))
		return 0, true
	case C.GAUGEBLOCK_FAULT:
		err := g.Inject(spec.FaultSpec{Call: text(w[0]), Nth: int(int64(w[1])), Error: text(w[2])})
		if err != nil {
			if p.Log != nil {
				fmt.Fprintf(p.Log, "fake CUDA: %v\n", err)
			}
			return invalidValue, true
		}
		return 0, true
	case C.GAUGEBLOCK_ALLOCATED:
		r := spec.Range{Ptr: ptr(w[2]), Bytes: uint64(w[3])}
		g.BeginLifetime(fakegpu.Lifetime{Device: device(w[0]), Stream: stream(w[1]), Range: r})
		return 0, true
	case C.GAUGEBLOCK_FREED:
		g.EndLifetime(ptr(w[0]))
		return 0, true
	case C.GAUGEBLOCK_TOUCHED:
		touched := []spec.Range{{Ptr: ptr(w[0]), Bytes: 1}}
		if w[1] == 0 {
			g.HostAccess("of the program", touched, nil)
		} else {
			g.HostAccess("of the program", nil, touched)
		}
		return 0, true
	case C.GAUGEBLOCK_HAZARDS:
		w[0] = C.uint64_t(len(g.Hazards()))
		return 0, true
	case C.GAUGEBLOCK_HAZARD:
		return p.hazard(w), true
	case C.GAUGEBLOCK_RELEASE, C.GAUGEBLOCK_ACQUIRE:
		p.order(uint64(w[0]), operation == C.GAUGEBLOCK_ACQUIRE)
		return 0, true
	case C.GAUGEBLOCK_WATCHDOG_LOOKS:
		p.looks(w[0] == C.GAUGEBLOCK_AT_END_OF_GROUP)
		return 0, true
	case C.GAUGEBLOCK_HANDLE:
		return p.handle(device(w[0]), w[1]), true
	case C.GAUGEBLOCK_LACKS:
		p.lacks(text(w[0]))
		return 0, true
	case C.GAUGEBLOCK_FINISH:
		return p.finish(), true
	}
	return 0, false
}

// handle tells the GPU of a handle of a library.
func (p *Process) handle(dev spec.Device, of C.uint64_t) int {
	if dev < 0 || int(dev) >= p.GPU.DeviceCount() {
		return 101
	}
	switch of {
	case C.GAUGEBLOCK_OF_CUBLAS:
		p.GPU.MakeHandle(dev, fakegpu.CuBLAS)
	case C.GAUGEBLOCK_OF_CUDNN:
		p.GPU.MakeHandle(dev, fakegpu.CuDNN)
	case C.GAUGEBLOCK_OF_NCCL:
		p.GPU.SecondHandleIsCounted(dev)
	}
	return 0
}

func (p *Process) hazard(w *words) int {
	found := p.GPU.Hazards()
	if uint64(w[0]) >= uint64(len(found)) {
		return invalidValue
	}
	words := found[w[0]].String()
	put(w[1], w[2], words)
	w[3] = C.uint64_t(len(words))
	return 0
}

func (p *Process) finish() int {
	if p.Report == nil {
		return 0
	}
	if err := p.Report(); err != nil {
		if p.Log != nil {
			fmt.Fprintf(p.Log, "fake CUDA: the report: %v\n", err)
		}
		return unknown
	}
	return 0
}
