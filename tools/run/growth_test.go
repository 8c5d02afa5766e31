package run

import (
	"slices"
	"testing"

	"gaugeblock/spec"
)

// The lines that hold more memory are named, by how much more, the largest growth first.
func TestGrown(t *testing.T) {
	const gib = spec.GiB
	old := &Record{Summary: Summary{PeakReserved: 10 * gib, PeakAllocated: 8 * gib}, Sites: []Site{{"e.py:5", gib}, {"a.py:1", 5 * gib}, {"b.py:2", 2 * gib}, {"c.py:3", gib}}}
	now := &Record{Summary: Summary{PeakReserved: 11 * gib, PeakAllocated: 6 * gib}, Sites: []Site{{"e.py:5", 2 * gib}, {"a.py:1", 6 * gib}, {"d.py:4", 3 * gib}, {"b.py:2", gib}, {"c.py:3", gib}}}
	want := []string{
		"peak reserved was 10.00 GiB and is 11.00 GiB (+10.0 %), allocated was 8.00 GiB and is 6.00 GiB (-25.0 %)",
		"d.py:4 holds 3.00 GiB at the peak, 3.00 GiB more than before",
		"a.py:1 holds 6.00 GiB at the peak, 1024.00 MiB more than before",
		"e.py:5 holds 2.00 GiB at the peak, 1024.00 MiB more than before",
	}
	if got := now.Grown(old); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if !now.ExceedsBy(9.9, old) || now.ExceedsBy(10, old) || old.ExceedsBy(0, old) {
		t.Error("10 % more is not between 9.9 % and 10 %")
	}
	const unknown = "which line grew is not known: the older result has no call sites (--sites)"
	if got := old.Grown(&Record{}); got[len(got)-1] != unknown {
		t.Errorf("%q", got)
	}
}
