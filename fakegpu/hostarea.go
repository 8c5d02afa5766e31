package fakegpu

import (
	"slices"

	"gaugeblock/spec"
)

// Memory of the host that every device may touch: pinned, registered or managed memory of a
// program. Its addresses are the program's own. It is charged to no device, and memory of a device
// that lies at the same addresses comes first.

// AddHostArea lets all devices touch memory of the host. The bytes are those at the addresses, or
// nil if they are kept here, as for a process whose memory this one does not reach. Memory that
// overlaps other memory of the host is refused. It is not a call of the driver.
func (g *GPU) AddHostArea(r spec.Range, bytes []byte) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if !g.space.hosts.vacant(r) {
		return cudaErrorInvalidValue.in(sayAddHostArea, "%d bytes at %v are there already", r.Bytes, r.Ptr)
	}
	g.space.hosts.areas.Set(r.Ptr, &area{Range: r, kind: areaHost, backing: &backing{bytes: r.Bytes, host: bytes}})
	if b, is := g.schedule.(*byTime); is {
		b.pinned(r.Bytes)
	}
	return nil
}

// RemoveHostArea ends that for the memory that begins at an address, and reports whether there was
// any. It waits for all devices first, as cudaFreeHost does.
func (g *GPU) RemoveHostArea(at spec.Ptr) (found bool, err error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	a, found := g.space.hosts.areas.Get(at)
	if !found {
		return false, nil
	}
	for dev := range g.devices {
		if g.schedule != nil {
			g.forceDevice(spec.Device(dev))
		}
		if err := g.awaitDevice(sayAddHostArea, spec.Device(dev)); err != nil {
			return true, err
		}
	}
	g.space.hosts.areas.Delete(at)
	if g.detector != nil {
		g.detector.uses.forget(a.Range, func(*footprint) {})
	}
	return true, nil
}

// HostArea reports whether a range is in such memory.
func (g *GPU) HostArea(r spec.Range) bool {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	a := g.space.around(r.Ptr)
	return a != nil && a.kind == areaHost && a.Contains(r)
}

// someInHost reports whether some of the parts are memory that the host can reach.
func someInHost(parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool { return p.backing.host != nil })
}
