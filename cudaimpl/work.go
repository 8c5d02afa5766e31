//go:build cgo && linux

package cudaimpl

/*
#include "driver.h"

static CUresult fill(CUcontext c, CUdeviceptr p, unsigned char value, size_t bytes, CUstream s) {
	return IN(c, cu.MemsetD8(p, value, bytes, s));
}
static CUresult copy(CUcontext c, CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream s) {
	return IN(c, cu.MemcpyDtoD(dst, src, bytes, s));
}
static CUresult copy_peer(CUcontext c, CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context, size_t bytes, CUstream s) {
	return IN(c, cu.MemcpyPeer(dst, dst_context, src, src_context, bytes, s));
}
// The bytes are where Go can move them, so the copy must be over on return.
static CUresult read_back(CUcontext c, void *to, CUdeviceptr p, size_t bytes, CUstream s) {
	CUresult r = bytes == 0 ? 0 : IN(c, cu.MemcpyDtoH(to, p, bytes, s));
	return r != 0 ? r : IN(c, cu.StreamSynchronize(s));
}
*/
import "C"

import (
	"hash/fnv"
	"unsafe"

	"gaugeblock/spec"
)

// A kernel needs a compiler for the device, and the contract does not need a kernel:
// "a launch names the bytes it reads and writes: a real device has no use for that".
// A launch is therefore a memset of each range that it writes, with a byte that is the
// kernel's, or of a few bytes of scratch memory if it writes none, so that there is
// always work, and in a capture always a node.

// scratchBytes is enough for something to be written.
const scratchBytes = 64

// Launch implements spec.Executor.
func (g *GPU) Launch(l spec.Launch) error {
	const method = "Launch"
	writes := l.Writes
	if len(writes) == 0 {
		scratch, err := g.scratch(method, l.Device)
		if err != nil {
			return err
		}
		writes = []spec.Range{{Ptr: scratch, Bytes: scratchBytes}}
	}
	for _, r := range writes {
		if err := g.fill(method, l.Device, l.Stream, r, launchValue(l.Name)); err != nil {
			return err
		}
	}
	return nil
}

// launchValue is the byte that a kernel writes.
func launchValue(name string) byte {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return byte(h.Sum32())
}

// scratch is a device's memory for launches that write nothing.
func (g *GPU) scratch(method string, dev spec.Device) (spec.Ptr, error) {
	context, err := g.context(method, dev)
	if err != nil {
		return 0, err
	}
	d := g.devices[dev]
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.scratch.Load(); p != 0 {
		return spec.Ptr(p), nil
	}
	p, err := g.mallocRaw(method, context, scratchBytes)
	if err == nil {
		d.scratch.Store(uint64(p))
	}
	return p, err
}

// Fill implements spec.Executor (cuMemsetD8Async).
func (g *GPU) Fill(dev spec.Device, s spec.Stream, r spec.Range, value byte) error {
	return g.fill("Fill", dev, s, r, value)
}

func (g *GPU) fill(method string, dev spec.Device, s spec.Stream, r spec.Range, value byte) error {
	context, err := g.context(method, dev)
	if err != nil || r.Bytes == 0 {
		return err
	}
	return check(method, "cuMemsetD8Async", C.fill(context, C.CUdeviceptr(r.Ptr), C.uchar(value), C.size_t(r.Bytes), C.CUstream(s)))
}

// Copy implements spec.Executor (cuMemcpyDtoDAsync, cuMemcpyPeerAsync).
func (g *GPU) Copy(c spec.Copy) error {
	const method = "Copy"
	context, err := g.context(method, c.Device)
	if err != nil || c.Bytes == 0 {
		return err
	}
	dst, src, bytes, stream := C.CUdeviceptr(c.Dst), C.CUdeviceptr(c.Src), C.size_t(c.Bytes), C.CUstream(c.Stream)
	if c.SrcDevice == c.DstDevice {
		return check(method, "cuMemcpyDtoDAsync", C.copy(context, dst, src, bytes, stream))
	}
	from, err := g.context(method, c.SrcDevice)
	if err != nil {
		return err
	}
	to, err := g.context(method, c.DstDevice)
	if err != nil {
		return err
	}
	return check(method, "cuMemcpyPeerAsync", C.copy_peer(context, dst, to, src, from, bytes, stream))
}

// ReadBack implements spec.Executor (cuMemcpyDtoHAsync, cuStreamSynchronize).
func (g *GPU) ReadBack(dev spec.Device, s spec.Stream, r spec.Range) ([]byte, error) {
	const method = "ReadBack"
	context, err := g.context(method, dev)
	if err != nil {
		return nil, err
	}
	data := make([]byte, r.Bytes)
	to := unsafe.Pointer(unsafe.SliceData(data))
	err = check(method, "cuMemcpyDtoHAsync", C.read_back(context, to, C.CUdeviceptr(r.Ptr), C.size_t(r.Bytes), C.CUstream(s)))
	if err != nil {
		return nil, err
	}
	return data, nil
}
