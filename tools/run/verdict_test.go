package run

import (
	"strings"
	"testing"

	"gaugeblock/spec"
)

func told(r Result) string {
	var b strings.Builder
	r.Tell(&b)
	return b.String()
}

func TestVerdict(t *testing.T) {
	const gib = spec.GiB
	ran := Device{PeakReserved: 12 * gib, PeakAllocated: 10 * gib}
	full := OutOfMemory{Asked: 2 * gib, Limit: 24 * gib, Free: gib, Step: 3, At: "train.py:88", Reserved: 22 * gib, Allocated: 22 * gib}
	pieces := OutOfMemory{Asked: 2 * gib, Limit: 24 * gib, Free: gib, Reserved: 22 * gib, Allocated: 18 * gib}
	limited := OutOfMemory{Asked: 2 * gib, Limit: 8 * gib, Free: 16 * gib, Reserved: 7 * gib, Allocated: 7 * gib}
	const ended = "torch.OutOfMemoryError"
	for name, c := range map[string]struct {
		result Result
		want   []string
	}{
		"nothing": {Result{}, []string{"no process of the command allocated"}},
		"fits": {Result{GPU: "h200", Memory: 139 * gib, Processes: []Answer{{Devices: []Device{ran}}}},
			[]string{"peak reserved 12.00 GiB, allocated 10.00 GiB, on h200", "it did not run out of memory", "is t4 (14.56 GiB)"}},
		"interrupted": {Result{Interrupted: true, Processes: []Answer{{Devices: []Device{ran}}}}, []string{"until it was interrupted"}},
		"full": {Result{GPU: "4090", Memory: 24 * gib, Processes: []Answer{{Uncaught: ended, OOMs: []OutOfMemory{full}, Devices: []Device{ran}}}},
			[]string{"ran out of memory at train.py:88 (step 3): asked for 2.00 GiB, with 1024.00 MiB free", "less than it asked for", "at least 1024.00 MiB must go; or a larger GPU: --gpu 5090"}},
		"pieces": {Result{Memory: 24 * gib, Processes: []Answer{{Uncaught: ended, OOMs: []OutOfMemory{pieces}, Devices: []Device{ran}}}},
			[]string{"4.00 GiB reserved but unused: enough, but in pieces", "try --settings expandable_segments:True"}},
		"caught": {Result{Memory: 24 * gib, Processes: []Answer{{OOMs: []OutOfMemory{limited}, Devices: []Device{ran}}}},
			[]string{"and the program went on (step 0): asked for 2.00 GiB, with 1024.00 MiB free"}},
		"ranks": {Result{Processes: []Answer{{Rank: "0", Devices: []Device{{}}}, {Rank: "1", Devices: []Device{ran}}}}, []string{"rank 1 of 2 processes"}},
	} {
		for _, want := range c.want {
			if got := told(c.result); !strings.Contains(got, want) {
				t.Errorf("%s: %s has not %q", name, got, want)
			}
		}
	}
}

// The answers of ranks are in the order of their numbers.
func TestCollect(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"7.json": `{"pid": 7, "rank": "10"}`, "8.json": `{"pid": 8, "rank": "2"}`, "9.progress": "{"} {
		write(t, folder, name, text)
	}
	r, err := collect(folder)
	if err != nil || len(r.Processes) != 2 || r.Processes[0].PID != 8 {
		t.Errorf("%+v, %v", r, err)
	}
	write(t, folder, "7.json", "{")
	if _, err := collect(folder); err == nil || !strings.Contains(err.Error(), "7.json") {
		t.Errorf("a broken answer: %v", err)
	}
}
