package tla

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/model/abstract"
	"gaugeblock/model/explore"
)

// unnamed is the abstract memory with TLC's label for every step.
type unnamed struct{ *abstract.Machine }

func (unnamed) Labels() []string { return []string{"UnnamedAction"} }

func (u unnamed) Next(s abstract.State, yield func(label int, next abstract.State)) {
	u.Machine.Next(s, func(_ int, next abstract.State) { yield(0, next) })
}

// TestAbstractMemory: package abstract has the states and steps of AbstractMemory.tla.
func TestAbstractMemory(t *testing.T) {
	m := manifest(t, "abstract")
	machine := unnamed{&abstract.Machine{Bytes: 2, Streams: 2, Sizes: []int{1, 2}}}
	r := explore.Explore(machine, explore.Options[abstract.State]{
		Text: machine.Text,
		Invariants: []explore.Invariant[abstract.State]{
			{Name: "OneOwner", Holds: abstract.State.OneOwner}, {Name: "InOrder", Holds: abstract.State.InOrder},
		},
	})
	want := graphOf{m.States, m.Edges, m.Generated, m.Depth, m.StateDigest, m.EdgeDigest}
	got := graphOf{r.States, r.Edges, r.Generated, r.Depth, r.StateDigest, r.EdgeDigest}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the graph in Go (+) is not TLC's (-):\n%s", d)
	}
	if r.Violation != nil {
		t.Errorf("%s is broken", r.Violation.Property)
	}
}
