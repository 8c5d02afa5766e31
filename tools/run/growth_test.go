package run

import (
	"slices"
	"testing"

	"gaugeblock/spec"
)

// The lines that hold more memory are named, by how much more, the largest growth first.
func TestGrown(t *testing.T) {
	const gib = spec.GiB
	old := &Record{Summary: Summary{PeakReserved: 10 * gib, PeakAllocated: 8 * gib}, Sites: []Site{{"e.py:5", "", gib}, {"a.py:1", "", 5 * gib}, {"b.py:2", "", 2 * gib}, {"c.py:3", "", gib}}}
	now := &Record{Summary: Summary{PeakReserved: 11 * gib, PeakAllocated: 6 * gib}, Sites: []Site{{"e.py:5", "", 2 * gib}, {"a.py:1", "", 6 * gib}, {"d.py:4", "", 3 * gib}, {"b.py:2", "", gib}, {"c.py:3", "", gib}}}
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
	if got := old.Grown(&Record{}); len(got) != 2 || got[1] != unknown {
		t.Errorf("%q", got)
	}
}

// A line is found by its text where lines above it are new, and those with the same text count together.
func TestGrownLines(t *testing.T) {
	const gib = spec.GiB
	one := Site{"a.py:1", "x = f(x)", gib}
	for name, c := range map[string]struct {
		old, now []Site
		want     []string
	}{
		"it moved":          {[]Site{one}, []Site{{"a.py:9", "x = f(x)", gib}}, nil},
		"it moved and grew": {[]Site{one}, []Site{{"a.py:9", "x = f(x)", 3 * gib}}, []string{"a.py:9 holds 3.00 GiB at the peak, 2.00 GiB more than before"}},
		"it is another":     {[]Site{one}, []Site{{"a.py:1", "x = g(x)", gib}}, []string{"a.py:1 holds 1024.00 MiB at the peak, and is new or changed: no line with this text held memory before"}},
		"another file":      {[]Site{one}, []Site{{"b.py:1", "x = f(x)", gib}}, []string{"b.py:1 holds 1024.00 MiB at the peak, and is new or changed: no line with this text held memory before"}},
		"a second one":      {[]Site{one}, []Site{one, {"a.py:5", "x = f(x)", 2 * gib}}, []string{"a.py:1, a.py:5 together hold 3.00 GiB at the peak, 2.00 GiB more than before"}},
		"three": {[]Site{{"b.py:1", "y", gib}}, []Site{one, {"a.py:2", "x = f(x)", gib}, {"a.py:3", "x = f(x)", gib}},
			[]string{"a.py:1, a.py:2, a.py:3 together hold 3.00 GiB at the peak, and are new or changed: no line with this text held memory before"}},
		"five": {[]Site{{"b.py:1", "y", gib}}, []Site{one, {"a.py:2", "x = f(x)", gib}, {"a.py:3", "x = f(x)", gib}, {"a.py:4", "x = f(x)", gib}, {"a.py:5", "x = f(x)", gib}},
			[]string{"a.py:1, a.py:2, a.py:3, 2 more together hold 5.00 GiB at the peak, and are new or changed: no line with this text held memory before"}},
		"two, as before":       {[]Site{one, {"a.py:5", "x = f(x)", gib}}, []Site{one, {"a.py:6", "x = f(x)", gib}}, nil},
		"without a call stack": {[]Site{{"without a call stack", "", gib}}, []Site{{"without a call stack", "", 3 * gib}}, []string{"without a call stack holds 3.00 GiB at the peak, 2.00 GiB more than before"}},
	} {
		got := (&Record{Sites: c.now}).Grown(&Record{Sites: c.old})[1:]
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
