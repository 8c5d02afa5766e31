package explore_test

import (
	"slices"
	"testing"

	"gaugeblock/model/explore"
)

// TestNamesOfProperties: which can fail, each once, and which cannot.
func TestNamesOfProperties(t *testing.T) {
	o := explore.Options[int]{
		Invariants: []explore.Invariant[int]{{Name: "A"}, {Name: "B", ByConstruction: "of its type"}, {Name: "C"}},
		Steps:      []explore.StepProperty[int]{{Name: "D"}},
		LeadsTo:    []explore.LeadsTo[int]{{Name: "E"}, {Name: "E"}, {Name: "F"}},
	}
	if got := o.Checked(); !slices.Equal(got, []string{"A", "C", "D", "E", "F"}) {
		t.Error(got)
	}
	if got := o.ByConstruction(); len(got) != 1 || got[0].Name != "B" || len(o.Invariants) != 3 {
		t.Error(got)
	}
}

// TestCollisionProbability: of 2^27 states it is below 2^-21.
func TestCollisionProbability(t *testing.T) {
	if got := explore.CollisionProbability(1 << 27); got != 0x1p-21 {
		t.Error(got)
	}
	if e := (&explore.LimitError{States: 7, Reason: "it is enough"}); e.Error() != "after 7 states: it is enough" {
		t.Error(e)
	}
}
