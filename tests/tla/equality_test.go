package tla

import (
	"flag"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	_ "gaugeblock/internal/gcpercent"
	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/model/tlc"
	spectla "gaugeblock/tla"
)

var all = flag.Bool("all", false, "compare the large configurations too")

// configurations lists the configurations.
func configurations(t *testing.T) []spectla.Configuration {
	list, err := spectla.Configurations()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func manifest(t *testing.T, name string) *spectla.Manifest {
	m, err := spectla.ReadManifest(name)
	if err != nil {
		t.Fatal(err)
	}
	if m == nil {
		t.Fatalf("there is no manifest of %s: run make tla", name)
	}
	return m
}

// TestManifests: the manifests are of what the configurations use, and TLC found what the list
// expects.
func TestManifests(t *testing.T) {
	for _, c := range configurations(t) {
		t.Run(c.Name, func(t *testing.T) {
			m := manifest(t, c.Name)
			if err := m.CheckUses(c, false); err != nil {
				t.Error(err)
			}
			if m.Verdict != c.Expect && !(m.Verdict == "liveness" && isTemporal(t, c)) {
				t.Errorf("the verdict is %s, not %s", m.Verdict, c.Expect)
			}
			if c.Length != 0 && m.Trace != c.Length {
				t.Errorf("the counterexample has %d states, not %d", m.Trace, c.Length)
			}
		})
	}
}

// isTemporal reports whether the property that is expected to fail is a temporal one, which
// TLC does not name.
func isTemporal(t *testing.T, c spectla.Configuration) bool {
	for _, name := range config(t, c).Properties {
		if name == c.Expect {
			return true
		}
	}
	return false
}

func config(t *testing.T, c spectla.Configuration) *tlc.Config {
	cfg, err := c.Config()
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// graphOf is what must be equal of the two graphs.
type graphOf struct {
	States, Edges, Generated, Depth int
	StateDigest, EdgeDigest         string
}

// TestEquality: the model's graph is TLC's, and the model finds what TLC finds.
func TestEquality(t *testing.T) {
	for _, c := range configurations(t) {
		if c.Mirror == "" || c.Size == "large" && !*all {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			m := manifest(t, c.Name)
			check := open(t, c)
			if c.Expect == "ok" {
				check.CheckAlways()
			}
			check.Options.Text = check.Module.Text
			started := time.Now()
			r := explore.Explore(check.Module, check.Options)
			t.Logf("%d states, %d edges in %v", r.States, r.Edges, time.Since(started).Round(time.Millisecond))
			if c.Expect != "ok" {
				compareViolation(t, c, m, r)
				return
			}
			want := graphOf{m.States, m.Edges, m.Generated, m.Depth, m.StateDigest, m.EdgeDigest}
			got := graphOf{r.States, r.Edges, r.Generated, r.Depth, r.StateDigest, r.EdgeDigest}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("the model's graph (+) is not TLC's (-):\n%s", d)
			}
			if r.Violation != nil {
				t.Errorf("the model breaks %s", r.Violation.Property)
			}
		})
	}
}

// compareViolation: both break the expected property. For a property of states or steps both
// counterexamples are shortest ones, so their lengths are equal. For a liveness property
// TLC's path and loop need not be shortest, and are not compared.
func compareViolation(t *testing.T, c spectla.Configuration, m *spectla.Manifest, r explore.Result[*bounded.State]) {
	if r.Violation == nil || r.Violation.Property != c.Expect {
		t.Fatalf("the model does not break %s: %+v", c.Expect, r.Violation)
	}
	if r.Violation.Loop < 0 && len(r.Violation.Trace) != m.Trace {
		t.Errorf("the model's counterexample has %d states, TLC's has %d", len(r.Violation.Trace), m.Trace)
	}
}
