package play

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestAddressesAreApart: under all assumptions, allocations that exist at the same time
// do not overlap.
func TestAddressesAreApart(t *testing.T) {
	for _, m := range slices.Concat(PlausibleDrivers, ExtremeDrivers) {
		t.Run(m.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				policy := m.Addresses()
				var allocations []spec.Range
				for range rapid.IntRange(1, 200).Draw(t, "steps") {
					if len(allocations) > 0 && rapid.IntRange(0, 2).Draw(t, "free") == 0 {
						i := rapid.IntRange(0, len(allocations)-1).Draw(t, "which")
						policy.Vacate(allocations[i].Ptr, allocations[i].Bytes)
						allocations = slices.Delete(allocations, i, i+1)
						continue
					}
					bytes := 2 * spec.MiB * rapid.Uint64Range(1, 100).Draw(t, "steps of 2 MiB")
					allocation := spec.Range{Ptr: policy.Place(bytes), Bytes: bytes}
					for _, other := range allocations {
						if other.Overlaps(allocation) {
							t.Fatalf("%v overlaps %v", allocation, other)
						}
					}
					allocations = append(allocations, allocation)
				}
			})
		})
	}
}

// TestDirections: how often each of the policies returns a higher address than before.
func TestDirections(t *testing.T) {
	const allocation = 20 * spec.MiB
	ups := map[string]int{}
	for _, m := range slices.Concat(PlausibleDrivers, ExtremeDrivers) {
		policy := m.Addresses()
		last := policy.Place(allocation)
		for range 100 {
			next := policy.Place(allocation)
			if next > last {
				ups[m.Name]++
			}
			last = next
		}
	}
	for name, bounds := range map[string][2]int{
		"measured driver": {0, 0}, "22 MiB in use": {0, 0}, "descending addresses": {0, 0},
		"address space with gaps": {3, 12}, "ascending addresses": {100, 100},
		"scattered addresses 1": {30, 70}, "scattered addresses 2": {30, 70},
	} {
		if n := ups[name]; n < bounds[0] || n > bounds[1] {
			t.Errorf("%s: %d of 100 addresses are above the one before", name, n)
		}
	}
}

// TestManyPlaces: the policies place memory as quickly if there is much of it already.
func TestManyPlaces(t *testing.T) {
	const many, bytes = 50_000, 20 * spec.MiB
	recorded, sizes := make([]spec.Ptr, many), make([]uint64, many)
	for i := range recorded {
		recorded[i], sizes[i] = spec.Ptr((1+uint64(i))*bytes), bytes
	}
	for name, policy := range map[string]fakegpu.AddressPolicy{
		"gaps":        withAddressGaps(),
		"as recorded": &asRecordedThen{recordedFirst: recordedFirst{others: ascending(), recorded: recorded}, sizes: sizes},
		"scattered":   scattered(1)(),
	} {
		begin := time.Now()
		places := map[spec.Ptr]bool{}
		for range many {
			places[policy.Place(bytes)] = true
		}
		for p := range places {
			policy.Vacate(p, bytes)
		}
		if took := time.Since(begin); took > 10*time.Second || len(places) != many {
			t.Errorf("%s: %d places of %d take %v", name, len(places), many, took)
		}
	}
}

// TestRecordedAddressInUse: a recorded address is used only while nothing is in its way.
func TestRecordedAddressInUse(t *testing.T) {
	const elsewhere = recordedEnd
	for _, test := range []struct {
		what     string
		recorded []spec.Ptr
		want     [2]bool // at the recorded address
	}{
		{"apart", []spec.Ptr{100, 300}, [2]bool{true, true}},
		{"behind", []spec.Ptr{100, 200}, [2]bool{true, true}},
		{"before", []spec.Ptr{200, 100}, [2]bool{true, true}},
		{"the same", []spec.Ptr{100, 100}, [2]bool{true, false}},
		{"its end", []spec.Ptr{100, 199}, [2]bool{true, false}},
		{"its beginning", []spec.Ptr{100, 1}, [2]bool{true, false}},
	} {
		policy := &asRecordedThen{recordedFirst: recordedFirst{others: ascending(), recorded: test.recorded}, sizes: []uint64{100, 100}}
		for i, want := range test.want {
			if got := policy.Place(100) < elsewhere; got != want {
				t.Errorf("%s: %d is at the recorded address: %v, want %v", test.what, i, got, want)
			}
		}
	}
}

// TestSlotsAreTaken: an address that was chosen is not chosen again while it is allocated.
func TestSlotsAreTaken(t *testing.T) {
	s := &scatter{fakegpu.Ascending(0), 7, map[uint64]bool{}}
	first := s.Place(2 * spec.MiB)
	s.state = 7
	if second := s.Place(2 * spec.MiB); second == first {
		t.Errorf("%v is allocated twice", first)
	}
	s.Vacate(first, 2*spec.MiB)
	s.state = 7
	if again := s.Place(2 * spec.MiB); again != first {
		t.Errorf("%v is free, and %v was chosen", first, again)
	}
}

// TestRangesAreVacated: a range that is given back is as free as with the policy behind.
func TestRangesAreVacated(t *testing.T) {
	r, behind := &recordedFirst{others: realLike()}, realLike()
	for range 3 {
		first, want := r.PlaceRange(2*spec.MiB), behind.PlaceRange(2*spec.MiB)
		if first != recordedEnd+want {
			t.Fatalf("%v, not behind %v", first, want)
		}
		r.VacateRange(first, 2*spec.MiB)
		behind.VacateRange(want, 2*spec.MiB)
	}
}
