package fakegpu

import (
	"fmt"

	"gaugeblock/spec"
)

// Malloc implements spec.Driver. Without Config.Charge the bytes are counted exactly: what
// the real driver rounds up to is documented nowhere. A request of zero bytes, for which
// the real driver gives a null pointer, is an error, as the contract has it.
func (g *GPU) Malloc(dev spec.Device, bytes uint64) (at spec.Ptr, err error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	defer func() { g.tell(callMalloc, dev, at, bytes, err) }()
	if err := g.enter(callMalloc); err != nil {
		return 0, err
	}
	v, err := g.view(callMalloc, dev)
	if err != nil {
		return 0, err
	}
	a, err := g.piece(v, bytes)
	if err != nil {
		return 0, err
	}
	return a.Ptr, nil
}

// piece makes a piece of memory.
func (g *GPU) piece(v *view, bytes uint64) (*area, error) {
	if bytes == 0 {
		return nil, cudaErrorInvalidValue.in(callMalloc, "zero bytes")
	}
	if reason := v.refusePiece(bytes); reason != "" {
		return nil, cudaErrorMemoryAllocation.in(callMalloc, "%s", reason)
	}
	a := &area{kind: areaPiece, device: v.device}
	a.Range = spec.Range{Ptr: v.addresses.Place(bytes), Bytes: bytes}
	if !g.space.vacant(a.Range) {
		v.addresses.Vacate(a.Ptr, bytes)
		return nil, cudaErrorUnknown.in(callMalloc, "the address policy chose %v for %d bytes, which is in use", a.Ptr, bytes)
	}
	err := g.machine.obtain(&a.own, v.device, bytes)
	if err == nil {
		if err = g.mapHost(callMalloc, a.Ptr, &a.own); err != nil {
			g.machine.drop(&a.own)
		}
	}
	if err != nil {
		v.addresses.Vacate(a.Ptr, bytes)
		return nil, cudaErrorMemoryAllocation.in(callMalloc, "the host has no memory: %v", err)
	}
	a.backing = &a.own
	g.space.areas.Set(a.Ptr, a)
	return a, nil
}

// refusePiece says why there is no memory for a piece; "" if there is.
func (v *view) refusePiece(bytes uint64) string {
	if v.script != nil {
		if succeeded, recorded := v.script.mallocOutcome(bytes); recorded {
			return recordedRefusal(succeeded, bytes)
		}
	}
	return v.physical.refuse(bytes)
}

// refuse says why there is no memory; "" if there is.
func (p *physical) refuse(bytes uint64) string {
	if p.charge(bytes) <= p.free() {
		return ""
	}
	return fmt.Sprintf("%d bytes are asked for and %d are free", bytes, p.free())
}

// recordedRefusal says why a script refuses memory; "" if the recorded call succeeded.
func recordedRefusal(succeeded bool, bytes uint64) string {
	if succeeded {
		return ""
	}
	return fmt.Sprintf("%d bytes are not what the recorded driver allocated next", bytes)
}

// Free implements spec.Driver. See Config.FreeWaits for what it waits for. Of the
// null pointer nothing is freed, as by the real driver.
func (g *GPU) Free(dev spec.Device, ptr spec.Ptr) (err error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	defer func() { g.tell(callFree, dev, ptr, 0, err) }()
	if err := g.enter(callFree); err != nil {
		return err
	}
	if _, err := g.view(callFree, dev); err != nil {
		return err
	}
	if err := g.forbid(callFree, cudaErrorStreamCaptureUnsupported); err != nil || ptr == 0 {
		return err
	}
	a := g.space.piece(areaPiece, ptr)
	switch {
	case a == nil || a.graph != nil:
		return cudaErrorInvalidValue.in(callFree, "%v is not a piece that Malloc gave", ptr)
	case a.device != dev:
		return cudaErrorInvalidValue.in(callFree, "%v belongs to device %d, not %d", ptr, a.device, dev)
	}
	if err := g.awaitRelease(a); err != nil {
		return err
	}
	if g.detector != nil {
		g.detector.returned(callFree, a.Range, accessOf(dev))
		g.detector.order.SynchronizeDevice(dev)
	}
	g.remove(a)
	return nil
}

// remove takes a piece of memory away.
func (g *GPU) remove(a *area) {
	v := g.devices[a.device]
	g.space.areas.Delete(a.Ptr)
	v.addresses.Vacate(a.Ptr, a.Bytes)
	g.unmapHost(a.Ptr, a.backing)
	g.machine.drop(a.backing)
	if v.script != nil {
		v.script.pieceFreed(a.Range)
	}
}

// MemInfo implements spec.Driver.
func (g *GPU) MemInfo(dev spec.Device) (free, total uint64, err error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callMemInfo); err != nil {
		return 0, 0, err
	}
	v, err := g.view(callMemInfo, dev)
	if err != nil {
		return 0, 0, err
	}
	return v.physical.free(), v.physical.TotalMemory, nil
}

// InUse is how many bytes of a device are allocated, by all processes. It is not a call of the
// driver. It panics if the device does not exist.
func (g *GPU) InUse(dev spec.Device) uint64 {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	return g.devices[dev].physical.used
}

// SetFreeMemory sets how many bytes of a device are free from here on, as if other
// programs took or gave back the rest, but no more than they could give back. It
// is not a call of the driver and is not counted as one. It panics if the device
// does not exist.
func (g *GPU) SetFreeMemory(dev spec.Device, bytes uint64) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	p := g.devices[dev].physical
	rest := p.TotalMemory - min(p.used, p.TotalMemory)
	p.limit = p.used + min(bytes, rest)
}

// launches is called before work that is launched. Copies need neither code nor memory of the driver.
func (v *view) launches(name string, bytes uint64) {
	listener, is := v.addresses.(processListener)
	switch name {
	case CopyOver, CopyOut:
	case CopyIn:
		if is {
			listener.copied(bytes)
		}
	default:
		v.takeLate(name)
		if is {
			listener.launched(name)
		}
	}
}
