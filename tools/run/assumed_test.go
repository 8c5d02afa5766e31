package run

import (
	"strings"
	"testing"
)

// A peak that rests on counts of unknown values says which bound it is, and how to get the other.
func TestAssumed(t *testing.T) {
	run := func(peak uint64, assume string, decisions map[string]int) *Result {
		return &Result{Assume: assume, Processes: []Answer{{Devices: []Device{{PeakReserved: peak}}, Decisions: decisions}}}
	}
	sizes, none := map[string]int{"a.py:1 nonzero": 2, "a.py:2 item": 1}, map[string]int{"a.py:2 item": 1}
	for _, c := range []struct {
		result *Result
		want   string
	}{
		{run(1<<30, AssumeLeast, sizes), "a lower bound (--assume most"},
		{run(1<<30, AssumeMost, sizes), "an upper bound"},
		{run(1<<30, AssumeLeast, map[string]int{"a.py:1 count of mode": 1}), "a lower bound"},
	} {
		if got := told(*c.result); !strings.Contains(got, c.want) || !c.result.HasUnknownSizes() {
			t.Errorf("%q has not %q", got, c.want)
		}
	}
	for _, assume := range []string{AssumeLeast, AssumeMost} {
		if r := run(1<<30, assume, none); strings.Contains(told(*r), "bound") || r.HasUnknownSizes() {
			t.Error(told(*r))
		}
	}
	least := &Record{Result: run(1<<30, AssumeLeast, sizes)}
	least.Summary = least.Summarize()
	for peak, want := range map[uint64]string{
		1 << 30: "the peak does not depend on the counts that are not known",
		2 << 30: "the peak depends on counts that are not known: reserved 1024.00 MiB if they are 0, 2.00 GiB if they are as large as they can be",
	} {
		if got := least.Counted(run(peak, AssumeMost, sizes)); got != want || least.Most == nil {
			t.Errorf("%q, not %q", got, want)
		}
	}
	ends := func(assume string) *Result {
		r := run(1<<30, assume, sizes)
		r.Status, r.Processes[0].Uncaught, r.Processes[0].OOMs = 1, "torch.OutOfMemoryError", []OutOfMemory{{Asked: 1}}
		return r
	}
	const same = "the peak depends on counts that are not known: reserved 1024.00 MiB if they are 0, 1024.00 MiB if they are as large as they can be"
	if got := least.Counted(ends(AssumeMost)); got != same+", where it runs out of memory" {
		t.Error(got)
	}
	full := &Record{Result: ends(AssumeLeast)}
	full.Summary = full.Summarize()
	if got := full.Counted(ends(AssumeMost)); got != "the peak does not depend on the counts that are not known" {
		t.Error(got)
	}
	if got := full.Counted(run(1<<30, AssumeMost, sizes)); got != same {
		t.Error(got)
	}
}
