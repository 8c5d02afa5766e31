package check

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/spec"
)

// TestIndexes compares the indexes with a search through the list, with handles that meet in one
// place.
func TestIndexes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		handle := rapid.OneOf(
			rapid.Uint64Range(0, 40),
			// all in 16 places
			rapid.Map(rapid.Uint64Range(0, 40), func(n uint64) uint64 { return n << 60 }),
			rapid.Map(rapid.Uint64Range(0, 40), func(n uint64) uint64 { return 0x7f00_0000_0000 + n<<20 }),
		)
		var x indexes
		list := []spec.Stream{0}
		for _, n := range rapid.SliceOf(handle).Draw(t, "handles") {
			want := slices.Index(list, spec.Stream(n))
			if want < 0 {
				want = len(list)
			}
			if got := x.of(spec.Stream(n), list); got != want {
				t.Fatalf("%#x is at %d, want %d", n, got, want)
			}
			if want == len(list) {
				list = append(list, spec.Stream(n))
				x.add(list)
			}
		}
	})
}
