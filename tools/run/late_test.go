package run

import (
	"errors"
	"strconv"
	"strings"
	"testing"
)

// reserved is a run that has reserved so much, with lines that call record_stream.
func reserved(peak uint64, lines map[string]int) *Result {
	return &Result{Processes: []Answer{{Devices: []Device{{PeakReserved: peak}}, StreamsRecorded: lines}}}
}

// The range is between the runs in which work takes time; if much time changes nothing there is one figure, and
// no further run.
func TestBound(t *testing.T) {
	const gib, depends = 1 << 30, "the peak depends on when work completes: reserved from "
	full := reserved(3*gib, nil)
	full.Status, full.Processes[0].Uncaught, full.Processes[0].OOMs = 1, "torch.OutOfMemoryError", []OutOfMemory{{}}
	lines := map[string]int{"a.py:1": 1, "b.py:2": 5, "c.py:3": 1, "d.py:4": 1}
	for want, runs := range map[string]map[float64]*Result{
		"the peak does not depend on when work completes":                                                            {Late: reserved(gib, lines)},
		depends + "2.00 GiB to 4.00 GiB, probably 3.00 GiB, since record_stream is called at b.py:2, a.py:1, c.py:3": {Fast: reserved(2*gib, nil), Likely: reserved(3*gib, nil), Late: reserved(4*gib, lines)},
		depends + "2.00 GiB to 2.00 GiB, probably 2.00 GiB":                                                          {Fast: reserved(2*gib, nil), Likely: reserved(2*gib, nil), Late: reserved(2*gib, nil)},
		depends + "2.00 GiB to 5.00 GiB, probably 5.00 GiB":                                                          {Fast: reserved(3*gib, nil), Likely: reserved(5*gib, nil), Late: reserved(2*gib, nil)},
		depends + "1024.00 MiB to 3.00 GiB, probably 1024.00 MiB, and it may run out of memory":                      {Fast: reserved(gib, nil), Likely: reserved(gib, nil), Late: full},
	} {
		first := reserved(gib, nil)
		r, tried := &Record{Result: first, Summary: first.Summarize()}, 0
		err := r.Bound(func(slower float64, _ bool) (*Result, error) {
			tried++
			return runs[slower], nil
		})
		if got := r.Range.String(); err != nil || got != want || tried != len(runs) {
			t.Errorf("%q, not %q, after %d runs, %v", got, want, tried, err)
		}
	}
	if got := (&Range{Least: 1, Likely: 1, Most: 2, Watchdog: true}).String(); !strings.Contains(got, "since NCCL's watchdog") {
		t.Error(got)
	}
	r := &Record{Result: reserved(gib, nil)}
	wrong := errors.New("wrong")
	if err := r.Bound(func(float64, bool) (*Result, error) { return nil, wrong }); err != wrong {
		t.Error(err)
	}
	if err := r.Bound(func(float64, bool) (*Result, error) { return &Result{Status: 1}, nil }); err == nil {
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
// names those that differ.
func TestBoundRanks(t *testing.T) {
	const gib = 1 << 30
	first := byRanks(gib, 3*gib)
	for want, runs := range map[string]map[float64]*Result{
		"the peak does not depend":                                                {Late: byRanks(gib, 3*gib)},
		"; rank 0 from 1024.00 MiB to 2.00 ":                                      {Late: byRanks(2*gib, 3*gib), Likely: byRanks(gib, 3*gib), Fast: byRanks(gib, 3*gib)},
		"; rank 0 from 1024.00 MiB to 4.00 GiB, rank 1 from 3.00 GiB to 5.00 GiB": {Late: byRanks(4*gib, 5*gib), Likely: byRanks(3*gib, 4*gib), Fast: byRanks(2*gib, 4*gib)},
	} {
		r := &Record{Result: first, Summary: first.Summarize()}
		elsewhere := 0
		err := r.Bound(func(slower float64, other bool) (*Result, error) {
			if other {
				elsewhere++
			}
			return runs[slower], nil
		})
		if elsewhere != len(runs)/3 {
			t.Errorf("%d runs with other addresses", elsewhere)
		}
		if got := r.Range.String(); err != nil || !strings.Contains(got, want) {
			t.Errorf("%q, not %q, %v", got, want, err)
		}
	}
	r := &Record{Result: first, Summary: first.Summarize()}
	lacks := func(slower float64, _ bool) (*Result, error) {
		return map[bool]*Result{true: byRanks(gib), false: byRanks(4*gib, 5*gib)}[slower == Fast], nil
	}
	if err := r.Bound(lacks); err != nil || len(r.Range.Ranks) != 1 || r.Range.Ranks[0].Most != 4*gib {
		t.Errorf("%+v, %v", r.Range, err)
	}
}
