package run

import "testing"

// TestRangesByRank: ranks are told one by one if they differ, time has a say in one, and there are not too many.
func TestRangesByRank(t *testing.T) {
	rank := func(name string, least, most uint64) RankRange {
		return RankRange{Rank: name, Least: least << 20, Most: most << 20}
	}
	many := make([]RankRange, mostRanks+1)
	for i := range many {
		many[i] = rank("r", uint64(i), uint64(i+1))
	}
	for name, c := range map[string]struct {
		ranks []RankRange
		want  string
	}{
		"none":             {nil, ""},
		"alike":            {[]RankRange{rank("0", 1, 2), rank("1", 1, 2)}, ""},
		"not by time":      {[]RankRange{rank("0", 1, 1), rank("1", 2, 2)}, ""},
		"the least differ": {[]RankRange{rank("0", 1, 3), rank("1", 2, 3)}, "; rank 0 from 1024.00 KiB to 3.00 MiB, rank 1 from 2.00 MiB to 3.00 MiB"},
		"the most differ":  {[]RankRange{rank("0", 2, 2), rank("1", 2, 3)}, "; rank 0 from 2.00 MiB to 2.00 MiB, rank 1 from 2.00 MiB to 3.00 MiB"},
		"too many":         {many, ""},
	} {
		if got := (&Range{Ranks: c.ranks}).byRank(); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := (&Range{Ranks: many[:mostRanks]}).byRank(); got == "" {
		t.Errorf("%d ranks are too many", mostRanks)
	}
}

// TestHasUnknownSizes: any process may have allocated by a count that is not known.
func TestHasUnknownSizes(t *testing.T) {
	size, other := map[string]int{"a.py:1 nonzero": 1}, map[string]int{"a.py:1 if": 5}
	for name, c := range map[string]struct {
		of      []map[string]int
		unknown bool
	}{"nobody": {nil, false}, "a condition": {[]map[string]int{other}, false}, "the first": {[]map[string]int{size, nil}, true}, "the last": {[]map[string]int{nil, other, size}, true}} {
		r := &Result{}
		for _, decisions := range c.of {
			r.Processes = append(r.Processes, Answer{Decisions: decisions})
		}
		if got := r.HasUnknownSizes(); got != c.unknown {
			t.Errorf("%s: %v", name, got)
		}
	}
}
