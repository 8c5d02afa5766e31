package run

import "testing"

func TestBounds(t *testing.T) {
	run := func(peak uint64, lines map[string]int) *Result {
		return &Result{Processes: []Answer{{Devices: []Device{{PeakReserved: peak}}, StreamsRecorded: lines}}}
	}
	full := run(3<<30, nil)
	full.Status, full.Processes[0].Uncaught, full.Processes[0].OOMs = 1, "torch.OutOfMemoryError", []OutOfMemory{{}}
	for want, late := range map[string]*Result{
		"the peak does not depend on when work completes": run(1<<30, map[string]int{"a.py:1": 1}),
		"the peak depends on when work completes: reserved 1024.00 MiB if at once, 2.00 GiB if as late as it may, since record_stream is called at b.py:2, a.py:1, c.py:3": run(2<<30, map[string]int{"a.py:1": 1, "b.py:2": 5, "c.py:3": 1, "d.py:4": 1}),
		"the peak depends on when work completes: reserved 1024.00 MiB if at once, 3.00 GiB if as late as it may, where it runs out of memory":                             full,
	} {
		first := run(1<<30, nil)
		r := &Record{Result: first, Summary: first.Summarize()}
		if got := r.Bounds(late); got != want || r.Late == nil {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
