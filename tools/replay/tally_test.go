package replay

import (
	"fmt"
	"testing"
)

// TestReleasesOfTally: the releases whose rules were followed are told once each, the oldest first.
func TestReleasesOfTally(t *testing.T) {
	var tally Tally
	for _, rules := range []string{"2.10", "", "2.8", "2.11+rocm", "2.15", "2.8", "2.9", "2.11"} {
		tally.Add(&Result{Rules: rules})
	}
	const want = "8 traces, 0 exact, by the rules of PyTorch 2.8, 2.9, 2.10, 2.11, 2.11+rocm, 2.15"
	if got := fmt.Sprint(tally); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
