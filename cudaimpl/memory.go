//go:build cgo && linux

package cudaimpl

/*
#include "driver.h"

// During a capture that is not relaxed cuMemAlloc is illegal for the threads that
// its mode concerns, unless the thread says that it knows what it does.
static CUresult mem_alloc(CUcontext c, CUdeviceptr *p, size_t bytes) {
	int mode = CAPTURE_RELAXED;
	CUresult r = cu.ThreadExchangeCaptureMode(&mode);
	if (r != 0) {
		return r;
	}
	r = IN(c, cu.MemAlloc(p, bytes));
	cu.ThreadExchangeCaptureMode(&mode);
	return r;
}
static CUresult mem_free(CUcontext c, CUdeviceptr p) { return IN(c, cu.MemFree(p)); }
static CUresult mem_info(CUcontext c, size_t *available, size_t *total) { return IN(c, cu.MemGetInfo(available, total)); }
*/
import "C"

import "gaugeblock/spec"

// Malloc implements spec.Driver (cuMemAlloc).
func (g *GPU) Malloc(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	const method = "Malloc"
	context, err := g.context(method, dev)
	if err != nil {
		return 0, err
	}
	p, err := g.mallocRaw(method, context, bytes)
	if err != nil {
		return 0, err
	}
	g.ledger.add(kindPiece, uint64(p), entry{device: dev, bytes: bytes})
	return p, nil
}

// mallocRaw and freeRaw are for memory that is in no ledger.
func (g *GPU) mallocRaw(method string, context C.CUcontext, bytes uint64) (spec.Ptr, error) {
	var p C.CUdeviceptr
	err := check(method, "cuMemAlloc", C.mem_alloc(context, &p, C.size_t(bytes)))
	return spec.Ptr(p), err
}

// Free implements spec.Driver (cuMemFree). The null pointer is nothing to free.
func (g *GPU) Free(dev spec.Device, ptr spec.Ptr) error {
	const method = "Free"
	context, err := g.context(method, dev)
	if err != nil || ptr == 0 {
		return err
	}
	if _, err := g.ledger.findOn(method, kindPiece, uint64(ptr), dev); err != nil {
		return err
	}
	if err := g.freeRaw(method, context, uint64(ptr)); err != nil {
		return err
	}
	g.ledger.drop(kindPiece, uint64(ptr))
	return nil
}

func (g *GPU) freeRaw(method string, context C.CUcontext, ptr uint64) error {
	return check(method, "cuMemFree", C.mem_free(context, C.CUdeviceptr(ptr)))
}

// MemInfo implements spec.Driver (cuMemGetInfo).
func (g *GPU) MemInfo(dev spec.Device) (free, total uint64, err error) {
	const method = "MemInfo"
	context, err := g.context(method, dev)
	if err != nil {
		return 0, 0, err
	}
	var available, all C.size_t
	err = check(method, "cuMemGetInfo", C.mem_info(context, &available, &all))
	return uint64(available), uint64(all), err
}
