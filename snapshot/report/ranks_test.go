package report

import (
	"testing"
)

// TestSettingsOfRanks: at most four are told.
func TestSettingsOfRanks(t *testing.T) {
	r := &RankBuilder{}
	for _, test := range []struct{ settings, want string }{
		{"a:1", ""}, {"a:1", ""}, {"b:1", " The ranks have different settings: a:1; b:1."}, {"c:1", " The ranks have different settings: a:1; b:1; c:1."},
		{"d:1", " The ranks have different settings: a:1; b:1; c:1; d:1."}, {"e:1", " The ranks have different settings: a:1; b:1; c:1; d:1; and 1 more."},
	} {
		r.list = append(r.list, Rank{Summary: Summary{Settings: test.settings}})
		if got := r.settings(); got != test.want {
			t.Errorf("%d ranks: %q, want %q", len(r.list), got, test.want)
		}
	}
}

// TestMiddleRank: the rank beside the worst one that is more like it, where the worst has the
// median.
func TestMiddleRank(t *testing.T) {
	for _, test := range []struct {
		allocated []uint64 // in order; the worst has the most reserved
		worst     int
		want      int
	}{
		{[]uint64{5}, 0, 0}, {[]uint64{1, 5}, 1, 0}, {[]uint64{1, 5}, 0, 1}, {[]uint64{1, 5, 6}, 1, 2}, {[]uint64{4, 5, 9}, 1, 0}, {[]uint64{1, 5, 9}, 1, 0}, {[]uint64{1, 5, 9}, 2, 1},
	} {
		r := &RankBuilder{}
		var order []int
		for i, bytes := range test.allocated {
			r.list = append(r.list, Rank{Summary: Summary{PeakAllocated: bytes, PeakReserved: 10}})
			order = append(order, i)
		}
		r.list[test.worst].Summary.PeakReserved = 20
		if got := r.middle(order); got != test.want {
			t.Errorf("%v, the worst is %d: %d, not %d", test.allocated, test.worst, got, test.want)
		}
	}
}

// TestLargestSitesOfRank: of many call sites those that hold the most are kept.
func TestLargestSitesOfRank(t *testing.T) {
	d := &Data{Layouts: []Layout{{Name: "end"}}}
	for i := range maxSitesOfRank + 5 {
		var s siteTotals
		s.peak[0] = uint64(i)
		d.totals = append(d.totals, s)
	}
	r := &RankBuilder{}
	r.Add("rank0", d)
	if kept := r.reports[0].totals; len(kept) != maxSitesOfRank || kept[0].peak[0] != maxSitesOfRank+4 {
		t.Errorf("%d are kept, the first holds %d", len(kept), kept[0].peak[0])
	}
}
