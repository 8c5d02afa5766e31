package report

import (
	"gaugeblock/snapshot"
	"gaugeblock/spec"
	"testing"
)

// The line of a site is the program's, also if PyTorch's own code is around it.
func TestLineOfSite(t *testing.T) {
	data := Data{Stacks: stacks{
		Frames: []frame{{"other.py", 1, "f"}, {"torch/nn/linear.py", 2, "forward"}, {"train.py", 33, "step"}},
		Stacks: [][]int{{0}, {1, 2}},
		Own:    []int{0, 2},
	}}
	for stack, want := range map[int]string{0: "other.py:1", 1: "train.py:33", noStack: "without a call stack"} {
		if got := data.Line(&Site{Stack: stack}); got != want {
			t.Errorf("stack %d is %s, not %s", stack, got, want)
		}
	}
}

// TestSitesOfEntries: a site has the call stack of its largest block, and a label what was
// allocated under it.
func TestSitesOfEntries(t *testing.T) {
	table := newSiteTable(nil)
	entry := func(caller string, size uint64) *snapshot.TraceEntry {
		return &snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Size: size}, Context: &snapshot.Context{
			Frames: snapshot.Frames{{Filename: "a.py", Line: 1, Name: "f"}, {Filename: "b.py", Line: 2, Name: caller}}, UserMetadata: "text"}}
	}
	for _, e := range []*snapshot.TraceEntry{entry("small", 512), entry("large", 2048), entry("middle", 1024)} {
		at := table.of(0, e)
		table.allocate(&activeBlock{size: e.Size, requested: e.Size, context: e.Context, site: at})
	}
	if s := table.list[0]; len(table.list) != 1 || s.frames[1].Name != "large" || s.largest != 2048 || s.total != 3584 || s.allocations != 3 {
		t.Errorf("%+v", table.list)
	}
	if l := table.labels[0]; len(table.labels) != 1 || l.total != 3584 || l.allocations != 3 {
		t.Errorf("%+v", l)
	}
}
