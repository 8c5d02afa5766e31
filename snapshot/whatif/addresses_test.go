package whatif

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/spec"
)

// TestAddressesAreApart: under all assumptions, allocations that exist at the same time
// do not overlap.
func TestAddressesAreApart(t *testing.T) {
	for _, m := range slices.Concat(plausibleDrivers, extremeDrivers) {
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
	for _, m := range slices.Concat(plausibleDrivers, extremeDrivers) {
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
