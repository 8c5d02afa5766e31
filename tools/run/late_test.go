package run

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reserved is a run that has reserved so much, with lines that call record_stream.
func reserved(peak uint64, lines map[string]int) *Result {
	return &Result{Processes: []Answer{{Devices: []Device{{PeakReserved: peak}}, StreamsRecorded: lines}}}
}

// A program that reserves so much in each schedule, and counts how often it is run.
type scheduled struct {
	in     map[Schedule]*Result
	latest *Result
	tried  map[Schedule]bool
}

func (p *scheduled) run(s Schedule) (*Result, error) {
	p.tried[s] = true
	if s.Slower == Latest {
		return p.latest, nil
	}
	return p.in[s], nil
}

// inAll are results for the schedules: the late one, and the others in their order.
func inAll(ranks int, latest, later *Result, rest ...*Result) *scheduled {
	p := &scheduled{map[Schedule]*Result{late(ranks): later}, latest, map[Schedule]bool{}}
	for i, s := range others(ranks)[:len(rest)] {
		p.in[s] = rest[i]
	}
	return p
}

// The range is of the runs in which work takes time. If nothing changes when work is as late as can be there is one
// figure, and no further run.
func TestBound(t *testing.T) {
	const gib, depends = 1 << 30, "the peak depends on when work completes: reserved from "
	full := reserved(3*gib, nil)
	full.Status, full.Processes[0].Uncaught, full.Processes[0].OOMs = 1, "torch.OutOfMemoryError", []OutOfMemory{{}}
	lines := map[string]int{"a.py:1": 1, "b.py:2": 5, "c.py:3": 1, "d.py:4": 1}
	one, two, three, four := reserved(gib, nil), reserved(2*gib, nil), reserved(3*gib, nil), reserved(4*gib, nil)
	for want, p := range map[string]*scheduled{
		"the peak does not depend on when work completes": {nil, reserved(gib, lines), map[Schedule]bool{}},
		depends + "2.00 GiB to 4.00 GiB in 3 runs, probably 3.00 GiB (9.00 GiB if work completes only when the program waits for it)" +
			", since record_stream is called at b.py:2, a.py:1, c.py:3": inAll(0, reserved(9*gib, lines), four, three, two),
		depends + "2.00 GiB to 2.00 GiB in 3 runs, probably 2.00 GiB":                                          inAll(0, two, two, two, two),
		depends + "2.00 GiB to 4.00 GiB in 3 runs, probably 4.00 GiB":                                          inAll(0, two, two, four, three),
		depends + "2.00 GiB to 4.00 GiB in 3 runs, probably 3.00 GiB":                                          inAll(0, two, two, three, four),
		depends + "1024.00 MiB to 3.00 GiB in 3 runs, probably 1024.00 MiB, and it may run out of memory":      inAll(0, three, full, one, one),
		depends + "1024.00 MiB to 2.00 GiB in 3 runs, probably 2.00 GiB (3.00 GiB if work completes only when": inAll(0, full, one, two, one),
	} {
		first := reserved(gib, nil)
		r := &Record{Result: first, Summary: first.Summarize()}
		err := r.Bound(p.run)
		if got := r.Range.String(); err != nil || !strings.HasPrefix(got, want) || len(p.tried) != len(p.in)+1 {
			t.Errorf("%q, not %q, after %d runs, %v", got, want, len(p.tried), err)
		}
		if r.Range.MayFail != strings.Contains(want, "may run out") {
			t.Errorf("%q", r.Range)
		}
	}
	if got := (&Range{Least: 1, Likely: 1, Most: 2, Watchdog: true}).String(); !strings.Contains(got, "since NCCL's watchdog") {
		t.Error(got)
	}
	all := &Range{Least: gib, Likely: gib, Most: 2 * gib, Latest: 3 * gib, Runs: 5, MayFail: true, Reasons: []string{"a.py:1"}, Watchdog: true}
	if got, want := all.String(), depends+"1024.00 MiB to 2.00 GiB in 5 runs, probably 1024.00 MiB (3.00 GiB if work completes only when the program waits for it)"+
		", and it may run out of memory, since record_stream is called at a.py:1"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	r := &Record{Result: reserved(gib, nil)}
	wrong := errors.New("wrong")
	if err := r.Bound(func(Schedule) (*Result, error) { return nil, wrong }); err != wrong {
		t.Error(err)
	}
	if err := r.Bound(func(Schedule) (*Result, error) { return &Result{Status: 1}, nil }); err == nil {
		t.Error("a run that has no answer is in a range")
	}
}

// byRanks is a run of several ranks, each of which has reserved so much.
func byRanks(peaks ...uint64) *Result {
	r := &Result{}
	for i, peak := range peaks {
		r.Processes = append(r.Processes, Answer{Rank: strconv.Itoa(i), Devices: []Device{{PeakReserved: peak}}})
	}
	return r
}

// Each of several ranks has a range of its own, also if only one that does not reserve most differs, and the line
// names those that differ. One of the runs has other addresses.
func TestBoundRanks(t *testing.T) {
	const gib = 1 << 30
	first := byRanks(gib, 3*gib)
	for want, p := range map[string]*scheduled{
		"the peak does not depend":                                                inAll(2, first, byRanks(gib, 3*gib)),
		"; rank 0 from 1024.00 MiB to 2.00 ":                                      inAll(2, first, byRanks(2*gib, 3*gib), first, first, first),
		"; rank 0 from 1024.00 MiB to 4.00 GiB, rank 1 from 3.00 GiB to 5.00 GiB": inAll(2, first, byRanks(4*gib, 5*gib), byRanks(3*gib, 4*gib), byRanks(2*gib, 4*gib), first),
	} {
		r := &Record{Result: first, Summary: first.Summarize()}
		err := r.Bound(p.run)
		if got := r.Range.String(); err != nil || !strings.Contains(got, want) || len(p.tried) != len(p.in)+1 {
			t.Errorf("%q, not %q, after %d runs, %v", got, want, len(p.tried), err)
		}
	}
	if elsewhere := func(ranks int) bool {
		return slices.ContainsFunc(others(ranks), func(s Schedule) bool { return s.Elsewhere })
	}; elsewhere(1) || !elsewhere(2) {
		t.Error("several ranks have a run with other addresses, and one has none")
	}
	r := &Record{Result: first, Summary: first.Summarize()}
	lacking := inAll(2, byRanks(4*gib, 5*gib), byRanks(4*gib, 5*gib), byRanks(gib), byRanks(gib), byRanks(gib))
	if err := r.Bound(lacking.run); err != nil || len(r.Range.Ranks) != 1 || r.Range.Ranks[0].Most != 4*gib {
		t.Errorf("%+v, %v", r.Range, err)
	}
	alone := &Record{Result: byRanks(gib), Summary: byRanks(gib).Summarize()}
	if ranges := alone.boundRanks([]*Result{byRanks(gib)}); ranges != nil {
		t.Errorf("one rank alone has a range of its own: %+v", ranges)
	}
}
