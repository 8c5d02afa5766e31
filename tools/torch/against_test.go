package torch

import (
	"os"
	"slices"
	"strings"
	"testing"

	"gaugeblock/internal/allrows"
	"gaugeblock/internal/race"
	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
	"gaugeblock/tools/torch/binary"
)

// neighbours are releases that follow each other, with what the newer one is known to decide
// differently (docs/versions.md) in programs of some areas.
var neighbours = []struct {
	older, newer string
	areas        []string
	operations   int
	decisions    []decision
	others       bool // causes that follow from these decisions
}{
	{"2.12", "2.13", []string{"core", "pools"}, 8_000, []decision{
		{"ties", func(c *Cause) bool { return c.Area == "core" && len(c.Program) < 12 && !c.has("pool_begin") }},
		{"a routing is no capture", func(c *Cause) bool { return c.has("pool_begin") && strings.Contains(c.What, "free_completed") }},
	}, true},
	{"2.14", "2.15", []string{"expandable", "devices"}, 8_000, []decision{
		{"the hint on expandable_segments_reserve", func(c *Cause) bool {
			return strings.Contains(c.What, "expandable_segments_reserve") && len(c.Program) == 2
		}},
		{"the stream that is waited for before pages are unmapped", func(c *Cause) bool {
			return c.Area == "devices" && strings.Contains(c.What, "free_completed") && len(c.Program) < 12
		}},
	}, false},
}

// decision is what a cause has to be like that shows it.
type decision struct {
	what  string
	shown func(c *Cause) bool
}

func (c *Cause) has(kind string) bool {
	return slices.ContainsFunc(c.Program, func(line string) bool { return strings.HasPrefix(line, kind) })
}

// TestAgainst: what a release decides differently from the one before is found, each decision with a
// short program in C++ and as a trace; a release does not differ from itself.
func TestAgainst(t *testing.T) {
	if race.Enabled {
		t.Skip("builds the adaptor for each release, and the race detector sees nothing of it")
	}
	same := Against{Builds: [2]binary.Options{buildOf(t, "2.12"), buildOf(t, "2.12")}, Areas: []string{"core"}, Operations: 2_000}
	if r, err := same.Run(); err != nil || len(r.Causes) != 0 || r.Operations < 2_000 {
		t.Errorf("a release differs from itself: %v, %+v, %v", &r, r.Causes, err)
	}
	for i, n := range neighbours {
		if allrows.Without(i, 2) {
			continue
		}
		t.Run(n.older+" "+n.newer, func(t *testing.T) {
			report, err := Against{
				Builds: [2]binary.Options{buildOf(t, n.older), buildOf(t, n.newer)},
				Areas:  n.areas, Operations: n.operations, Seed: 1, Directory: t.TempDir(),
			}.Run()
			must(t, err)
			for _, d := range n.decisions {
				if !slices.ContainsFunc(report.Causes, func(c Cause) bool { return d.shown(&c) }) {
					t.Errorf("not found: %s", d.what)
				}
			}
			for _, c := range report.Causes {
				known := slices.ContainsFunc(n.decisions, func(d decision) bool { return d.shown(&c) })
				if !known && !n.others {
					t.Errorf("not known: %s\n%s", c.What, strings.Join(c.Program, "\n"))
				}
				checkWritten(t, &c)
			}
			t.Logf("%v", &report)
		})
	}
}

// checkWritten: the smallest program of a cause was written, in C++ and as a trace that can be replayed.
func checkWritten(t *testing.T, c *Cause) {
	t.Helper()
	if c.Programs < 1 || len(c.Program) > 60 {
		t.Errorf("in %d programs: %s, with %d operations", c.Programs, c.What, len(c.Program))
	}
	if _, err := os.Stat(c.Cplusplus); err != nil {
		t.Error(err)
	}
	if r, err := replay.File(c.Trace, replay.Options{New: reference.New}); err != nil || !r.Uncompared {
		t.Errorf("%s: %v, %v", c.Trace, &r, err)
	}
}

// buildOf builds the adaptor for a release that was fetched.
func buildOf(t *testing.T, version string) binary.Options {
	t.Helper()
	o, err := Find(version, t.TempDir())
	needs(t, err)
	must(t, binary.Build(o))
	return o
}
