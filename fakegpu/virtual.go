package fakegpu

import (
	"github.com/tidwall/btree"

	"gaugeblock/spec"
)

// Virtual memory: addresses apart from the memory behind them. A page is created,
// which is when its memory is counted, mapped at an address of a reserved range,
// made accessible device by device, unmapped and released. Its memory is free
// again when it is neither mapped nor held by a handle.
//
// The real driver is more lenient than the contract, and than what is here, in
// four points: it unmaps what is not mapped, it unmaps several pages at once, it
// gives access across gaps, and it unmaps under any capture.

// page is a handle on physical memory.
type page struct {
	backing  *backing
	share    spec.ShareType
	imported bool
	mapped   bool // has ever been mapped through this handle
}

// ReserveAddress implements spec.VirtualMemory.
func (g *GPU) ReserveAddress(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	return g.reserveAddress(dev, bytes)
}

func (g *GPU) reserveAddress(dev spec.Device, bytes uint64) (at spec.Ptr, err error) {
	defer func() { g.tell(callReserveAddress, dev, at, bytes, err) }()
	if err := g.enter(callReserveAddress); err != nil {
		return 0, err
	}
	v, err := g.view(callReserveAddress, dev)
	if err != nil {
		return 0, err
	}
	if err := g.wholePages(callReserveAddress, bytes); err != nil {
		return 0, err
	}
	if bytes > windowBytes/4 {
		return 0, driverOutOfMemory.in(callReserveAddress, "%d bytes of address space", bytes)
	}
	a := &area{kind: areaReserved, device: dev, mappings: &btree.Map[spec.Ptr, *mapping]{}}
	a.Range = spec.Range{Ptr: v.addresses.PlaceRange(bytes), Bytes: bytes}
	if !g.space.vacant(a.Range) {
		v.addresses.VacateRange(a.Ptr, bytes)
		return 0, driverUnknown.in(callReserveAddress, "the address policy chose %v for %d bytes, which is in use", a.Ptr, bytes)
	}
	g.space.areas.Set(a.Ptr, a)
	return a.Ptr, nil
}

// wholePages refuses sizes that are no positive multiple of the granularity.
func (g *GPU) wholePages(c call, bytes uint64) error {
	step := g.machine.config.PageGranularity
	if bytes == 0 || bytes%step != 0 {
		return driverInvalidValue.in(c, "%d bytes are no positive multiple of the page granularity %d (see Config.PageGranularity)", bytes, step)
	}
	return nil
}

// FreeAddress implements spec.VirtualMemory.
func (g *GPU) FreeAddress(ptr spec.Ptr, bytes uint64) (err error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	defer func() { g.tell(callFreeAddress, 0, ptr, bytes, err) }()
	if err := g.enter(callFreeAddress); err != nil {
		return err
	}
	a := g.space.piece(areaReserved, ptr)
	switch {
	case a == nil:
		return driverInvalidValue.in(callFreeAddress, "no range was reserved at %v", ptr)
	case a.Bytes != bytes:
		return driverInvalidValue.in(callFreeAddress, "the range at %v has %d bytes, not %d", ptr, a.Bytes, bytes)
	case a.mappings.Len() > 0:
		return driverInvalidValue.in(callFreeAddress, "%d pages are mapped in the range at %v", a.mappings.Len(), ptr)
	}
	g.space.areas.Delete(ptr)
	g.devices[a.device].addresses.VacateRange(ptr, bytes)
	return nil
}

// CreatePage implements spec.VirtualMemory.
func (g *GPU) CreatePage(dev spec.Device, bytes uint64, share spec.ShareType) (_ spec.PageHandle, err error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	defer func() { g.tell(callCreatePage, dev, 0, bytes, err) }()
	if err := g.enter(callCreatePage); err != nil {
		return 0, err
	}
	v, err := g.view(callCreatePage, dev)
	if err != nil {
		return 0, err
	}
	if err := g.wholePages(callCreatePage, bytes); err != nil {
		return 0, err
	}
	switch {
	case share != spec.SharePOSIX && share != spec.ShareFabric:
		return 0, driverInvalidValue.in(callCreatePage, "there is no share type %d", int(share))
	case share == spec.ShareFabric && !v.physical.Fabric:
		return 0, driverNotPermitted.in(callCreatePage, "device %d has no fabric handles", dev)
	}
	if reason := v.refusePage(bytes); reason != "" {
		return 0, driverOutOfMemory.in(callCreatePage, "%s", reason)
	}
	b := &backing{}
	if err := g.machine.obtain(b, dev, bytes); err != nil {
		return 0, driverOutOfMemory.in(callCreatePage, "the host has no memory: %v", err)
	}
	return g.addPage(&page{backing: b, share: share}), nil
}

// refusePage says why there is no memory for a page; "" if there is.
func (v *view) refusePage(bytes uint64) string {
	if v.script != nil {
		if succeeded, recorded := v.script.createPageOutcome(bytes); recorded {
			return recordedRefusal(succeeded, bytes)
		}
	}
	return v.physical.refuse(bytes)
}

func (g *GPU) addPage(p *page) spec.PageHandle {
	handle := spec.PageHandle(g.newHandle())
	g.pages[handle] = p
	return handle
}

// page finds a page.
func (g *GPU) page(c call, handle spec.PageHandle) (*page, error) {
	if p := g.pages[handle]; p != nil {
		return p, nil
	}
	return nil, driverInvalidValue.in(c, "there is no page %#x", uint64(handle))
}

// FabricAccess implements spec.FabricAsker.
func (g *GPU) FabricAccess(dev spec.Device) (bool, error) {
	v, err := g.view(callCreatePage, dev)
	if err != nil {
		return false, err
	}
	return v.physical.Fabric, nil
}

