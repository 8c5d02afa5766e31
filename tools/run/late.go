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

// By how much work is slower than the model of durations says, in the runs that tell the range. Fast and Late were chosen
// so that the range of two streams holds what eight runs on H200s reserved.
const (
	Fast   = 0.63
	Likely = 1.0
	Late   = 1.4
)

// otherRankIsLate is by how much each collective waits for another rank in the run that is late, in seconds at the full
// rate of the memory. On two H200s ranks of FSDP1 wait for each other for 40 ms in the first step, and some 5 later.
const otherRankIsLate = 0.002

// A Range is between which peaks a program is, since time has a say, in bytes.
type Range struct {
	AtOnce uint64 `json:"at_once"` // if work completes at once
	Least  uint64 `json:"least"`
	Likely uint64 `json:"likely"`
	Most   uint64 `json:"most"`
	// Ranks has the same for each of several ranks. The figures above are of that which reserves most.
	Ranks []RankRange `json:"ranks,omitempty"`
	// MayFail: in some of the runs it ran out of memory, and not in all.
	MayFail bool     `json:"may_fail,omitempty"`
	Reasons []string `json:"reasons,omitempty"` // lines that call record_stream
	// Watchdog: NCCL's watchdog lets go of tensors.
	Watchdog bool `json:"watchdog,omitempty"`
}

// A RankRange is a Range of one rank.
type RankRange struct {
	Rank   string `json:"rank"`
	AtOnce uint64 `json:"at_once"`
	Least  uint64 `json:"least"`
	Likely uint64 `json:"likely"`
	Most   uint64 `json:"most"`
}

// Bound finds the range of a program by running it with work that takes time. r is a run in which work
// completes at once. If work that takes much time does not change the peak, that is the answer. The range of a program of
// several ranks has that run as well: with small kernels the host is the slower one, and some of the runs on two H200s had
// its peaks. It also has one with other addresses, since where blocks lie depends on what NCCL has taken of the driver.
func (r *Record) Bound(runs func(slower float64, elsewhere bool) (*Result, error)) error {
	timed := func(slower float64, elsewhere bool) (*Result, error) {
		x, err := runs(slower, elsewhere)
		if err != nil {
			return nil, err
		}
		if _, device := x.Worst(); device == nil {
			return nil, fmt.Errorf("a run whose work takes time allocated nothing, and ended with %d: there is no range", x.Status)
		}
		return x, nil
	}
	r.Range = &Range{AtOnce: r.Summary.PeakReserved, Least: r.Summary.PeakReserved, Likely: r.Summary.PeakReserved, Most: r.Summary.PeakReserved}
	late, err := timed(Late, false)
	if err != nil || r.alike(late) {
		return err
	}
	likely, err := timed(Likely, false)
	if err != nil {
		return err
	}
	fast, err := timed(Fast, false)
	if err != nil {
		return err
	}
	all, peaks := []*Result{likely, fast, late}, []uint64{}
	if len(r.ranks()) > 1 {
		elsewhere, err := timed(Late, true)
		if err != nil {
			return err
		}
		all = append(all, r.Result, elsewhere)
	}
	for _, x := range all {
		peaks = append(peaks, x.Summarize().PeakReserved)
	}
	failed := r.Summary.OutOfMemory != nil
	r.Range = &Range{
		AtOnce: r.Summary.PeakReserved, Least: slices.Min(peaks), Likely: peaks[0], Most: slices.Max(peaks), Reasons: late.streamsRecorded(),
		Ranks: r.boundRanks(all), Watchdog: len(r.ranks()) > 0,
		MayFail: failed != (fast.EndedWithoutMemory() != nil) || failed != (likely.EndedWithoutMemory() != nil) || failed != (late.EndedWithoutMemory() != nil),
	}
	return nil
}

// boundRanks are the ranges of several ranks; the first of the runs is the likely one. A rank that gave no answer in one
// of them has none.
func (r *Record) boundRanks(timed []*Result) (all []RankRange) {
	first := r.ranks()
	if len(first) < 2 {
		return nil
	}
	for _, own := range first {
		var peaks []uint64
		for _, x := range timed {
			for _, p := range x.ranks() {
				if p.rank == own.rank {
					peaks = append(peaks, p.reserved)
				}
			}
		}
		if len(peaks) == len(timed) {
			all = append(all, RankRange{own.rank, own.reserved, slices.Min(peaks), peaks[0], slices.Max(peaks)})
		}
	}
	return all
}

// alike reports whether a run has the same peaks and end as that in which work completes at once.
func (r *Record) alike(x *Result) bool {
	s := x.Summarize()
	return slices.Equal(r.ranks(), x.ranks()) && s.PeakReserved == r.Summary.PeakReserved && (s.OutOfMemory == nil) == (r.Summary.OutOfMemory == nil)
}

// String is a line for people.
func (g *Range) String() string {
	if g.Least == g.Most && g.Least == g.AtOnce && !g.MayFail {
		return "the peak does not depend on when work completes" + g.byRank()
	}
	text := fmt.Sprintf("the peak depends on when work completes: reserved from %s to %s, probably %s", size(g.Least), size(g.Most), size(g.Likely))
	if g.MayFail {
		text += ", and it may run out of memory"
	}
	if len(g.Reasons) > 0 {
		text += ", since record_stream is called at " + strings.Join(g.Reasons[:min(mostLines, len(g.Reasons))], ", ")
	}
	if len(g.Reasons) == 0 && g.Watchdog {
		text += ", since NCCL's watchdog lets go of tensors every tenth of a second"
	}
	return text + g.byRank()
}

// byRank is what a line says of ranks that differ, if time has a say in one of them.
func (g *Range) byRank() string {
	differs := func(x RankRange) bool { return x.Least != g.Ranks[0].Least || x.Most != g.Ranks[0].Most }
	depends := func(x RankRange) bool { return x.Least != x.Most }
	if len(g.Ranks) > mostRanks || !slices.ContainsFunc(g.Ranks, differs) || !slices.ContainsFunc(g.Ranks, depends) {
		return ""
	}
	var parts []string
	for _, x := range g.Ranks {
		parts = append(parts, fmt.Sprintf("rank %s from %s to %s", x.Rank, size(x.Least), size(x.Most)))
	}
	return "; " + strings.Join(parts, ", ")
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
