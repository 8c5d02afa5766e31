package torch

import (
	"os"
	"strings"
	"testing"

	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
	"gaugeblock/tools/torch/binary"
)

// TestAgainst: two releases that break ties in another way differ in that, with a short program
// that is exact by the rules of the newer one; a release does not differ from itself.
func TestAgainst(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the adaptor for each release, and the race detector sees nothing of it")
	}
	run := func(operations int, versions ...string) AgainstReport {
		a := Against{Areas: []string{"core"}, Operations: operations, Seed: 8, Directory: t.TempDir()} // addresses as the driver gives them
		for i, version := range versions {
			var err error
			a.Builds[i], err = Find(version, t.TempDir())
			needs(t, err)
			must(t, binary.Build(a.Builds[i]))
		}
		report, err := a.Run()
		must(t, err)
		return report
	}
	if same := run(2_000, "2.12", "2.12"); len(same.Causes) != 0 || same.Operations < 2_000 {
		t.Errorf("a release differs from itself: %v, %+v", &same, same.Causes)
	}
	other := run(2_000, "2.11", "2.13")
	if len(other.Causes) == 0 {
		t.Fatalf("2.11 and 2.13 do not differ: %v", &other)
	}
	ties := false
	for _, c := range other.Causes {
		if c.Programs < 1 || len(c.Program) > 60 || c.Cplusplus == "" {
			t.Errorf("in %d programs: %s, with %q and %d operations", c.Programs, c.What, c.Cplusplus, len(c.Program))
		}
		ties = ties || strings.Contains(c.What, ": address: 2.11.0") && len(c.Program) < 15
		if _, err := os.Stat(c.Cplusplus); err != nil {
			t.Error(err)
		}
		if r, err := replay.File(c.Trace, replay.Options{New: reference.New}); err != nil || !r.Uncompared {
			t.Errorf("%s: %v, %v", c.Trace, &r, err)
		}
	}
	if !ties {
		t.Errorf("no cause is that of ties: %+v", other.Causes)
	}
}