// ReleasePage implements spec.VirtualMemory.
func (g *GPU) ReleasePage(handle spec.PageHandle) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callReleasePage); err != nil {
		return err
	}
	p, err := g.page(callReleasePage, handle)
	if err != nil {
		return err
	}
	delete(g.pages, handle)
	g.machine.drop(p.backing)
	if script := g.devices[p.backing.device].script; script != nil && !p.mapped && !p.imported {
		script.pageDropped(p.backing.bytes)
	}
	return nil
}

// reservedAround finds the reserved range that holds all of a range of pages.
func (g *GPU) reservedAround(c call, r spec.Range) (*area, error) {
	if err := g.wholePages(c, r.Bytes); err != nil {
		return nil, err
	}
	a := g.space.around(r.Ptr)
	switch {
	case a == nil || a.kind != areaReserved || !a.Contains(r):
		return nil, driverInvalidValue.in(c, "%d bytes at %v are not in one reserved range", r.Bytes, r.Ptr)
	case uint64(r.Ptr-a.Ptr)%g.machine.config.PageGranularity != 0:
		return nil, driverInvalidValue.in(c, "%v is no multiple of the page granularity", r.Ptr)
	}
	return a, nil
}

// ReserveForPool reserves addresses for a pool of the driver's: what is mapped there is the
// driver's to give back.
func (g *GPU) ReserveForPool(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	at, err := g.reserveAddress(dev, bytes)
	for _, f := range g.listeners {
		f(MemoryCall{Call: "ReserveForPool", Device: dev, Ptr: at, Bytes: bytes, Err: err})
	}
	return at, err
}

// MapPage implements spec.VirtualMemory. One page may be mapped at several
// addresses.
func (g *GPU) MapPage(ptr spec.Ptr, bytes uint64, handle spec.PageHandle) (err error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	defer func() { g.tell(callMapPage, 0, ptr, bytes, err) }()
	if err := g.enter(callMapPage); err != nil {
		return err
	}
	p, err := g.page(callMapPage, handle)
	if err != nil {
		return err
	}
	m := &mapping{Range: spec.Range{Ptr: ptr, Bytes: bytes}, backing: p.backing}
	a, err := g.reservedAround(callMapPage, m.Range)
	if err != nil {
		return err
	}
	if bytes != p.backing.bytes {
		return driverNotSupported.in(callMapPage, "the page has %d bytes, not %d", p.backing.bytes, bytes)
	}
	if other := a.lastMappingBefore(m.End()); other != nil && other.Overlaps(m.Range) {
		return driverInvalidValue.in(callMapPage, "a page is mapped at %v already", other.Ptr)
	}
	if err := g.mapHost(callMapPage, ptr, p.backing); err != nil {
		return err
	}
	a.mappings.Set(ptr, m)
	p.backing.refs++
	p.mapped = true
	if script := g.devices[a.device].script; script != nil {
		script.pageMapped(m.Range)
	}
	return nil
}

// lastMappingBefore finds the last mapping that begins before an address.
func (a *area) lastMappingBefore(end spec.Ptr) *mapping {
	var last *mapping
	a.mappings.Descend(end-1, func(_ spec.Ptr, m *mapping) bool {
		last = m
		return false
	})
	return last
}

// SetAccess implements spec.VirtualMemory. The range consists of whole mapped
// pages.
func (g *GPU) SetAccess(ptr spec.Ptr, bytes uint64, dev spec.Device) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callSetAccess); err != nil {
		return err
	}
	if _, err := g.view(callSetAccess, dev); err != nil {
		return err
	}
	r := spec.Range{Ptr: ptr, Bytes: bytes}
	a, err := g.reservedAround(callSetAccess, r)
	if err != nil {
		return err
	}
	var pages []*mapping
	for at := r.Ptr; at < r.End(); at = pages[len(pages)-1].End() {
		m, found := a.mappings.Get(at)
		switch {
		case !found || m.End() > r.End():
			return driverInvalidValue.in(callSetAccess, "no page is mapped at %v that ends by %v", at, r.End())
		case g.machine.config.NoPeerAccess && m.backing.device != dev:
			return driverInvalidDevice.in(callSetAccess, "device %d cannot reach the memory of device %d", dev, m.backing.device)
		}
		pages = append(pages, m)
	}
	for _, m := range pages {
		m.access = m.access.with(dev)
	}
	return nil
}

// UnmapPage implements spec.VirtualMemory.
func (g *GPU) UnmapPage(ptr spec.Ptr, bytes uint64) (err error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	defer func() { g.tell(callUnmapPage, 0, ptr, bytes, err) }()
	if err := g.enter(callUnmapPage); err != nil {
		return err
	}
	if err := g.forbid(callUnmapPage, driverCaptureUnsup); err != nil {
		return err
	}
	r := spec.Range{Ptr: ptr, Bytes: bytes}
	a, err := g.reservedAround(callUnmapPage, r)
	if err != nil {
		return err
	}
	m, found := a.mappings.Get(ptr)
	if !found || m.Bytes != bytes {
		return driverInvalidValue.in(callUnmapPage, "no page of %d bytes is mapped at %v", bytes, ptr)
	}
	if g.detector != nil {
		g.detector.returned(callUnmapPage, r, 0)
	}
	a.mappings.Delete(ptr)
	g.unmapHost(ptr, m.backing)
	g.machine.drop(m.backing)
	if script := g.devices[a.device].script; script != nil {
		script.pageUnmapped(r)
	}
	return nil
}
