package edges

import (
	"slices"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// A Device makes a fake device follow a scale. It serves one device of one process.
type Device struct {
	scale  *Scale
	placed []placed // by address
}

// placed is a segment, or a range of addresses, on the device.
type placed struct {
	spec.Range         // in bytes
	unit, units uint64 // where it begins in the specification, and how long it is there
}

// NewDevice makes a device without memory in use.
func (s *Scale) NewDevice() *Device { return &Device{scale: s} }

// Hardware describes the fake machine: what memory takes of the device goes by units, and so
// does its place. A free does not wait for work.
func (d *Device) Hardware(c *fakegpu.Config) {
	c.FreeWaits = false
	c.Addresses = func(spec.Device) fakegpu.AddressPolicy { return d }
	unit := d.scale.total() / d.scale.Memory
	c.Charge = func(bytes uint64) uint64 { return d.scale.units(bytes) * unit }
}

// base is where the memory of the device begins.
const base spec.Ptr = 1 << 40

// Place gives memory the lowest address at which its units fit, as the specification's
// driver does (Driver.tla).
func (d *Device) Place(bytes uint64) spec.Ptr {
	piece, at := placed{units: d.scale.units(bytes)}, 0
	for at < len(d.placed) && d.placed[at].unit < piece.unit+piece.units {
		piece.unit = d.placed[at].unit + d.placed[at].units
		at++
	}
	piece.Range = spec.Range{Ptr: base + spec.Ptr(piece.unit*d.scale.stride()), Bytes: bytes}
	d.placed = slices.Insert(d.placed, at, piece)
	return piece.Ptr
}

// Vacate forgets a piece of memory.
func (d *Device) Vacate(ptr spec.Ptr, _ uint64) {
	d.placed = slices.DeleteFunc(d.placed, func(p placed) bool { return p.Ptr == ptr })
}

// PlaceRange gives a range of addresses its address, as Place does.
func (d *Device) PlaceRange(bytes uint64) spec.Ptr { return d.Place(bytes) }

// VacateRange forgets a range.
func (d *Device) VacateRange(ptr spec.Ptr, bytes uint64) { d.Vacate(ptr, bytes) }

// around is what an address lies in.
func (d *Device) around(ptr spec.Ptr) (placed, bool) {
	for _, p := range d.placed {
		if p.Ptr <= ptr && ptr < p.End() {
			return p, true
		}
	}
	return placed{}, false
}

// Beyond lists what is on this device and not on another.
func (d *Device) Beyond(other *Device) (more []spec.Range) {
	if len(d.placed) <= len(other.placed) {
		return nil
	}
	for _, p := range d.placed {
		if !slices.Contains(other.placed, p) {
			more = append(more, p.Range)
		}
	}
	return more
}
