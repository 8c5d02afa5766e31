package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Site is a line of the program, and how much of what it allocated there was at the peak, in bytes.
type Site struct {
	At    string `json:"at"`
	Bytes uint64 `json:"bytes"`
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
	before := map[string]uint64{}
	for _, s := range old.Sites {
		before[s.At] = s.Bytes
	}
	grown := slices.DeleteFunc(slices.Clone(r.Sites), func(s Site) bool { return s.Bytes <= before[s.At] })
	slices.SortFunc(grown, func(a, b Site) int {
		return cmp.Or(cmp.Compare(b.Bytes-before[b.At], a.Bytes-before[a.At]), strings.Compare(a.At, b.At))
	})
	for _, s := range grown[:min(mostGrown, len(grown))] {
		lines = append(lines, fmt.Sprintf("%s holds %s at the peak, %s more than before", s.At, size(s.Bytes), size(s.Bytes-before[s.At])))
	}
	if len(old.Sites) == 0 {
		lines = append(lines, "which line grew is not known: the older result has no call sites (--sites)")
	}
	return lines
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
