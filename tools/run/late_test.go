package run

import (
	"errors"
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
		err := r.Bound(func(slower float64) (*Result, error) {
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
	if err := r.Bound(func(float64) (*Result, error) { return nil, wrong }); err != wrong {
		t.Error(err)
	}
}
