//go:build cgo && linux

package cudaimpl

/*
#include "driver.h"

static CUresult release_context(CUdevice d) { return cu.PrimaryCtxRelease(d); }
*/
import "C"

import (
	"errors"

	"gaugeblock/spec"
)

// Close opens all holds, releases what it still has of the driver, in whatever state,
// and releases the devices' contexts. It goes on after an error; the errors come
// together. A GPU that is closed is not to be used again.
func (g *GPU) Close() error {
	failures := g.closeHolds()
	for k := range numKinds {
		for _, handle := range g.ledger.inOrder(k) {
			failures = errors.Join(failures, g.giveBack(k, handle))
		}
	}
	for _, d := range g.devices {
		if d.context.Load() == 0 {
			continue
		}
		if p := d.scratch.Swap(0); p != 0 {
			failures = errors.Join(failures, g.freeRaw("Close", C.CUcontext(d.context.Load()), p))
		}
		failures = errors.Join(failures, check("Close", "cuDevicePrimaryCtxRelease", C.release_context(d.handle)))
		d.context.Store(0)
	}
	return failures
}

// giveBack ends a thing as the contract ends it.
func (g *GPU) giveBack(k kind, handle uint64) error {
	e, err := g.ledger.find("Close", k, handle)
	if err != nil {
		return err
	}
	switch k {
	case kindGraphExec:
		return g.DestroyGraphExec(spec.GraphExec(handle))
	case kindGraph:
		return g.DestroyGraph(spec.Graph(handle))
	case kindStream:
		return g.DestroyStream(e.device, spec.Stream(handle))
	case kindEvent:
		return g.DestroyEvent(spec.EventHandle(handle))
	case kindOpened:
		return g.CloseMemory(e.device, spec.Ptr(handle))
	case kindMapping:
		return g.UnmapPage(spec.Ptr(handle), e.bytes)
	case kindRange:
		return g.FreeAddress(spec.Ptr(handle), e.bytes)
	case kindPage:
		return g.ReleasePage(spec.PageHandle(handle))
	}
	return g.Free(e.device, spec.Ptr(handle))
}
