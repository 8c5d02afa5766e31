package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Site is a line of the program, and how much of what it allocated there was at the peak, in bytes.
type Site struct {
	At    string `json:"at"`             // its file and number
	Code  string `json:"code,omitempty"` // its text, without the spaces around it; "": not known
	Bytes uint64 `json:"bytes"`
}

// key is what a line is found by in another version of its file, where it has another number: the file and the text,
// or else the file and the number.
func (s Site) key() string {
	colon := strings.LastIndexByte(s.At, ':')
	if s.Code == "" || colon < 0 {
		return s.At
	}
	return s.At[:colon+1] + " " + s.Code
}

// Record is what is kept of a run, for programs and for a comparison with a later run.
type Record struct {
	*Result
	Summary Summary  `json:"summary"`
	Range   *Range   `json:"range,omitempty"` // if it was asked for
	Most    *Summary `json:"most,omitempty"`  // of a run in which what is not known counts as all there is
	Sites   []Site   `json:"sites,omitempty"` // the largest first; only if they were asked for
}

// mostGrown is how many call sites a comparison names.
const mostGrown = 5

// Grown says how a run differs from an older one: the peaks, and the lines that hold more memory at
// the peak than before.
func (r *Record) Grown(old *Record) []string {
	lines := []string{fmt.Sprintf("peak reserved was %s and is %s (%s), allocated was %s and is %s (%s)",
		size(old.Summary.PeakReserved), size(r.Summary.PeakReserved), change(old.Summary.PeakReserved, r.Summary.PeakReserved),
		size(old.Summary.PeakAllocated), size(r.Summary.PeakAllocated), change(old.Summary.PeakAllocated, r.Summary.PeakAllocated))}
	if len(old.Sites) == 0 {
		return append(lines, "which line grew is not known: the older result has no call sites (--sites)")
	}
	sites := growths(old.Sites, r.Sites)
	for _, s := range sites[:min(mostGrown, len(sites))] {
		lines = append(lines, s.String())
	}
	return lines
}

// A growth is a line that holds more than before, or lines of one file with the same text.
type growth struct {
	at          []string // where there are such lines now
	now, before uint64   // bytes
	isNew       bool     // no line with this text held memory before
}

func (g *growth) String() string {
	const most = 3
	where, holds, is := strings.Join(g.at[:min(most, len(g.at))], ", "), "holds", "is"
	if len(g.at) > 1 {
		holds, is = "together hold", "are"
	}
	if len(g.at) > most {
		where += fmt.Sprintf(", %d more", len(g.at)-most)
	}
	if g.isNew {
		return fmt.Sprintf("%s %s %s at the peak, and %s new or changed: no line with this text held memory before", where, holds, size(g.now), is)
	}
	return fmt.Sprintf("%s %s %s at the peak, %s more than before", where, holds, size(g.now), size(g.now-g.before))
}

// growths are the lines that hold more than before, the largest growth first.
func growths(old, now []Site) (grown []*growth) {
	before, byKey := map[string]uint64{}, map[string]*growth{}
	for _, s := range old {
		before[s.key()] += s.Bytes
	}
	for _, s := range now {
		g := byKey[s.key()]
		if g == nil {
			held, found := before[s.key()]
			g = &growth{before: held, isNew: !found && s.Code != ""}
			byKey[s.key()] = g
			grown = append(grown, g)
		}
		g.at, g.now = append(g.at, s.At), g.now+s.Bytes
	}
	grown = slices.DeleteFunc(grown, func(g *growth) bool { return g.now <= g.before })
	slices.SortFunc(grown, func(a, b *growth) int {
		return cmp.Or(cmp.Compare(b.now-b.before, a.now-a.before), slices.Compare(a.at, b.at))
	})
	return grown
}

// change is how much more or less a number is, in percent of the old one.
func change(old, now uint64) string {
	if old == 0 {
		return "new"
	}
	return fmt.Sprintf("%+.1f %%", 100*(float64(now)-float64(old))/float64(old))
}

// ExceedsBy reports whether more is reserved than in an older run, by more than a share of it in percent.
func (r *Record) ExceedsBy(percent float64, old *Record) bool {
	return float64(r.Summary.PeakReserved) > float64(old.Summary.PeakReserved)*(1+percent/100)
}
