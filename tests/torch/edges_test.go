package torch

import (
	"slices"
	"strings"
	"testing"

	"gaugeblock/tests/torch/edges"
	"gaugeblock/tla"
)

// quickEdges are configurations that a test has time for.
var quickEdges = []string{"pools_tiny", "checkpoint_oversize", "expandable_tiny", "three_streams"}

// TestEveryEdge: every step of small configurations is taken by the reference, in both sizes, and by
// PyTorch's allocator, and what differs is in docs/deviations.md. "gaugeblock torch --edges" has
// all configurations.
func TestEveryEdge(t *testing.T) {
	o := built(t)
	list, err := EdgeConfigurations()
	if err != nil {
		t.Fatal(err)
	}
	tested := 0
	for _, c := range list {
		if !slices.Contains(quickEdges, c.Name) {
			continue
		}
		tested++
		t.Run(c.Name, func(t *testing.T) {
			r, err := EdgeRun{PyTorch: o}.Run(c)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d edges in %d walks, %d operations, %v", r.Edges, r.Walks, r.Operations, r.Listed)
			if r.Taken != r.Edges {
				t.Errorf("%d of %d edges are taken", r.Taken, r.Edges)
			}
			for _, f := range r.Unexplained {
				t.Errorf("%s after\n%s", f.What, strings.Join(f.Labels, "\n"))
			}
		})
	}
	if tested != len(quickEdges) {
		t.Errorf("%d of %d configurations are there", tested, len(quickEdges))
	}
}

// TestScales: each configuration whose steps can be taken has a scale, and no scale is of any other.
func TestScales(t *testing.T) {
	list, err := EdgeConfigurations()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if edges.Find(c.Name) == nil {
			t.Errorf("%s has no scale in tests/torch/edges/scales.go, and no reason not to have one", c.Name)
		}
	}
}

// TestWrongScale: a scale that is not exact is noticed, whatever the two allocators do alike.
func TestWrongScale(t *testing.T) {
	o := built(t)
	list, err := EdgeConfigurations()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(list, func(c tla.Configuration) bool { return c.Name == "core_tiny" })
	// Two large requests do not fill a segment any more: the second leaves 2 MiB.
	scale := *edges.Find("core_tiny")
	scale.Requests = []edges.Size{{Units: 1, Bytes: 1 << 20}, {Units: 2, Bytes: 7 << 20}}
	r, err := EdgeRun{PyTorch: o, scale: &scale, Length: 50}.Run(list[at])
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Unexplained) == 0 {
		t.Error("nothing was noticed")
	}
}
