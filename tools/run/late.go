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

// A Schedule is when work on a stream is done: at once if it is zero, or by a model of durations.
type Schedule struct {
	Slower float64 // so many times as long as the model says; 0: at once
	Host   float64 // the same for the host; 0: as the model says
	// Ranks: so many times as long as a rank's host the others' take; 0: they take as long. With a seed they do so by
	// chance, now and then, alike for equal seeds.
	Ranks float64
	Seed  uint64
	// Watchdog: so many milliseconds after the end of a collective NCCL's watchdog sees it.
	Watchdog uint64
	// Elsewhere: the driver's addresses ascend.
	Elsewhere bool
}

// With Likely work takes what the model of durations says, and with Latest next to nothing is done before the program
// waits for it.
const (
	Likely = 1.0
	Latest = 1000
)

// What is not known of a run, as it was on H200s. One host gave work by 0.7 to 1.3 times the pace of the model, by
// program and run, and the same program on another machine by 1.54 times; from
// the first exchange of gradients to the second forward pass of DDP they took 0.75 times as long as it and longer. Ranks
// of FSDP1 were behind by 2 to 9 ms in most steps and by 33 in the second, each now and then the faster one by up to a
// third. NCCL's watchdog sleeps for a tenth of a second between two looks.
const (
	hostFast  = 0.65
	hostSlow  = 1.55
	ranksFast = 0.75

	ranksBehind   = 1.25
	ranksByChance = 1.5

	watchdogMiddle = 50
	watchdogLate   = 90
)

// late is one that is late, and others are those that are tried if time has a say, the likely one first. Where blocks
// lie depends on what NCCL has taken of the driver, so that several ranks have other addresses in one of them.
func late(ranks int) Schedule {
	if ranks > 0 {
		return Schedule{Slower: Likely, Ranks: ranksBehind, Watchdog: watchdogLate}
	}
	return Schedule{Slower: Likely, Host: hostFast}
}

func others(ranks int) []Schedule {
	if ranks == 0 {
		return []Schedule{{Slower: Likely}, {Slower: Likely, Host: hostSlow}}
	}
	return []Schedule{
		{Slower: Likely, Watchdog: watchdogMiddle},
		{Slower: Likely, Ranks: ranksByChance, Seed: 2, Watchdog: watchdogLate},
		{Slower: Likely, Host: ranksFast, Watchdog: watchdogLate, Elsewhere: ranks > 1},
	}
}

// set sets the variables of the fake GPU: fakegpu/cuda/README.md.
func (s Schedule) set(set func(name, value string)) {
	set("GAUGEBLOCK_CUDA_SCHEDULE", "eager")
	if s.Slower > 0 {
		set("GAUGEBLOCK_CUDA_SCHEDULE", "time")
		set("GAUGEBLOCK_CUDA_SLOWER", fmt.Sprint(s.Slower))
		set("GAUGEBLOCK_CUDA_HOST_SLOWER", fmt.Sprint(cmp.Or(s.Host, 1)))
		set("GAUGEBLOCK_CUDA_RANKS_SLOWER", fmt.Sprint(cmp.Or(s.Ranks, 1)))
		set("GAUGEBLOCK_CUDA_SEED", fmt.Sprint(s.Seed))
		set("GAUGEBLOCK_CUDA_WATCHDOG_LATE", fmt.Sprint(s.Watchdog))
	}
	set("GAUGEBLOCK_CUDA_ADDRESSES", "process")
	if s.Elsewhere {
		set("GAUGEBLOCK_CUDA_ADDRESSES", "ascending")
	}
}

// A Range is between which peaks a program is in several runs, since time has a say, in bytes. It is no bound: in a run
// that was not tried the peak may lie beside it.
type Range struct {
	Runs   int    `json:"runs"`    // that it is of
	AtOnce uint64 `json:"at_once"` // if work completes at once
	Latest uint64 `json:"latest"`  // if next to no work completes before the program waits for it
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

// Bound finds the range of a program by running it with work that takes time. r is a run in which work completes at once.
// If the peak is the same when work completes as late as can be, and for several ranks also when some are late, that
// is the answer. The range of a program of several ranks has the run at once as well: with small kernels the host is the
// slower one, and some of the runs on two H200s had its peaks.
func (r *Record) Bound(runs func(Schedule) (*Result, error)) error {
	timed := func(s Schedule) (*Result, error) {
		x, err := runs(s)
		if err != nil {
			return nil, err
		}
		if _, device := x.Worst(); device == nil {
			return nil, fmt.Errorf("a run whose work takes time allocated nothing, and ended with %d: there is no range", x.Status)
		}
		return x, nil
	}
	own, ranks := r.Summary.PeakReserved, len(r.ranks())
	r.Range = &Range{Runs: 1, AtOnce: own, Latest: own, Least: own, Likely: own, Most: own}
	latest, err := timed(Schedule{Slower: Latest})
	if err != nil || r.alike(latest) && ranks < 2 {
		return err
	}
	later, err := timed(late(ranks))
	if err != nil || r.alike(latest) && r.alike(later) {
		return err
	}
	var all []*Result
	for _, s := range others(ranks) {
		x, err := timed(s)
		if err != nil {
			return err
		}
		all = append(all, x)
	}
	all = append(all, later)
	if ranks > 1 {
		all = append(all, r.Result)
	}
	r.rangeOf(all, latest)
	return nil
}

// rangeOf is the range of several runs, the likely one first.
func (r *Record) rangeOf(all []*Result, latest *Result) {
	failed := func(x *Result) bool { return x.EndedWithoutMemory() != nil }
	g := &Range{
		Runs: len(all), AtOnce: r.Summary.PeakReserved, Latest: latest.Summarize().PeakReserved, Ranks: r.boundRanks(all),
		MayFail: slices.ContainsFunc(all, func(x *Result) bool { return failed(x) != failed(r.Result) }),
		Reasons: latest.streamsRecorded(), Watchdog: len(r.ranks()) > 0,
	}
	var peaks []uint64
	for _, x := range all {
		peaks = append(peaks, x.Summarize().PeakReserved)
	}
	g.Least, g.Likely, g.Most = slices.Min(peaks), peaks[0], slices.Max(peaks)
	r.Range = g
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
	if g.Least == g.Most && g.Least == g.AtOnce && g.Least == g.Latest && !g.MayFail {
		return "the peak does not depend on when work completes" + g.byRank()
	}
	text := fmt.Sprintf("the peak depends on when work completes: reserved from %s to %s in %d runs, probably %s", size(g.Least), size(g.Most), g.Runs, size(g.Likely))
	if g.Latest > g.Most {
		text += fmt.Sprintf(" (%s if work completes only when the program waits for it)", size(g.Latest))
	}
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
