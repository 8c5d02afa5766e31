package refinement

import (
	"slices"

	"gaugeblock/spec"
)

// lowestHole gives memory the address that the model's driver gives it: the lowest one, from
// a base on, at which it fits. It is a fakegpu.AddressPolicy.
type lowestHole struct {
	from spec.Ptr
	used []spec.Range // by address
}

func (l *lowestHole) Place(bytes uint64) spec.Ptr {
	piece, at := spec.Range{Ptr: l.from, Bytes: bytes}, 0
	for at < len(l.used) && piece.Overlaps(l.used[at]) {
		piece.Ptr = l.used[at].Ptr + spec.Ptr(l.used[at].Bytes)
		at++
	}
	l.used = slices.Insert(l.used, at, piece)
	return piece.Ptr
}

func (l *lowestHole) Vacate(ptr spec.Ptr, _ uint64) {
	l.used = slices.DeleteFunc(l.used, func(r spec.Range) bool { return r.Ptr == ptr })
}

func (l *lowestHole) PlaceRange(bytes uint64) spec.Ptr { return l.Place(bytes) }

func (l *lowestHole) VacateRange(ptr spec.Ptr, bytes uint64) { l.Vacate(ptr, bytes) }
