package torch

import (
	"os"
	"strings"
	"testing"

	"gaugeblock/tests/torch/edges"
)

// quickEdges are the configurations that a test has time for.
var quickEdges = "core_tiny pools_tiny checkpoint_tiny expandable_tiny"

// TestEveryEdge: every edge of small graphs is taken by the reference and by PyTorch's allocator,
// without a difference that docs/deviations.md does not list. "gaugeblock torch --edges" has all graphs.
func TestEveryEdge(t *testing.T) {
	o := built(t)
	list, err := EdgeConfigurations()
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(quickEdges)
	if s := os.Getenv("EDGES"); s != "" {
		names = strings.Fields(s)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			for _, c := range list {
				if c.Name != name {
					continue
				}
				r, err := EdgeRun{PyTorch: o}.Run(c)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%d states, %d of %d edges, %d steps in %d walks, %d operations, %d otherwise, %.1f s", r.States, r.Taken, r.Edges, r.Steps, r.Walks, r.Operations, r.Otherwise, r.Seconds)
				for row, n := range r.Listed {
					t.Logf("%8d %s", n, row)
				}
				for i, f := range r.Unexplained {
					if i < 3 {
						t.Errorf("%s after\n%s", f.What, strings.Join(f.Labels[max(0, len(f.Labels)-30):], "\n"))
					}
				}
				_ = edges.Find
			}
		})
	}
}
