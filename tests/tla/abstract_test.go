package tla

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/model/abstract"
	"gaugeblock/model/abstract/refinement"
	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/spec"
	"gaugeblock/tla"
)

// unnamed is the abstract memory with TLC's label for every step.
type unnamed struct{ *abstract.Machine }

func (unnamed) Labels() []string { return []string{"BoundedNext"} }

func (u unnamed) Next(s abstract.State, yield func(label int, next abstract.State)) {
	u.Machine.Next(s, func(_ int, next abstract.State) { yield(0, next) })
}

// TestAbstractMemory: package abstract has the states and steps of AbstractMemory.tla.
func TestAbstractMemory(t *testing.T) {
	m := manifest(t, "abstract")
	machine := unnamed{&abstract.Machine{Bytes: 1, Streams: 2, Sizes: []int{1}, Room: 1, Work: 1, Graphs: 1, Names: 2}}
	r := explore.Explore(machine, explore.Options[abstract.State]{
		Text: machine.Text,
		Invariants: []explore.Invariant[abstract.State]{
			{Name: "AllocationsAreDisjoint", Holds: abstract.State.AllocationsAreDisjoint}, {Name: "InOrder", Holds: abstract.State.InOrder},
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

// TestRefinement: the model refines the abstract memory in Go, in the states in which the
// specification does.
func TestRefinement(t *testing.T) {
	mirrors := map[string]string{
		"refinement": "core", "refinement_expandable": "core", "refinement_own_work": "core", "refinement_two_step": "two_step",
		"refinement_faults": "faults", "refinement_pool_faults": "pool_faults", "refinement_two_step_faults": "two_step_faults",
		"refinement_capture_faults": "capture_faults", "refinement_two_faults": "two_faults",
	}
	for _, c := range configurations(t) {
		mirror, listed := mirrors[c.Name]
		if !listed {
			continue
		}
		delete(mirrors, c.Name)
		t.Run(c.Name, func(t *testing.T) {
			config, err := c.Config()
			if err != nil {
				t.Fatal(err)
			}
			config.Invariants, config.Properties = nil, nil
			check, err := bounded.NewCheck(mirror, config)
			if err != nil {
				t.Fatal(err)
			}
			bounds, err := bounded.ReadBounds(config, "MaxDriverCalls")
			if err != nil {
				t.Fatal(err)
			}
			refinement.Add(&check.Options, bounds)
			r := explore.Explore(check.Module, check.Options)
			if r.Violation != nil {
				t.Errorf("%s is broken in %d states", r.Violation.Property, len(r.Violation.Trace))
			}
			if want := manifest(t, c.Name).States; r.States != want {
				t.Errorf("%d states, TLC has %d", r.States, want)
			}
		})
	}
	for name := range mirrors {
		t.Errorf("there is no configuration %s", name)
	}
}

// TestRefinementWithGraphs: so does the model with private pools, with the memory of graphs.
func TestRefinementWithGraphs(t *testing.T) {
	const name = "refinement_pools"
	named, unknown := tla.Named(configurations(t), []string{name})
	if unknown != "" {
		t.Fatalf("there is no configuration %s", unknown)
	}
	config, err := named[0].Config()
	if err != nil {
		t.Fatal(err)
	}
	config.Specification, config.Invariants, config.Properties = "Spec", nil, nil
	check, err := bounded.NewCheck("pools", config)
	if err != nil {
		t.Fatal(err)
	}
	bounds, err := bounded.ReadBounds(config)
	if err != nil {
		t.Fatal(err)
	}
	pools := []spec.PoolID{bounded.PoolID(1)}
	graphs := &refinement.Graphs{Module: check.Module, Pools: pools, Map: refinement.New(bounds, pools...)}
	r := explore.Explore(graphs, graphs.Options())
	if r.Violation != nil {
		t.Errorf("%s is broken in %d states", r.Violation.Property, len(r.Violation.Trace))
	}
	if want := manifest(t, name).States; r.States != want {
		t.Errorf("%d states, TLC has %d", r.States, want)
	}
}
