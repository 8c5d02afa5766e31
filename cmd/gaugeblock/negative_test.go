package main

import (
	"slices"
	"strings"
	"testing"
)

// TestNegativeNumbers: a negative number behind a flag is its value, and the flag says what is wrong.
func TestNegativeNumbers(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"whatif x --limit -1", "whatif x --limit=-1"},
		{"whatif x --limit -.5GiB --why", "whatif x --limit=-.5GiB --why"},
		{"whatif - --limit=3GiB -1", "whatif - --limit=3GiB -1"},
		{"run --gpus 1 -- head -1 --x -2", "run --gpus 1 -- head -1 --x -2"},
	} {
		if got := joinNegatives(strings.Fields(test.args)); !slices.Equal(got, strings.Fields(test.want)) {
			t.Errorf("%s: %q", test.args, got)
		}
	}
	for _, args := range [][]string{{"whatif", "x", "--limit", "-1"}, {"whatif", "x", "--device-memory", "-5GiB"}, {"run", "--memory", "-1", "--", "true"}} {
		var stdout, stderr strings.Builder
		if status := run(args, nil, &stdout, &stderr); status != statusBadInput || !strings.Contains(stderr.String(), "is not a limit: give 4420MiB") {
			t.Errorf("%q: status %d, %s", args, status, &stderr)
		}
	}
}
