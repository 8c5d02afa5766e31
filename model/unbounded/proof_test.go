package unbounded

import (
	"slices"
	"strings"
	"testing"

	_ "gaugeblock/internal/gcpercent"
)

func needsSolver(t *testing.T) {
	if !IsInstalled() {
		t.Skip("z3 is not installed")
	}
}

func solve(t *testing.T, list []Obligation) []string {
	answers, err := Solve(list)
	if err != nil {
		t.Fatal(err)
	}
	return answers
}

// TestProof: z3 proves every obligation.
func TestProof(t *testing.T) {
	needsSolver(t)
	list := Obligations(moves, lemmas)
	for i, answer := range solve(t, list) {
		if answer != "unsat" {
			t.Errorf("%s: %s", list[i].Name, answer)
		}
	}
	t.Logf("%d obligations", len(list))
}

const (
	waitsForEvents = `(forall ((e E)) (not (and (outstanding e) (covers e u))))`
	isNotTaken     = `(forall ((h H)) (and (not (allocated u h)) (not (deferred u h))))`
)

// mistakes are changes of the moves, each with an obligation that fails then.
var mistakes = []struct {
	says, move, part, before, after, breaks string
}{
	{"a stream use is forgotten", "RecordStream", "uses", `(= h a)`, `false`, "RecordStream keeps UsesWereTouched"},
	{"a block that waits for events counts as free", "Malloc", "guard", waitsForEvents, `true`, "Malloc keeps EventsNameHeldBlocks"},
	{"an allocated block counts as free", "Malloc", "guard", isNotTaken, `true`, "Malloc keeps BlocksAreDisjoint"},
	{"memory of other streams is taken", "Malloc", "guard", `(segment u (streamOf a))`, `true`, "Malloc keeps BlocksAreInSegments"},
	{"more is returned than was allocated", "Malloc", "guard", `(=> (requested u) (block u))`, `true`, "Malloc keeps AllocatedBlocksWereGivenOut"},
	{"an event counts as complete before its work", "CompleteEvent", "guard", `(forall ((w W)) (=> (behind x w) (not (pending w))))`, `true`, "CompleteEvent keeps WorkIsAwaited"},
	{"the event is recorded before the last work", "Free", "behind", pendingAfter, `(pending w)`, "Free keeps WorkIsAwaited"},
	{"a free records no event", "Free", "outstanding", isNewEvent, `false`, "Free keeps WorkIsAwaited"},
	{"a freed block stays allocated", "Free", "allocated", `(not (= h a))`, `true`, "Free keeps EventsNameHeldBlocks"},
	{"an allocated block is released", "Release", "guard", isNotTaken, `true`, "Release keeps BlocksAreInSegments"},
	{"memory is released while events wait for it", "Release", "guard", waitsForEvents, `true`, "Release keeps EventsNameHeldBlocks"},
	{"the driver grants memory twice", "Grant", "guard", `(not (granted u s))`, `true`, "Grant keeps MemoryIsGrantedOnce"},
	{"a segment is registered for another stream", "Register", "guard", `(granted u x)`, `true`, "Register keeps SegmentsWereGranted"},
	{"a deferred free is forgotten", "DeferFree", "deferred", `(= h a)`, `false`, "DeferFree keeps WorkIsAwaited"},
	{"all stream uses are dropped after a capture", "ResolveDeferred", "outstanding", isLateEvent, `false`, "ResolveDeferred keeps WorkIsAwaited"},
	{"memory is returned under its stream's own work", "Release", "guard", isIdle, `true`, "Release keeps WorkIsAwaited"},
	{"work is launched on another stream than the allocation's", "Launch", "guard", `(= (worksIn x) (streamOf a))`, `true`, "Launch keeps WorkIsAwaited"},
	{"work uses what the program does not hold", "Launch", "works", `(held u a)`, `true`, "Launch keeps WorkIsAwaited"},
	{"a use beside a capture that is not marked is forgotten, and was one before", "RecordStreamUnmarked", "uses", `(uses h s)`, `false`, "RecordStreamUnmarked keeps UsesWereTouched"},
	{"a use is recorded before a capture and in it", "RecordStreamInCapture", "guard", `(not (touched a x))`, `true`, "RecordStreamInCapture keeps UsesWereTouched"},
}

// TestMistakes: with a mistake in a move, an obligation has a counterexample.
func TestMistakes(t *testing.T) {
	needsSolver(t)
	for _, m := range mistakes {
		i := slices.IndexFunc(moves, func(x move) bool { return x.name == m.move })
		broken := moves[i]
		parts := map[string]string{"guard": broken.guard}
		for name, text := range broken.after {
			parts[name] = text
		}
		if strings.Count(parts[m.part], m.before) == 0 {
			t.Fatalf("%s: %s of %s does not have %s", m.says, m.part, m.move, m.before)
		}
		parts[m.part] = strings.ReplaceAll(parts[m.part], m.before, m.after)
		broken.guard = parts["guard"]
		delete(parts, "guard")
		broken.after = parts
		list := Obligations([]move{broken}, lemmas)
		breaks := slices.IndexFunc(list, func(o Obligation) bool { return o.Name == m.breaks })
		if answer := solve(t, list[breaks:breaks+1])[0]; answer != "sat" {
			t.Errorf("%s: %s: %s", m.says, m.breaks, answer)
		}
	}
}

// TestNeeded: without one lemma an obligation has a counterexample.
func TestNeeded(t *testing.T) {
	needsSolver(t)
	for i, l := range lemmas {
		list := Obligations(moves, slices.Delete(slices.Clone(lemmas), i, i+1))
		slices.Reverse(list) // the goals first
		found := ""
		for some := range slices.Chunk(list, len(lemmas)) {
			if i := slices.Index(solve(t, some), "sat"); i >= 0 {
				found = some[i].Name
				break
			}
		}
		if found == "" {
			t.Errorf("%s is not needed", l.name)
		}
		t.Logf("without %s: not %s", l.name, found)
	}
}
