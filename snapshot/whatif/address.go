package whatif

import (
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

func realLike() fakegpu.AddressPolicy { return fakegpu.RealLike(0) }

func ascending() fakegpu.AddressPolicy { return fakegpu.Ascending(0) }

// realLikeInUse is the measured driver in a process that has taken two pieces of the
// device before.
func realLikeInUse() fakegpu.AddressPolicy {
	p := realLike()
	p.Place(2 * spec.MiB)
	p.Place(20 * spec.MiB)
	return p
}

// mirrored gives each piece an address below all earlier ones.
type mirrored struct{ fakegpu.AddressPolicy }

// mirror is above every address that Ascending gives to pieces.
const mirror = 1 << 54

func descending() fakegpu.AddressPolicy { return mirrored{fakegpu.Ascending(0)} }

func (m mirrored) Place(bytes uint64) spec.Ptr {
	return mirror - m.AddressPolicy.Place(bytes) - spec.Ptr(bytes)
}

// scatter gives addresses that have nothing to do with each other: each piece has a
// room of its own, chosen by a hash.
type scatter struct {
	fakegpu.AddressPolicy // for ranges
	state                 uint64
	taken                 map[uint64]bool
}

const (
	firstRoom = 1 << 54
	roomBytes = totalMemory
	rooms     = 1 << 19
)

func scattered(seed uint64) func() fakegpu.AddressPolicy {
	return func() fakegpu.AddressPolicy {
		return &scatter{fakegpu.Ascending(0), seed, map[uint64]bool{}}
	}
}

// Place chooses a room as splitmix64 does numbers.
func (s *scatter) Place(uint64) spec.Ptr {
	s.state += 0x9e3779b97f4a7c15
	z := s.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	room := (z ^ z>>31) % rooms
	for s.taken[room] {
		room = (room + 1) % rooms
	}
	s.taken[room] = true
	return spec.Ptr(firstRoom + room*roomBytes)
}

func (s *scatter) Vacate(p spec.Ptr, _ uint64) {
	delete(s.taken, (uint64(p)-firstRoom)/roomBytes)
}

// recordedFirst gives pieces the addresses of a record as long as there are any, and
// then those of a model, above all that were recorded.
type recordedFirst struct {
	model    fakegpu.AddressPolicy
	recorded []spec.Ptr
}

// recordedEnd is above every address that a record has.
const recordedEnd = 1 << 48

func (r *recordedFirst) Place(bytes uint64) spec.Ptr {
	if len(r.recorded) == 0 {
		return recordedEnd + r.model.Place(bytes)
	}
	p := r.recorded[0]
	r.recorded = r.recorded[1:]
	return p
}

func (r *recordedFirst) Vacate(p spec.Ptr, bytes uint64) {
	if p >= recordedEnd {
		r.model.Vacate(p-recordedEnd, bytes)
	}
}

func (r *recordedFirst) PlaceRange(bytes uint64) spec.Ptr {
	return recordedEnd + r.model.PlaceRange(bytes)
}

func (r *recordedFirst) VacateRange(p spec.Ptr, bytes uint64) {
	r.model.VacateRange(p-recordedEnd, bytes)
}
