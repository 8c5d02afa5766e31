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

// An allocator's statistics have the keys that memory_stats uses. They
// are compared after every operation, so their keys are looked up in a table that
// is made once, and not in a map that is made each time.

// statistics are the values in the order of spec.DeviceStats.Each.
type statistics []int64

// statPlaces is where in that order each key stands.
var statPlaces = func() map[string]int {
	places := map[string]int{}
	new(spec.DeviceStats).Each(func(key string, _ int64) { places[key] = len(places) })
	return places
}()

// statistics asks the allocator for them; that it does not answer is a difference.
func (r *run) statistics(dev spec.Device) (statistics, *Difference) {
	stats, err := r.player.Allocator().Stats(dev)
	if err != nil {
		return nil, differs("statistics", "statistics", err.Error())
	}
	f := make(statistics, 0, len(statPlaces))
	stats.Each(func(_ string, value int64) { f = append(f, value) })
	return f, nil
}

// compare compares the value that memory_stats calls by key.
func (f statistics) compare(key string, want int64) *Difference {
	place, exists := statPlaces[key]
	switch {
	case !exists:
		return differs(key, fmt.Sprint(want), "no such statistic")
	case f[place] != want:
		return differs(key, fmt.Sprint(want), fmt.Sprint(f[place]))
	}
	return nil
}

// statOrder sorts recorded keys in the order of DeviceStats.Each, those it does
// not know behind.
func statOrder(recorded map[string]int64) []string {
	place := func(key string) int {
		if p, exists := statPlaces[key]; exists {
			return p
		}
		return math.MaxInt
	}
	return slices.SortedFunc(maps.Keys(recorded), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), strings.Compare(a, b))
	})
}

// isHistory reports whether a statistic is about the past.
func isHistory(key string) bool {
	return strings.HasSuffix(key, ".peak") || strings.HasSuffix(key, ".allocated") || strings.HasSuffix(key, ".freed")
}
