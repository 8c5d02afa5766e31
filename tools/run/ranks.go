package run

import (
	"fmt"
	"strings"
)

// mostRanks is how many ranks are named.
const mostRanks = 8

// A rankPeak is what one rank has reserved at most.
type rankPeak struct {
	rank     string
	reserved uint64
	failed   bool // for want of memory
}

// ranks are the ranks that used a GPU, in order. Processes that have none are not among them.
func (r *Result) ranks() (all []rankPeak) {
	for i := range r.Processes {
		p := &r.Processes[i]
		if p.Rank == "" || len(p.Devices) == 0 {
			continue
		}
		peak := rankPeak{rank: p.Rank, failed: p.endedByOutOfMemory()}
		for _, d := range p.Devices {
			peak.reserved = max(peak.reserved, d.PeakReserved)
		}
		all = append(all, peak)
	}
	return all
}

// byRank says what each of several ranks has reserved, or of many the least and the most.
func (r *Result) byRank() string {
	all := r.ranks()
	if len(all) < 2 {
		return ""
	}
	if len(all) > mostRanks {
		least, most := all[0], all[0]
		for _, p := range all {
			if p.reserved < least.reserved {
				least = p
			}
			if p.reserved > most.reserved {
				most = p
			}
		}
		return fmt.Sprintf("%d ranks reserved from %s (rank %s) to %s (rank %s)", len(all), size(least.reserved), least.rank, size(most.reserved), most.rank)
	}
	var parts []string
	for _, p := range all {
		part := fmt.Sprintf("rank %s %s", p.rank, size(p.reserved))
		if p.failed {
			part += " (out of memory)"
		}
		parts = append(parts, part)
	}
	return "reserved: " + strings.Join(parts, ", ")
}
