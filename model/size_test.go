package model

import (
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/spec"
)

// TestDivisionsFor: the model's rule for roundup_power2_divisions and the contract's
// (spec.Config.DivisionsFor, which the allocator uses) agree: for every size around every
// power of two, for every size of a small geometry, and for random sizes.
func TestDivisionsFor(t *testing.T) {
	var cfg spec.Config
	for i := range cfg.Divisions {
		cfg.Divisions[i] = uint64(i + 1) // so that each bucket shows
	}
	same := func(t rapid.TB, size uint64, g spec.Geometry) {
		if got, want := divisionsFor(size, &cfg, &g), cfg.DivisionsFor(size, g); got != want {
			t.Fatalf("%d bytes, first bucket at %d: %d divisions, not %d", size, g.DivisionsStart, got, want)
		}
	}
	for start := uint64(1); start <= spec.GiB; start *= 2 {
		g := spec.Geometry{DivisionsStart: start}
		for power := uint64(2); power <= 2*spec.EiB; power *= 2 {
			for _, size := range []uint64{power - 1, power, power + 1} {
				same(t, size, g)
			}
		}
	}
	for size := range uint64(1 << 18) {
		same(t, size+1, spec.Geometry{DivisionsStart: 1})
	}
	rapid.Check(t, func(t *rapid.T) {
		same(t, rapid.Uint64Range(1, spec.EiB).Draw(t, "size"), spec.DefaultGeometry())
	})
}
