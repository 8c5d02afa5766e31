package fakegpu

import "gaugeblock/spec"

// Ascending is the simplest address policy: every piece lies behind all earlier
// ones, and no address is ever given twice. A stale pointer therefore never
// becomes valid again, and tests can tell pieces apart by address for good. Each
// device has its own window, with pieces in its lower half and reserved ranges in
// its upper half.
func Ascending(dev spec.Device) AddressPolicy {
	base := (uint64(dev) + 1) * windowBytes
	return newAscending(base)
}

type ascending struct {
	nextPiece, nextRange uint64
}

func newAscending(base uint64) *ascending {
	return &ascending{nextPiece: base, nextRange: base + windowBytes/2}
}

func (a *ascending) Place(bytes uint64) spec.Ptr {
	ptr := a.nextPiece
	a.nextPiece = roundUp(ptr+bytes, pieceAlignment)
	return spec.Ptr(ptr)
}

func (a *ascending) PlaceRange(bytes uint64) spec.Ptr {
	ptr := a.nextRange
	a.nextRange = roundUp(ptr+bytes, rangeAlignment)
	return spec.Ptr(ptr)
}

func (a *ascending) Vacate(spec.Ptr, uint64) {}

func (a *ascending) VacateRange(spec.Ptr, uint64) {}
