package play

import (
	"github.com/tidwall/btree"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

func realLike() fakegpu.AddressPolicy { return fakegpu.RealLike(0) }

func ascending() fakegpu.AddressPolicy { return fakegpu.Ascending(0) }

// realLikeInUse is the measured driver in a process that has two other allocations of
// device memory.
func realLikeInUse() fakegpu.AddressPolicy {
	p := realLike()
	p.Place(2 * spec.MiB)
	p.Place(20 * spec.MiB)
	return p
}

// mirrored returns for each allocation an address below all earlier ones.
type mirrored struct{ fakegpu.AddressPolicy }

// mirror is above every address that Ascending returns for allocations.
const mirror = 1 << 54

func descending() fakegpu.AddressPolicy { return mirrored{fakegpu.Ascending(0)} }

func (m mirrored) Place(bytes uint64) spec.Ptr {
	return mirror - m.AddressPolicy.Place(bytes) - spec.Ptr(bytes)
}

// scatter returns addresses in no order. Each allocation is in a slot of its own, chosen
// by a hash.
type scatter struct {
	fakegpu.AddressPolicy // for reserved ranges
	state                 uint64
	taken                 map[uint64]bool
}

const (
	firstSlot = 1 << 54
	slotBytes = totalMemory
	numSlots  = 1 << 19
)

func scattered(seed uint64) func() fakegpu.AddressPolicy {
	return func() fakegpu.AddressPolicy {
		return &scatter{fakegpu.Ascending(0), seed, map[uint64]bool{}}
	}
}

// Place chooses a slot by splitmix64.
func (s *scatter) Place(uint64) spec.Ptr {
	s.state += 0x9e3779b97f4a7c15
	z := s.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	slot := (z ^ z>>31) % numSlots
	for s.taken[slot] {
		slot = (slot + 1) % numSlots
	}
	s.taken[slot] = true
	return spec.Ptr(firstSlot + slot*slotBytes)
}

func (s *scatter) Vacate(p spec.Ptr, _ uint64) {
	delete(s.taken, (uint64(p)-firstSlot)/slotBytes)
}

// asRecordedThen returns the addresses of the recorded run as long as the segments have the
// recorded sizes. The process whose run is predicted may have the same gaps in its address
// space. Later segments are above the recorded ones, each below or
// above the one before.
type asRecordedThen struct {
	recordedFirst
	sizes []uint64
	inUse btree.Map[spec.Ptr, uint64] // recorded addresses that are allocated, and how many bytes
}

func (a *asRecordedThen) Place(bytes uint64) spec.Ptr {
	if !a.nextFits(bytes) {
		a.recorded, a.sizes = nil, nil
	}
	p := a.recordedFirst.Place(bytes)
	if len(a.sizes) > 0 {
		a.sizes = a.sizes[1:]
		a.inUse.Set(p, bytes)
	}
	return p
}

// nextFits reports whether the next recorded segment has this size, and its address is
// free.
func (a *asRecordedThen) nextFits(bytes uint64) bool {
	if len(a.sizes) == 0 || a.sizes[0] != bytes {
		return false
	}
	next := spec.Range{Ptr: a.recorded[0], Bytes: bytes}
	free := true
	a.inUse.Descend(next.End(), func(p spec.Ptr, bytes uint64) bool {
		if p == next.End() {
			return true // behind it
		}
		free = !next.Overlaps(spec.Range{Ptr: p, Bytes: bytes})
		return false
	})
	return free
}

func (a *asRecordedThen) Vacate(p spec.Ptr, bytes uint64) {
	a.inUse.Delete(p)
	a.recordedFirst.Vacate(p, bytes)
}

// recordedFirst returns the recorded addresses as long as there are any, and then those
// of another policy, above all recorded ones.
type recordedFirst struct {
	others   fakegpu.AddressPolicy
	recorded []spec.Ptr
}

// recordedEnd is above every recorded address.
const recordedEnd = 1 << 48

func (r *recordedFirst) Place(bytes uint64) spec.Ptr {
	if len(r.recorded) == 0 {
		return recordedEnd + r.others.Place(bytes)
	}
	p := r.recorded[0]
	r.recorded = r.recorded[1:]
	return p
}

func (r *recordedFirst) Vacate(p spec.Ptr, bytes uint64) {
	if p >= recordedEnd {
		r.others.Vacate(p-recordedEnd, bytes)
	}
}

func (r *recordedFirst) PlaceRange(bytes uint64) spec.Ptr {
	return recordedEnd + r.others.PlaceRange(bytes)
}

func (r *recordedFirst) VacateRange(p spec.Ptr, bytes uint64) {
	r.others.VacateRange(p-recordedEnd, bytes)
}
