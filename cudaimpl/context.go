//go:build cgo && linux

package cudaimpl

/*
#include "driver.h"

static CUresult device(CUdevice *d, int i) { return cu.DeviceGet(d, i); }
static CUresult device_name(char *name, int n, CUdevice d) { return cu.DeviceGetName(name, n, d); }
static CUresult device_total(size_t *bytes, CUdevice d) { return cu.DeviceTotalMem(bytes, d); }
static CUresult device_attribute(int *value, int which, CUdevice d) { return cu.DeviceGetAttribute(value, which, d); }
static CUresult retain(CUcontext *c, CUdevice d) { return cu.PrimaryCtxRetain(c, d); }
static CUresult release(CUdevice d) { return cu.PrimaryCtxRelease(d); }
static CUresult current_device(CUdevice *d) { return cu.CtxGetDevice(d); }
static CUresult stream_context(CUcontext any, CUstream s, CUcontext *c) { return IN(any, cu.StreamGetCtx(s, c)); }
*/
import "C"

import (
	"sync"
	"sync/atomic"

	"gaugeblock/spec"
)

// A GPU is this process's view of the machine's devices. All methods may be called
// from several goroutines at once; Close when no other method is under way.
type GPU struct {
	devices []*device
	ledger  ledger
	holds   holds
}

// What a GPU can do.
var (
	_ spec.Driver        = (*GPU)(nil)
	_ spec.VirtualMemory = (*GPU)(nil)
	_ spec.MemorySharing = (*GPU)(nil)
	_ spec.FabricAsker   = (*GPU)(nil)
	_ spec.PeerAccess    = (*GPU)(nil)
	_ spec.Executor      = (*GPU)(nil)
)

// device is one of them. Its primary context costs hundreds of megabytes of device
// memory, so it is retained when a call first needs it.
type device struct {
	handle  C.CUdevice
	context atomic.Uint64
	scratch atomic.Uint64 // device memory for launches that write nothing, see work.go
	mu      sync.Mutex    // held while either is being made
}

// Open makes the machine's devices usable. The error is an *UnavailableError if
// there is nothing to use, and says why.
func Open() (*GPU, error) {
	if err := load(); err != nil {
		return nil, err
	}
	n, err := countDevices()
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, &UnavailableError{"the machine has no device"}
	}
	g := &GPU{}
	g.ledger.open()
	for i := range n {
		d := &device{}
		if err := check("Open", "cuDeviceGet", C.device(&d.handle, C.int(i))); err != nil {
			return nil, err
		}
		g.devices = append(g.devices, d)
	}
	return g, nil
}

// DeviceCount implements spec.Driver.
func (g *GPU) DeviceCount() int { return len(g.devices) }

// device finds a device.
func (g *GPU) device(method string, dev spec.Device) (*device, error) {
	if dev < 0 || int(dev) >= len(g.devices) {
		return nil, refuse(method, invalidDevice, "there is no device %d", dev)
	}
	return g.devices[dev], nil
}

// context is the primary context of a device.
func (g *GPU) context(method string, dev spec.Device) (C.CUcontext, error) {
	d, err := g.device(method, dev)
	if err != nil {
		return 0, err
	}
	if c := d.context.Load(); c != 0 {
		return C.CUcontext(c), nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c := C.CUcontext(d.context.Load())
	if c != 0 {
		return c, nil
	}
	if err := check(method, "cuDevicePrimaryCtxRetain", C.retain(&c, d.handle)); err != nil {
		return 0, err
	}
	d.context.Store(uint64(c))
	return c, nil
}

// anyContext is a context that is there already, for calls that are about things and
// not about a device; the first device's if there is none.
func (g *GPU) anyContext(method string) (C.CUcontext, error) {
	for _, d := range g.devices {
		if c := d.context.Load(); c != 0 {
			return C.CUcontext(c), nil
		}
	}
	return g.context(method, 0)
}

// Properties implements spec.Driver.
func (g *GPU) Properties(dev spec.Device) (spec.DeviceProperties, error) {
	const method = "Properties"
	d, err := g.device(method, dev)
	if err != nil {
		return spec.DeviceProperties{}, err
	}
	var (
		name [256]C.char
		size C.size_t
		rdma C.int
	)
	if err := check(method, "cuDeviceGetName", C.device_name(&name[0], C.int(len(name)), d.handle)); err != nil {
		return spec.DeviceProperties{}, err
	}
	if err := check(method, "cuDeviceTotalMem", C.device_total(&size, d.handle)); err != nil {
		return spec.DeviceProperties{}, err
	}
	if err := check(method, "cuDeviceGetAttribute", C.device_attribute(&rdma, C.ATTRIBUTE_RDMA_WITH_VIRTUAL_MEMORY, d.handle)); err != nil {
		return spec.DeviceProperties{}, err
	}
	return spec.DeviceProperties{Name: C.GoString(&name[0]), TotalMemory: uint64(size), RDMAWithVirtualMemory: rdma != 0}, nil
}

// StreamDevice is the device that a stream is of. For the default stream, which every
// device has, it is the one that is current on the calling thread.
func (g *GPU) StreamDevice(s spec.Stream) (spec.Device, error) {
	const method = "StreamDevice"
	if s == 0 {
		var current C.CUdevice
		err := check(method, "cuCtxGetDevice", C.current_device(&current))
		return g.number(current), err
	}
	context, err := g.anyContext(method)
	if err != nil {
		return 0, err
	}
	var of C.CUcontext
	if err := check(method, "cuStreamGetCtx", C.stream_context(context, C.CUstream(s), &of)); err != nil {
		return 0, err
	}
	for i, d := range g.devices {
		if d.context.Load() == uint64(of) {
			return spec.Device(i), nil
		}
	}
	// A device that nothing was asked of yet: its context is retained, and compared.
	for i := range g.devices {
		if c, err := g.context(method, spec.Device(i)); err == nil && c == of {
			return spec.Device(i), nil
		}
	}
	return 0, refuse(method, invalidHandle, "stream %v is of no device's primary context", s)
}

// number is the number of a device in the driver's order.
func (g *GPU) number(d C.CUdevice) spec.Device {
	for i := range g.devices {
		if g.devices[i].handle == d {
			return spec.Device(i)
		}
	}
	return 0
}
