package examine

import (
	"os/exec"
	"path/filepath"
	"testing"

	"gaugeblock/conformance"
	"gaugeblock/fakegpu/cuda"
	"gaugeblock/internal/race"
)

// TestReference: the reference as libgaugeblock.so decides as the reference in this process,
// as far as its interface shows it: outcomes and addresses.
func TestReference(t *testing.T) {
	if race.Enabled {
		t.Skip("builds the reference as a library, which takes long")
	}
	build(t)
	library := filepath.Join(t.TempDir(), "libgaugeblock.so")
	c := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags", "-s -w", "-o", library, "../../cudaimpl/pluggable/libgaugeblock")
	if err := cuda.Run(c); err != nil {
		t.Fatal(err)
	}
	report, err := Search{Library: library, Level: conformance.Exact, Operations: 3000, Build: scratch}.Run()
	if err != nil {
		t.Fatal(err)
	}
	if report.Reached != conformance.Exact || report.Contract.Uses != conformance.UsesRecorded || len(report.Searched) < 7 {
		t.Errorf("%v", report)
	}
}
