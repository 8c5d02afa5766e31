package torch

import (
	"bufio"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/internal/checkout"
)

var (
	operations = flag.Int("ops", 200_000, "operations that TestLockstep compares")
	seed       = flag.Uint64("seed", 1, "the seed of TestLockstep's first programs")
	workers    = flag.Int("workers", 1, "processes of TestLockstep")
	traces     = flag.String("traces", "", "directory for the traces of TestLockstep's unexplained differences")
)

// TestLockstep performs random programs on the reference and on PyTorch's allocator. What
// differs has to be in docs/deviations.md.
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

// TestRows: a rule's row is one of docs/deviations.md.
func TestRows(t *testing.T) {
	root, err := checkout.Root()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(root, "docs", "deviations.md"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if row, found := strings.CutPrefix(lines.Text(), "| "); found {
			rows = append(rows, row)
		}
	}
	names := []string{rowOrder, rowRestoreOrder}
	for _, r := range slices.Concat(rules, hazardRules) {
		names = append(names, r.row)
	}
	for _, name := range names {
		found := 0
		for _, row := range rows {
			if strings.HasPrefix(row, name) {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%d rows of docs/deviations.md begin with %q", found, name)
		}
	}
}
