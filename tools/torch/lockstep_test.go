package torch

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"

	"gaugeblock/upstream"
)

var (
	operations = flag.Int("ops", 200_000, "operations that TestLockstep compares")
	seed       = flag.Uint64("seed", 1, "the seed of TestLockstep's first programs")
	workers    = flag.Int("workers", 1, "processes of TestLockstep")
	traces     = flag.String("traces", "", "directory for the traces of TestLockstep's unexplained differences")
)

// TestLockstep performs random programs on the reference and on PyTorch's allocator. What
// differs has to be a deviation.
func TestLockstep(t *testing.T) {
	o := built(t)
	report, err := Search{
		PyTorch: o, Operations: *operations, Seed: *seed, Workers: *workers, Directory: *traces, Keep: 3,
	}.Run()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range report.Rows() {
		t.Log(line)
	}
	for _, f := range report.Unexplained {
		t.Errorf("area %s, seed %d: %s\n\t%s", f.Area, f.Seed, f.What, strings.Join(f.Program, "\n\t"))
	}
	n := float64(report.Operations)
	t.Logf("%v (%.0f operations a second, %.0f a second of a processor)", &report, n/report.Seconds, n/report.CPUSeconds)
}

// TestRows: a rule's row is a deviation.
func TestRows(t *testing.T) {
	names := []string{rowOrder, rowRestoreOrder}
	for _, r := range slices.Concat(rules, hazardRules) {
		names = append(names, r.row)
	}
	for _, name := range slices.AppendSeq(names, maps.Values(faultRows)) {
		if upstream.FindDeviation(name) == nil {
			t.Errorf("there is no deviation %q", name)
		}
	}
}
