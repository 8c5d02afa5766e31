package tla

import (
	"testing"

	spectla "gaugeblock/tla"
	"gaugeblock/upstream"
)

// TestUpstreamManifests: in upstream's mode TLC found the property broken that the list expects,
// in the present texts, and the row that each configuration shows is a deviation.
func TestUpstreamManifests(t *testing.T) {
	list, err := spectla.UpstreamConfigurations()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		t.Run(c.Name, func(t *testing.T) {
			m, err := spectla.ReadUpstreamManifest(c.Name)
			if err != nil || m == nil {
				t.Fatalf("there is no manifest: run make tla-upstream (%v)", err)
			}
			if err := m.CheckUses(c.Configuration, true); err != nil {
				t.Error(err)
			}
			if m.Verdict != c.Expect || m.Trace != c.Length || len(m.Steps) != c.Length-1 {
				t.Errorf("%s fails after %d states, with %d steps, not %s after %d", m.Verdict, m.Trace, len(m.Steps), c.Expect, c.Length)
			}
			if upstream.FindDeviation(c.Row) == nil {
				t.Errorf("there is no deviation %q", c.Row)
			}
		})
	}
}
