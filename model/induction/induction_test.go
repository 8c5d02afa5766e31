package induction

import (
	"flag"
	"runtime"
	"testing"

	_ "gaugeblock/internal/gcpercent"
	"gaugeblock/tla"
)

// large is set by "make induction", which takes minutes.
var large = flag.Bool("large", false, "at the large bounds too")

// unneeded are the lemmas without which no step was found that breaks the others. They make
// the universe smaller. Segments of other sizes than the allocator's would do as well. A freed
// block that waits for no event is lost, but harms nobody. In whatever order the events of a
// stream are, WorkIsAwaited says that a block has one behind its work.
var unneeded = map[string]bool{"SizesAndAlignment": true, "HeldBlocksAreAwaited": true, "EventsInOrder": true}

func universe(t *testing.T, name string) *Universe {
	for _, b := range AllBounds() {
		if b.Name == name {
			u, err := b.Universe(tla.ReadConfig)
			if err != nil {
				t.Fatal(err)
			}
			return u
		}
	}
	t.Fatalf("there are no bounds %q", name)
	return nil
}

// TestInductive: every step from a state that satisfies the conjunction leads to one that
// does. So does the initial state.
func TestInductive(t *testing.T) {
	want := map[string]int{"segment": 7201, "sizes": 59477, "streams": 2125}
	for _, b := range AllBounds() {
		if !b.Small && !*large {
			continue
		}
		r := universe(t, b.Name).Check(runtime.GOMAXPROCS(0))
		t.Logf("%s (%s): %d states, %d steps", b.Name, b.Words, r.States, r.Steps)
		if r.Step != nil {
			t.Errorf("%s: %s", b.Name, r.Step)
		}
		if b.Small && r.States != want[b.Name] {
			t.Errorf("%s has %d states, not %d", b.Name, r.States, want[b.Name])
		}
	}
}

// TestNeeded: without one lemma the rest is not inductive.
func TestNeeded(t *testing.T) {
	for _, lemma := range lemmas {
		var step *Step
		for _, bounds := range []string{"segment", "sizes"} {
			if unneeded[lemma] && bounds == "sizes" {
				break // it takes long to find nothing
			}
			if step = universe(t, bounds).Without(lemma); step != nil {
				t.Logf("without %s, at the bounds %s: %s", lemma, bounds, step)
				break
			}
		}
		if (step == nil) != unneeded[lemma] {
			t.Errorf("without %s: %v", lemma, step)
		}
	}
}
