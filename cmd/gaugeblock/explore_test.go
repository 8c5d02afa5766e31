package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/internal/race"
	"gaugeblock/tla"
)

func exploring(t *testing.T, wantStatus int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errors bytes.Buffer
	if status := run(append([]string{"explore"}, args...), strings.NewReader(""), &out, &errors); status != wantStatus {
		t.Fatalf("%q ends with %d, not %d\n%s%s", args, status, wantStatus, &out, &errors)
	}
	return out.String(), errors.String()
}

func exploredJSON(t *testing.T, wantStatus int, args ...string) (list []explored) {
	t.Helper()
	out, _ := exploring(t, wantStatus, append(args, "--json")...)
	for line := range strings.Lines(out) {
		var found explored
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&found); err != nil {
			t.Fatalf("%v\n%s", err, line)
		}
		list = append(list, found)
	}
	return list
}

// TestExplore: the command counts what TLC has counted, with all flags. What holds by
// construction is listed apart from what is checked.
func TestExplore(t *testing.T) {
	if race.Enabled {
		t.Skip("model/explore has the same goroutines")
	}
	m, err := tla.ReadManifest("core_tiny")
	if err != nil || m == nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"--workers", "1"}, {"--workers", "3", "--compact"}} {
		list := exploredJSON(t, statusExact, append([]string{"core_tiny", "pools_tiny"}, flags...)...)
		if len(list) != 2 || list[0].Config != "core_tiny" || list[0].States != m.States || list[0].Edges != m.Edges || !list[0].OK || !list[1].OK {
			t.Errorf("%q: %+v", flags, list)
		}
	}
	found := exploredJSON(t, statusExact, "core_tiny")[0]
	// the second is not in the configuration
	for _, name := range []string{"BlocksTileSegments", "MallocsAreServed"} {
		if !slices.Contains(found.Checked, name) {
			t.Errorf("%s is not checked: %v", name, found.Checked)
		}
	}
	if !slices.Contains(found.ByConstruction, "FreeListsHoldFreeBlocks") || slices.ContainsFunc(found.ByConstruction, func(name string) bool { return slices.Contains(found.Checked, name) }) {
		t.Errorf("by construction: %v, checked: %v", found.ByConstruction, found.Checked)
	}
	classes := exploredJSON(t, statusExact, "core_tiny", "--symmetry")
	if 2*classes[0].States < m.States || classes[0].States >= m.States {
		t.Errorf("%d states are %d classes of at most 2", m.States, classes[0].States)
	}
}

// TestExploreViolation: a counterexample is a trace that replays exactly.
func TestExploreViolation(t *testing.T) {
	out, _ := exploring(t, statusDiffers, "core_weak_retry")
	steps, trace, found := strings.Cut(out, "as a trace:\n")
	if !found || !strings.Contains(steps, "breaks CacheIsSearchedAgain") || !strings.Contains(steps, "  Malloc(") {
		t.Fatal(out)
	}
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(file, []byte(trace), 0o644); err != nil {
		t.Fatal(err)
	}
	var replayed, errors bytes.Buffer
	if status := run([]string{"replay", file}, strings.NewReader(""), &replayed, &errors); status != statusExact {
		t.Errorf("the replay ends with %d:\n%s%s", status, &replayed, &errors)
	}
	if list := exploredJSON(t, statusDiffers, "core_weak_retry"); list[0].OK || list[0].Violation != "CacheIsSearchedAgain" {
		t.Errorf("%+v", list)
	}
}

func TestExploreBadFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"nothing"}, `no configuration "nothing"`},
		{[]string{"core_bug_tile"}, `no configuration "core_bug_tile"`}, // TLC's only
		{[]string{"--workers=-1"}, "--jobs=-1 is negative"},
		{[]string{"core_live", "--symmetry"}, "--symmetry does not go with FreedBecomesReusable"},
		{[]string{"core_live", "--compact"}, "--compact does not go with FreedBecomesReusable"},
		{[]string{"core_live", "--dir", "somewhere"}, "--dir does not go with FreedBecomesReusable"},
		{[]string{"core_tiny", "--dir", "explore_test.go"}, "core_tiny: mkdir explore_test.go: not a directory"},
		{[]string{"core_tiny", "--set", "Memory"}, "--set=Memory is not NAME=VALUE"},
		{[]string{"core_tiny", "--set", "Memory=x y"}, "--set=Memory=x y: "},
		{[]string{"core_tiny", "--set", "Nothing=1"}, "Nothing is not defined in Defaults.tla"},
		{[]string{"core_tiny", "--set", "Memory=1000"}, "more than 255 addresses"},
		{[]string{"core_tiny", "--checkpoint=-1s"}, "--checkpoint=-1s is negative"},
		{[]string{"core_tiny", "--max-memory=lots"}, `"lots" is not a size`},
	} {
		if out, errors := exploring(t, statusBadInput, c.args...); out != "" || !strings.Contains(errors, c.want) {
			t.Errorf("%q: %s%s", c.args, out, errors)
		}
	}
}

func TestExploreHelp(t *testing.T) {
	out, _ := exploring(t, statusExact, "--help")
	for _, want := range []string{"core_tiny", "(breaks CacheIsSearchedAgain)", "(large)"} {
		if !strings.Contains(out, want) {
			t.Errorf("the help does not say %q:\n%s", want, out)
		}
	}
}
