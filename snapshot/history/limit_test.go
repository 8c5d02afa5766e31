package history

import (
	"slices"
	"testing"
)

// TestLikelyEmptied: the cache was freed once, and nothing else tells of a limit.
func TestLikelyEmptied(t *testing.T) {
	for _, test := range []struct {
		doubtful, refusals int
		bounds             LimitBounds
		want               bool
	}{
		{1, 1, LimitBounds{Kind: UnknownLimit, Least: 700, Most: 801}, true},
		{1, 1, LimitBounds{Kind: UnknownLimit, Least: 701, Most: 801}, false},
		{2, 1, LimitBounds{Kind: UnknownLimit, Least: 700, Most: 801}, false},
		{1, 2, LimitBounds{Kind: UnknownLimit, Least: 700, Most: 801}, false},
		{1, 1, LimitBounds{Kind: DeviceLimit, Least: 700, Most: 801}, false},
	} {
		w := &Workload{Limit: test.bounds}
		w.Unrecorded.DoubtfulFrees, w.Unrecorded.Refusals = test.doubtful, test.refusals
		if got := w.LikelyEmptied(); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// TestReadings: what a history leaves open of the limit is read in all ways, the likeliest first.
func TestReadings(t *testing.T) {
	fraction := func(empty bool, limits ...uint64) (list []Reading) {
		for _, bytes := range limits {
			list = append(list, Reading{Limits: Limits{Fraction: bytes}, EmptyCache: empty})
		}
		return list
	}
	device := func(empty bool, limits ...uint64) (list []Reading) {
		for _, bytes := range limits {
			list = append(list, Reading{Limits: Limits{Device: bytes}, EmptyCache: empty})
		}
		return list
	}
	unknown := LimitBounds{Kind: UnknownLimit, Least: 100, Most: 103, OfFraction: [2]uint64{50, 53}}
	below := unknown
	below.Doubtful = UpperBounds{Device: 101, Fraction: 50}
	both := slices.Concat(fraction(false, 50, 51, 52, 53), device(false, 100, 101, 102, 103))
	for _, test := range []struct {
		what               string
		bounds             LimitBounds
		doubtful, refusals int
		garbage            bool
		want               []Reading
	}{
		{"no limit", LimitBounds{Kind: NoLimit, Least: 100}, 0, 0, false, []Reading{{EmptyCache: true}}},
		{"a memory fraction that was set", LimitBounds{Kind: FractionLimit, Least: 100, Most: 100}, 0, 1, false, fraction(false, 100)},
		{"a memory fraction", LimitBounds{Kind: FractionLimit, Least: 100, Most: 106}, 0, 1, false, fraction(false, 100, 102, 104, 106)},
		{"a full device", LimitBounds{Kind: DeviceLimit, Least: 100, Most: 103, OfFraction: [2]uint64{50, 53}}, 0, 1, false, device(false, 100, 101, 102, 103)},
		{"either", unknown, 0, 2, false, both},
		{"either, and no fraction agrees with all", LimitBounds{Kind: UnknownLimit, Least: 100, Most: 103, OfFraction: [2]uint64{60, 53}}, 0, 2, false,
			slices.Concat(fraction(false, 100, 101, 102, 103), device(false, 100, 101, 102, 103))},
		{"either, and the fraction is known", LimitBounds{Kind: UnknownLimit, Least: 100, Most: 103, OfFraction: [2]uint64{60, 60}}, 0, 2, false,
			slices.Concat(fraction(false, 60), device(false, 100, 101, 102, 103))},
		{"either, or none", unknown, 2, 2, false, append(slices.Clone(both), Reading{EmptyCache: true})},
		{"either, and some frees are doubtful", below, 1, 2, false,
			slices.Concat(fraction(false, 50), device(false, 100, 100, 100, 101), fraction(true, 50, 51, 52, 53), device(true, 100, 101, 102, 103))},
		{"none, or either", LimitBounds{Kind: UnknownLimit, Least: 100, Most: 130, OfFraction: [2]uint64{97, 103}}, 1, 1, false,
			slices.Concat([]Reading{{EmptyCache: true}}, fraction(false, 97, 99, 101, 103), device(false, 100, 110, 120, 130))},
		{"perhaps garbage", unknown, 0, 2, true, append(slices.Clone(both), Reading{EmptyCache: true})},
	} {
		w := &Workload{Limit: test.bounds, DoubtfulGarbage: test.garbage}
		w.Unrecorded.DoubtfulFrees, w.Unrecorded.Refusals = test.doubtful, test.refusals
		if got := w.Readings(); !slices.Equal(got, test.want) {
			t.Errorf("%s: %+v, not %+v", test.what, got, test.want)
		}
	}
}

// TestGivenReadings: with a limit that is given, a free that may have been empty_cache's is read both ways, unless the
// limit may have been the recorded one.
func TestGivenReadings(t *testing.T) {
	none, full := LimitBounds{Kind: NoLimit, Least: 100}, LimitBounds{Kind: DeviceLimit, Least: 100, Most: 103}
	emptied := LimitBounds{Kind: UnknownLimit, Least: 100, Most: 130}
	for _, test := range []struct {
		what     string
		bounds   LimitBounds
		doubtful int
		given    Limits
		want     []bool // EmptyCache of the readings
	}{
		{"nothing is doubtful", none, 0, Limits{Device: 50}, []bool{true}},
		{"no limit then, and none now", none, 1, Limits{}, []bool{true}},
		{"no limit then, and one below the peak", none, 1, Limits{Device: 50}, []bool{true, false}},
		{"no limit then, and one above the peak", none, 1, Limits{Fraction: 150}, []bool{true}},
		{"the limit then", full, 1, Limits{Device: 101}, []bool{false}},
		{"another limit", full, 1, Limits{Device: 110}, []bool{false, true}},
		{"a limit then, and none now", full, 1, Limits{}, []bool{false, true}},
		{"likely empty_cache, and another limit", emptied, 1, Limits{Device: 200}, []bool{true, false}},
		{"likely empty_cache, and a limit that may have been", emptied, 1, Limits{Device: 120}, []bool{false}},
	} {
		w := &Workload{Limit: test.bounds}
		w.Unrecorded.DoubtfulFrees, w.Unrecorded.Refusals = test.doubtful, test.doubtful
		var got []bool
		for _, r := range w.GivenReadings(test.given) {
			if r.Limits != test.given {
				t.Errorf("%s: %+v", test.what, r)
			}
			got = append(got, r.EmptyCache)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, not %v", test.what, got, test.want)
		}
	}
}
