package refinement

import (
	"slices"

	"gaugeblock/spec"
)

// lowestHole puts memory where the model's driver does: at the lowest address, from an
// origin on, at which there is room. It is a fakegpu.AddressPolicy.
type lowestHole struct {
	from  spec.Ptr
	taken []spec.Range // by address
}

func (l *lowestHole) Place(bytes uint64) spec.Ptr {
	piece, at := spec.Range{Ptr: l.from, Bytes: bytes}, 0
	for at < len(l.taken) && piece.Overlaps(l.taken[at]) {
		piece.Ptr = l.taken[at].Ptr + spec.Ptr(l.taken[at].Bytes)
		at++
	}
	l.taken = slices.Insert(l.taken, at, piece)
	return piece.Ptr
}

func (l *lowestHole) Vacate(ptr spec.Ptr, _ uint64) {
	l.taken = slices.DeleteFunc(l.taken, func(r spec.Range) bool { return r.Ptr == ptr })
}

func (l *lowestHole) PlaceRange(bytes uint64) spec.Ptr { return l.Place(bytes) }

func (l *lowestHole) VacateRange(ptr spec.Ptr, bytes uint64) { l.Vacate(ptr, bytes) }
