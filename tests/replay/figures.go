package replay

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gaugeblock/spec"
)

// Figures are an allocator's statistics, by the keys that memory_stats uses. They
// are compared after every operation, so their keys are looked up in a table that
// is made once, and not in a map that is made each time.

// figures are the values in the order of spec.DeviceStats.Each.
type figures []int64

// figurePlaces is where in that order each key stands.
var figurePlaces = func() map[string]int {
	places := map[string]int{}
	new(spec.DeviceStats).Each(func(key string, _ int64) { places[key] = len(places) })
	return places
}()

// figures asks the allocator for them; that it does not tell is a difference.
func (m *machine) figures(dev spec.Device) (figures, *Difference) {
	stats, err := m.allocator.Stats(dev)
	if err != nil {
		return nil, differs("statistics", "figures", err.Error())
	}
	f := make(figures, 0, len(figurePlaces))
	stats.Each(func(_ string, value int64) { f = append(f, value) })
	return f, nil
}

// compare compares the figure that memory_stats calls by key.
func (f figures) compare(key string, want int64) *Difference {
	place, exists := figurePlaces[key]
	switch {
	case !exists:
		return differs(key, fmt.Sprint(want), "no such figure")
	case f[place] != want:
		return differs(key, fmt.Sprint(want), fmt.Sprint(f[place]))
	}
	return nil
}

// figureOrder sorts recorded keys in the order of DeviceStats.Each, those it does
// not know behind.
func figureOrder(recorded map[string]int64) []string {
	place := func(key string) int {
		if p, exists := figurePlaces[key]; exists {
			return p
		}
		return math.MaxInt
	}
	return slices.SortedFunc(maps.Keys(recorded), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), strings.Compare(a, b))
	})
}

// isHistory reports whether a figure tells of the past.
func isHistory(key string) bool {
	return strings.HasSuffix(key, ".peak") || strings.HasSuffix(key, ".allocated") || strings.HasSuffix(key, ".freed")
}
