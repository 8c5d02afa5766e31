package report

import (
	"fmt"
	"strings"
	"testing"

	"gaugeblock/snapshot"
)

// TestMoreReserved: that more is reserved though no more is allocated is said from 2 % on.
func TestMoreReserved(t *testing.T) {
	for _, test := range []struct {
		allocated, reserved uint64
		said                bool
	}{{1000, 5101, true}, {1000, 5100, false}, {1001, 5101, false}, {900, 6000, true}} {
		a, b := &Data{Summary: Summary{PeakAllocated: 1000, PeakReserved: 5000}}, &Data{Summary: Summary{PeakAllocated: test.allocated, PeakReserved: test.reserved}}
		c := &Compared{A: "A", B: "B"}
		if got := c.verdict(a, b); strings.Contains(got, "fragmentation or cache") != test.said {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// TestManyCompared: of many sites the largest changes are shown; those that hold nothing are not
// counted.
func TestManyCompared(t *testing.T) {
	a, b := &Data{}, &Data{}
	site := func(line int, bytes uint64) (s siteTotals) {
		s.frame = snapshot.Frame{Filename: "a.py", Line: line, Name: fmt.Sprint("f", line)}
		s.frames = snapshot.Frames{&s.frame}
		s.peak[0] = bytes
		return s
	}
	for i := range maxCompared + 3 {
		b.totals = append(b.totals, site(i, 1))
	}
	for i := range 4 {
		b.totals = append(b.totals, site(10000+i, 0))
	}
	ends := func(line int) siteTotals {
		s := site(line, 0)
		s.end[0] = 1
		return s
	}
	a.totals, b.totals = append(a.totals, site(20000, 1), ends(20001)), append(b.totals, ends(20002))
	c := compareReports(a, b, func(*ComparedSite) bool { return true })
	if len(c.Rows) != maxCompared || c.More != 6 {
		t.Errorf("%d rows, and %d more", len(c.Rows), c.More)
	}
}
