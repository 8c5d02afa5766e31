package run

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mostLines is how many lines that call record_stream are named.
const mostLines = 3

// Bounds says between which figures the peak is: r is a run in which work completes at once, and late
// one in which it completes as late as it may.
func (r *Record) Bounds(late *Result) string {
	s := late.Summarize()
	r.Late = &s
	if s.PeakReserved == r.Summary.PeakReserved && (s.OutOfMemory == nil) == (r.Summary.OutOfMemory == nil) {
		return "the peak does not depend on when work completes"
	}
	text := fmt.Sprintf("the peak depends on when work completes: reserved %s if at once, %s if as late as it may", size(r.Summary.PeakReserved), size(s.PeakReserved))
	if s.OutOfMemory != nil && r.Summary.OutOfMemory == nil {
		text += ", where it runs out of memory"
	}
	if lines := late.streamsRecorded(); len(lines) > 0 {
		text += ", since record_stream is called at " + strings.Join(lines[:min(mostLines, len(lines))], ", ")
	}
	return text
}

// streamsRecorded are the lines that call record_stream, those that do so most often first.
func (r *Result) streamsRecorded() []string {
	calls := map[string]int{}
	for _, p := range r.Processes {
		for at, n := range p.StreamsRecorded {
			calls[cmp.Or(at, "a library")] += n
		}
	}
	return slices.SortedFunc(maps.Keys(calls), func(a, b string) int { return cmp.Or(calls[b]-calls[a], strings.Compare(a, b)) })
}
