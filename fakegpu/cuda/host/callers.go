//go:build cgo && linux

package host

/*
#include "gaugeblock_cuda_table.h"
*/
import "C"

import (
	"golang.org/x/sys/unix"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// call makes a call of the libraries: an operation, with the capture mode of the thread.
func (p *Process) call(operation C.int, w *words) int {
	mode := spec.CaptureMode(operation >> C.GAUGEBLOCK_MODE)
	operation &= 1<<C.GAUGEBLOCK_MODE - 1
	if in := p.function.Load(); in != 0 && int(in) == unix.Gettid() {
		return notPermitted
	}
	if p.remote != nil {
		return p.performRemotely(operation, mode, w)
	}
	if mode != spec.CaptureGlobal {
		thread := callingThread(mode).Thread
		p.modes.Store(thread, mode)
		defer p.modes.Delete(thread)
	}
	return p.perform(operation, w)
}

func callingThread(mode spec.CaptureMode) fakegpu.Caller {
	return fakegpu.Caller{Thread: spec.Thread(unix.Gettid()), Mode: mode}
}

// caller says who makes the call that is under way on the calling thread.
func (p *Process) caller() fakegpu.Caller {
	if p.served != nil {
		return *p.served
	}
	c := callingThread(spec.CaptureGlobal)
	if mode, is := p.modes.Load(c.Thread); is {
		c.Mode = mode.(spec.CaptureMode)
	}
	if !p.CallersDiffer {
		c.Thread = 0
	}
	return c
}
