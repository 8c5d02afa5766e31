package induction

import (
	"testing"

	"gaugeblock/model"
	"gaugeblock/tla"
)

// TestPruning: what the enumeration leaves out early breaks the conjunction.
func TestPruning(t *testing.T) {
	b := AllBounds()[0]
	b.Work, b.Events = 1, 1
	count := func(prune bool) (n int) {
		u, err := b.Universe(tla.ReadConfig)
		if err != nil {
			t.Fatal(err)
		}
		if !prune {
			u.ofLayout, u.ofEvents, u.ofWork = nil, nil, nil
		}
		for _, segments := range u.layouts() {
			u.eachQueue(segments, func(s *model.State) {
				if broken(u.all, s) == "" {
					n++
				} else if prune {
					t.Fatalf("enumerated, and breaks %s:\n%s", broken(u.all, s), u.text(s))
				}
			})
		}
		return n
	}
	if all, pruned := count(false), count(true); all != pruned || pruned == 0 {
		t.Errorf("%d states satisfy the conjunction, %d with pruning", all, pruned)
	}
}

// TestInitial: the conjunction holds in the initial state.
func TestInitial(t *testing.T) {
	for _, b := range AllBounds() {
		u, err := b.Universe(tla.ReadConfig)
		if err != nil {
			t.Fatal(err)
		}
		if name := broken(u.all, u.initial); name != "" {
			t.Errorf("%s: the initial state breaks %s", b.Name, name)
		}
	}
}
