//go:build cgo && linux

package cudaimpl

/*
#include "driver.h"

static CUresult stream_create(CUcontext c, CUstream *s) { return IN(c, cu.StreamCreate(s, STREAM_NON_BLOCKING)); }
static CUresult stream_destroy(CUcontext c, CUstream s) { return IN(c, cu.StreamDestroy(s)); }
static CUresult stream_synchronize(CUcontext c, CUstream s) { return IN(c, cu.StreamSynchronize(s)); }
static CUresult context_synchronize(CUcontext c) { return IN(c, cu.CtxSynchronize()); }
*/
import "C"

import "gaugeblock/spec"

// CreateStream implements spec.Executor (cuStreamCreate, non-blocking).
func (g *GPU) CreateStream(dev spec.Device) (spec.Stream, error) {
	const method = "CreateStream"
	context, err := g.context(method, dev)
	if err != nil {
		return 0, err
	}
	var s C.CUstream
	if err := check(method, "cuStreamCreate", C.stream_create(context, &s)); err != nil {
		return 0, err
	}
	g.ledger.add(kindStream, uint64(s), entry{device: dev})
	return spec.Stream(s), nil
}

// DestroyStream implements spec.Executor (cuStreamDestroy). A stream that was created
// elsewhere is not destroyed here.
func (g *GPU) DestroyStream(dev spec.Device, s spec.Stream) error {
	const method = "DestroyStream"
	context, err := g.context(method, dev)
	if err != nil {
		return err
	}
	if _, err := g.ledger.findOn(method, kindStream, uint64(s), dev); err != nil {
		return err
	}
	if err := check(method, "cuStreamDestroy", C.stream_destroy(context, C.CUstream(s))); err != nil {
		return err
	}
	g.ledger.drop(kindStream, uint64(s))
	g.ledger.endCapture(s)
	return nil
}

// SynchronizeStream implements spec.Driver (cuStreamSynchronize).
func (g *GPU) SynchronizeStream(dev spec.Device, s spec.Stream) error {
	const method = "SynchronizeStream"
	context, err := g.context(method, dev)
	if err != nil {
		return err
	}
	return check(method, "cuStreamSynchronize", C.stream_synchronize(context, C.CUstream(s)))
}

// SynchronizeDevice implements spec.Driver (cuCtxSynchronize).
func (g *GPU) SynchronizeDevice(dev spec.Device) error {
	const method = "SynchronizeDevice"
	context, err := g.context(method, dev)
	if err != nil {
		return err
	}
	return check(method, "cuCtxSynchronize", C.context_synchronize(context))
}
