package fakegpu

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tidwall/btree"

	"gaugeblock/spec"
)

// The address space of a process, and the physical memory behind it.
//
//	space ── area ─┬─ a piece that Malloc gave: its own backing
//	               ├─ memory opened from another process: that one's backing
//	               ├─ a reserved range ── mappings ── a page's backing each
//	               └─ memory that a log says is mapped: one backing for all of a device
//
// A backing is physical memory. It is counted against its device from its making
// until nothing refers to it: no area, no mapping, no page handle, in any process.

// backing is physical memory in one piece.
type backing struct {
	id       uint64 // unique in the machine
	device   spec.Device
	bytes    uint64
	refs     int
	contents contents
	host     []byte // the bytes, if the host can reach them; contents is empty then
}

// obtain makes a backing of memory that has been found to be free, with one
// reference. It fails only if the host has no memory for it.
func (m *Machine) obtain(b *backing, dev spec.Device, bytes uint64) (err error) {
	if m.config.HostMemory != nil {
		if b.host, err = m.config.HostMemory.Obtain(bytes); err != nil {
			return err
		}
	}
	m.backings++
	b.id, b.device, b.bytes, b.refs = m.backings, dev, bytes, 1
	m.physical[dev].used += m.config.Charge(bytes)
	return nil
}

// drop gives up a reference.
func (m *Machine) drop(b *backing) {
	b.refs--
	if b.refs == 0 {
		m.physical[b.device].used -= m.config.Charge(b.bytes)
		b.contents = contents{}
		if b.host != nil {
			m.config.HostMemory.Drop(b.host)
			b.host = nil
		}
		delete(m.fabric, b.id)
	}
}

type areaKind uint8

const (
	areaPiece areaKind = iota
	areaOpened
	areaReserved
	areaMapped // see AddMapped
	areaHost   // see AddHostArea
)

// area is a stretch of addresses with one purpose.
type area struct {
	spec.Range
	kind     areaKind
	managed  bool // an allocator has allocated some of it (lifetime.go)
	device   spec.Device
	backing  *backing // of a piece or opened memory
	own      backing  // what backing points to for a piece
	access   access   // of opened memory
	graph    *graphMemory
	leaving  bool // a piece that Free was called of: see release.go
	mappings *btree.Map[spec.Ptr, *mapping]
}

// mapping is a page at an address of a reserved range.
type mapping struct {
	spec.Range
	backing *backing
	access  access
}

// eachMapping visits the mappings by address until told to stop.
func (a *area) eachMapping(visit func(*mapping) bool) {
	if a.mappings != nil {
		a.mappings.Scan(func(_ spec.Ptr, m *mapping) bool { return visit(m) })
	}
}

// space is where everything of a process lies. Areas do not overlap.
type space struct {
	areaMap
	hosts  areaMap    // see AddHostArea
	opened *ascending // addresses for memory opened from other processes
}

// areaMap is areas by address.
type areaMap struct {
	areas btree.Map[spec.Ptr, *area]
}

// around finds the area that an address lies in.
func (s *space) around(ptr spec.Ptr) *area {
	if a := s.areaMap.around(ptr); a != nil || s.hosts.areas.Len() == 0 {
		return a
	}
	return s.hosts.around(ptr)
}

func (m *areaMap) around(ptr spec.Ptr) *area {
	var found *area
	m.areas.Descend(ptr, func(_ spec.Ptr, a *area) bool {
		if ptr < a.End() {
			found = a
		}
		return false
	})
	return found
}

// vacant reports whether no area has an address of the range.
func (m *areaMap) vacant(r spec.Range) bool {
	free := true
	m.areas.Descend(r.End()-1, func(_ spec.Ptr, a *area) bool {
		free = a.End() <= r.Ptr
		return false
	})
	return free
}

// reserved reports whether an address lies in a reserved range.
func (s *space) reserved(ptr spec.Ptr) bool {
	a := s.around(ptr)
	return a != nil && a.kind == areaReserved
}

// piece finds the area of a kind that begins at an address.
func (s *space) piece(kind areaKind, ptr spec.Ptr) *area {
	if a, ok := s.areas.Get(ptr); ok && a.kind == kind {
		return a
	}
	return nil
}

// inOrder lists the areas by address.
func (s *space) inOrder() []*area { return s.areas.Values() }

// part is a stretch of a backing.
type part struct {
	backing  *backing
	from, to uint64 // offsets in bytes
}

// resolve finds the physical memory behind a range, as a device reaches it. The
// parts are appended to those given. The reason says why the device may not touch
// the range; it is empty if it may.
func (g *GPU) resolve(dev spec.Device, r spec.Range, parts []part) (_ []part, reason string) {
	return g.resolveIn(g.space.around(r.Ptr), dev, r, parts)
}

// Lacks says why a device may not touch a range; it is empty if it may.
func (g *GPU) Lacks(dev spec.Device, r spec.Range) (reason string) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	_, reason = g.resolve(dev, r, nil)
	return reason
}

// resolveIn is resolve if the area that the range begins in is known, nil if there is none.
func (g *GPU) resolveIn(a *area, dev spec.Device, r spec.Range, parts []part) (_ []part, reason string) {
	switch {
	case r.End() < r.Ptr:
		return parts, "the range wraps around"
	case a == nil:
		return parts, "there is no memory"
	case !a.Contains(r):
		return parts, "it reaches beyond the memory that it begins in"
	case a.kind == areaReserved:
		return a.resolveMapped(dev, r, parts)
	case a.kind == areaPiece && a.leaving && dev != a.device:
		return parts, "it is being freed, and other devices have no access any more"
	case a.kind == areaOpened && !a.access.has(dev), (a.kind == areaPiece || a.kind == areaMapped) && !g.devices[dev].peers.has(a.device):
		return parts, "the device has no access to its peer's memory"
	}
	from := uint64(r.Ptr - a.Ptr)
	return append(parts, part{a.backing, from, from + r.Bytes}), ""
}

// resolveMapped is resolve within a reserved range.
func (a *area) resolveMapped(dev spec.Device, r spec.Range, parts []part) (_ []part, reason string) {
	at := r.Ptr
	for at < r.End() {
		m := a.mappingAround(at)
		switch {
		case m == nil:
			return parts, "nothing is mapped there"
		case !m.access.has(dev):
			return parts, "the device was given no access to the mapping"
		}
		from, end := uint64(at-m.Ptr), min(m.End(), r.End())
		parts = append(parts, part{m.backing, from, uint64(end - m.Ptr)})
		at = end
	}
	return parts, ""
}

// mappingAround finds the mapping that an address lies in.
func (a *area) mappingAround(ptr spec.Ptr) *mapping {
	var found *mapping
	a.mappings.Descend(ptr, func(_ spec.Ptr, m *mapping) bool {
		if ptr < m.End() {
			found = m
		}
		return false
	})
	return found
}

// sortedKeys lists a map's keys in order.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
