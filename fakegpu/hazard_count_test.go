package fakegpu

import (
	"testing"

	"gaugeblock/spec"
)

// TestHazardCount: nothing needs to have turned the detection of hazards on.
func TestHazardCount(t *testing.T) {
	g := New(Config{})
	if n := g.HazardCount(); n != 0 {
		t.Errorf("%d hazards before detection is on", n)
	}
	g.BeginLifetime(Lifetime{Range: spec.Range{Ptr: 512, Bytes: 512}})
	if n := g.HazardCount(); n != 1 || n != len(g.Hazards()) {
		t.Errorf("%d hazards, and %d are listed, want 1", n, len(g.Hazards()))
	}
}
