//go:build cgo && linux

package cudaimpl

/*
#include "driver.h"

static CUresult reserve(CUcontext c, CUdeviceptr *p, size_t bytes) { return IN(c, cu.MemAddressReserve(p, bytes, 0, 0, 0)); }
static CUresult address_free(CUcontext c, CUdeviceptr p, size_t bytes) { return IN(c, cu.MemAddressFree(p, bytes)); }
static CUresult create(CUcontext c, CUmemHandle *h, int device, size_t bytes, int handles, int rdma) {
	CUmemProperties properties = {
		.type = ALLOCATION_PINNED,
		.handles = handles,
		.location = {LOCATION_DEVICE, device},
		.rdma = rdma,
	};
	return IN(c, cu.MemCreate(h, bytes, &properties, 0));
}
static CUresult release_page(CUcontext c, CUmemHandle h) { return IN(c, cu.MemRelease(h)); }
static CUresult map_page(CUcontext c, CUdeviceptr p, size_t bytes, CUmemHandle h) { return IN(c, cu.MemMap(p, bytes, 0, h, 0)); }
static CUresult set_access(CUcontext c, CUdeviceptr p, size_t bytes, int device) {
	CUmemAccess access = {{LOCATION_DEVICE, device}, ACCESS_READ_WRITE};
	return IN(c, cu.MemSetAccess(p, bytes, &access, 1));
}
static CUresult unmap(CUcontext c, CUdeviceptr p, size_t bytes) { return IN(c, cu.MemUnmap(p, bytes)); }
static CUresult attribute(int *value, int which, CUdevice d) { return cu.DeviceGetAttribute(value, which, d); }
*/
import "C"

import (
	"os"

	"gaugeblock/spec"
)

// Every mapping is one whole page, as the contract has it; the driver could do more.

// ReserveAddress implements spec.VirtualMemory (cuMemAddressReserve).
func (g *GPU) ReserveAddress(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	const method = "ReserveAddress"
	context, err := g.context(method, dev)
	if err != nil {
		return 0, err
	}
	var p C.CUdeviceptr
	if err := check(method, "cuMemAddressReserve", C.reserve(context, &p, C.size_t(bytes))); err != nil {
		return 0, err
	}
	g.ledger.add(kindRange, uint64(p), entry{device: dev, bytes: bytes})
	return spec.Ptr(p), nil
}

// FreeAddress implements spec.VirtualMemory (cuMemAddressFree).
func (g *GPU) FreeAddress(ptr spec.Ptr, bytes uint64) error {
	const method = "FreeAddress"
	e, err := g.ledger.find(method, kindRange, uint64(ptr))
	if err != nil {
		return err
	}
	whole := spec.Range{Ptr: ptr, Bytes: e.bytes}
	if bytes != e.bytes {
		return refuse(method, invalidValue, "the range at %v has %d bytes, not %d", ptr, e.bytes, bytes)
	}
	for _, at := range g.ledger.inOrder(kindMapping) {
		if whole.Contains(spec.Range{Ptr: spec.Ptr(at), Bytes: 1}) {
			return refuse(method, invalidValue, "a page is mapped at %v", spec.Ptr(at))
		}
	}
	context, err := g.context(method, e.device)
	if err != nil {
		return err
	}
	if err := check(method, "cuMemAddressFree", C.address_free(context, C.CUdeviceptr(ptr), C.size_t(bytes))); err != nil {
		return err
	}
	g.ledger.drop(kindRange, uint64(ptr))
	return nil
}

// CreatePage implements spec.VirtualMemory (cuMemCreate). Where the device allows it
// the page can be used by GPUDirect RDMA.
func (g *GPU) CreatePage(dev spec.Device, bytes uint64, share spec.ShareType) (spec.PageHandle, error) {
	const method = "CreatePage"
	context, err := g.context(method, dev)
	if err != nil {
		return 0, err
	}
	d := g.devices[dev]
	var virtual, rdma C.int
	if err := check(method, "cuDeviceGetAttribute", C.attribute(&virtual, C.ATTRIBUTE_VIRTUAL_MEMORY, d.handle)); err != nil {
		return 0, err
	}
	if virtual == 0 {
		return 0, refuse(method, notSupported, "device %d has no virtual memory", dev)
	}
	if err := check(method, "cuDeviceGetAttribute", C.attribute(&rdma, C.ATTRIBUTE_RDMA_WITH_VIRTUAL_MEMORY, d.handle)); err != nil {
		return 0, err
	}
	handles, err := handleType(method, share)
	if err != nil {
		return 0, err
	}
	var h C.CUmemHandle
	if err := check(method, "cuMemCreate", C.create(context, &h, C.int(d.handle), C.size_t(bytes), handles, rdma)); err != nil {
		return 0, err
	}
	g.ledger.add(kindPage, uint64(h), entry{device: dev, bytes: bytes})
	return spec.PageHandle(h), nil
}

