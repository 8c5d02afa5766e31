package whatif

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/spec"
)

// TestAddressesAreApart: under every model, pieces that are there at the same time do
// not overlap, and neither do ranges.
func TestAddressesAreApart(t *testing.T) {
	for _, m := range slices.Concat(credible, absurd) {
		t.Run(m.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				policy := m.Addresses()
				var pieces []spec.Range
				for range rapid.IntRange(1, 200).Draw(t, "steps") {
					if len(pieces) > 0 && rapid.IntRange(0, 2).Draw(t, "free") == 0 {
						i := rapid.IntRange(0, len(pieces)-1).Draw(t, "which")
						policy.Vacate(pieces[i].Ptr, pieces[i].Bytes)
						pieces = slices.Delete(pieces, i, i+1)
						continue
					}
					bytes := 2 * spec.MiB * rapid.Uint64Range(1, 100).Draw(t, "steps of 2 MiB")
					piece := spec.Range{Ptr: policy.Place(bytes), Bytes: bytes}
					for _, other := range pieces {
						if other.Overlaps(piece) {
							t.Fatalf("%v overlaps %v", piece, other)
						}
					}
					pieces = append(pieces, piece)
				}
			})
		})
	}
}

// TestDirections: what tells the models apart.
func TestDirections(t *testing.T) {
	const piece = 20 * spec.MiB
	ups := map[string]int{} // how often an address is above the one before
	for _, m := range slices.Concat(credible, absurd) {
		policy := m.Addresses()
		last := policy.Place(piece)
		for range 100 {
			next := policy.Place(piece)
			if next > last {
				ups[m.Name]++
			}
			last = next
		}
	}
	for name, bounds := range map[string][2]int{
		"measured driver": {0, 0}, "22 MiB in use": {0, 0}, "descending addresses": {0, 0},
		"crowded address space": {3, 12}, "ascending addresses": {100, 100},
		"scattered addresses 1": {30, 70}, "scattered addresses 2": {30, 70},
	} {
		if n := ups[name]; n < bounds[0] || n > bounds[1] {
			t.Errorf("%s: %d of 100 addresses are above the one before", name, n)
		}
	}
}
