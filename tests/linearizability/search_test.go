package linearizability_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/tests/linearizability"
)

// TestSearch searches for a program that is not linearizable, and shortens it. The reference
// has none. Package tests/broken builds this test with broken allocators and runs it
// with a seed in GAUGEBLOCK_SEED; the program that it finds is printed as a line of JSON.
func TestSearch(t *testing.T) {
	seed := 1
	if text := os.Getenv("GAUGEBLOCK_SEED"); text != "" {
		var err error
		if seed, err = strconv.Atoi(text); err != nil {
			t.Fatalf("GAUGEBLOCK_SEED: %v", err)
		}
	}
	found, calls := search(seed, 1000)
	t.Logf("%d calls", calls)
	if found == nil {
		return
	}
	shortest := found.Shorten(failsSomehow)
	line, err := json.Marshal(map[string]any{
		"found_after": calls, "length": shortest.Length(), "detail": shortest.Err.Error(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Errorf("%s", line)
}

// search runs random programs under random schedules until one fails, at most n. It
// returns the number of calls too.
func search(seed, programs int) (found *linearizability.Finding, calls int) {
	setups, drawn := rapid.Custom(drawSetup), rapid.Custom(drawProgram)
	for n := seed; n < seed+programs; n++ {
		f := &linearizability.Finding{Setup: setups.Example(n), Program: drawn.Example(n)}
		if f.Try(randomly(n)) {
			return f, calls + f.Length()
		}
		calls += f.Length()
	}
	return nil, calls
}

func randomly(seed int) linearizability.Policy {
	return linearizability.Random{Pick: rand.New(rand.NewPCG(uint64(seed), 0)).IntN}
}

// failsSomehow tries a known schedule, as far as it applies, and then some random ones.
func failsSomehow(f *linearizability.Finding, schedule []int) bool {
	const others = 100
	known, err := linearizability.ParseSchedule(linearizability.FormatSchedule(schedule))
	if err == nil && f.Try(known) {
		return true
	}
	for seed := range others {
		if f.Try(randomly(seed)) {
			return true
		}
	}
	return false
}