// FabricAccess implements spec.FabricAsker
// (CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED). A driver that does not know the attribute has
// no fabric handles.
func (g *GPU) FabricAccess(dev spec.Device) (bool, error) {
	d, err := g.device("FabricAccess", dev)
	if err != nil {
		return false, err
	}
	var fabric C.int
	known := C.attribute(&fabric, C.ATTRIBUTE_FABRIC_HANDLES, d.handle) == 0
	return known && fabric != 0, nil
}

// handleType is CUDA's number of a way to share.
func handleType(method string, share spec.ShareType) (C.int, error) {
	switch share {
	case spec.SharePOSIX:
		return C.HANDLE_POSIX, nil
	case spec.ShareFabric:
		return C.HANDLE_FABRIC, nil
	}
	return 0, refuse(method, invalidValue, "there is no share type %d", int(share))
}

// ReleasePage implements spec.VirtualMemory (cuMemRelease). A file descriptor that the
// page was exported as is closed as well: who wants the memory has it by then.
func (g *GPU) ReleasePage(page spec.PageHandle) error {
	const method = "ReleasePage"
	e, err := g.ledger.find(method, kindPage, uint64(page))
	if err != nil {
		return err
	}
	context, err := g.context(method, e.device)
	if err != nil {
		return err
	}
	if err := check(method, "cuMemRelease", C.release_page(context, C.CUmemHandle(page))); err != nil {
		return err
	}
	g.ledger.drop(kindPage, uint64(page))
	if e.hasFD {
		if err := os.NewFile(uintptr(e.fd), "page").Close(); err != nil {
			return refuse(method, errorOfThisPackage, "closing file descriptor %d: %v", e.fd, err)
		}
	}
	return nil
}

// MapPage implements spec.VirtualMemory (cuMemMap).
func (g *GPU) MapPage(ptr spec.Ptr, bytes uint64, page spec.PageHandle) error {
	const method = "MapPage"
	e, err := g.ledger.find(method, kindPage, uint64(page))
	if err != nil {
		return err
	}
	context, err := g.context(method, e.device)
	if err != nil {
		return err
	}
	if err := check(method, "cuMemMap", C.map_page(context, C.CUdeviceptr(ptr), C.size_t(bytes), C.CUmemHandle(page))); err != nil {
		return err
	}
	g.ledger.add(kindMapping, uint64(ptr), entry{device: e.device, bytes: bytes})
	return nil
}

// SetAccess implements spec.VirtualMemory (cuMemSetAccess).
func (g *GPU) SetAccess(ptr spec.Ptr, bytes uint64, dev spec.Device) error {
	const method = "SetAccess"
	context, err := g.context(method, dev)
	if err != nil {
		return err
	}
	return check(method, "cuMemSetAccess", C.set_access(context, C.CUdeviceptr(ptr), C.size_t(bytes), C.int(g.devices[dev].handle)))
}

// UnmapPage implements spec.VirtualMemory (cuMemUnmap).
func (g *GPU) UnmapPage(ptr spec.Ptr, bytes uint64) error {
	const method = "UnmapPage"
	e, err := g.ledger.find(method, kindMapping, uint64(ptr))
	if err == nil && e.bytes != bytes {
		err = refuse(method, invalidValue, "the page at %v has %d bytes, not %d", ptr, e.bytes, bytes)
	}
	if err != nil {
		return err
	}
	context, err := g.context(method, e.device)
	if err != nil {
		return err
	}
	if err := check(method, "cuMemUnmap", C.unmap(context, C.CUdeviceptr(ptr), C.size_t(bytes))); err != nil {
		return err
	}
	g.ledger.drop(kindMapping, uint64(ptr))
	return nil
}
