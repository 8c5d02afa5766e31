package property

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"gaugeblock/conformance"
	"gaugeblock/internal/allrows"
	_ "gaugeblock/internal/gcpercent"
	"gaugeblock/tools/reference"
	"gaugeblock/upstream"
)

// checked counts operations over all tests of the package.
var checked atomic.Int64

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		if testing.Verbose() {
			fmt.Println(checked.Load(), "operations checked")
		}
		os.Exit(status)
	}))
}

// operations is the number of operations to check in all areas together.
func operations(t *testing.T) int {
	n := 400_000
	if allrows.Asked() {
		n = 1_000_000
	}
	if testing.Short() {
		n = 60_000
	}
	return fromEnvironment(t, "GAUGEBLOCK_OPERATIONS", n)
}

func fromEnvironment(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s is %q, not a number", name, text)
	}
	return n
}

// options are the options of all searches.
func options() conformance.Options {
	return conformance.Options{New: reference.New, Every: 16}
}

// TestAreas runs programs of every area until its share of the operations is done. Every
// label must have been reached.
func TestAreas(t *testing.T) {
	areas := conformance.Areas()
	share := operations(t) / len(areas)
	for _, area := range areas {
		t.Run(area.Name, func(t *testing.T) {
			outcome := conformance.Campaign{
				Area: area, Options: options(), Seed: uint64(fromEnvironment(t, "GAUGEBLOCK_SEED", 1)),
				Operations: share, FaultsEvery: 20, Faults: 60,
			}.Run()
			checked.Add(int64(outcome.Checked))
			t.Logf("%v\n%v", &outcome, outcome.Labels)
			if outcome.Failure != nil {
				report(t, outcome.Failure, options())
			} else if len(outcome.Missing) > 0 {
				t.Errorf("labels that were not reached: %q", outcome.Missing)
			}
		})
	}
}

// TestAreasOfReleases runs programs by the rules of each release, most of them in captures, where releases differ most.
// Those of the default rules are TestAreas's.
func TestAreasOfReleases(t *testing.T) {
	for _, release := range upstream.Releases() {
		for _, area := range conformance.Areas() {
			share := operations(t) / 800
			if area.Name == "capture" {
				share *= 20
			}
			t.Run(release.Name+"/"+area.Name, func(t *testing.T) {
				changed := *area
				changed.Release = release.Name
				outcome := conformance.Campaign{
					Area: &changed, Options: options(), Seed: uint64(fromEnvironment(t, "GAUGEBLOCK_SEED", 1)), Operations: share, FaultsEvery: 20, Faults: 20,
				}.Run()
				checked.Add(int64(outcome.Checked))
				if outcome.Failure != nil {
					report(t, outcome.Failure, options())
				}
			})
		}
	}
}

// TestEveryCallFails lets every driver call of a few programs fail, one at a time.
func TestEveryCallFails(t *testing.T) {
	letCallsFail(t, (*conformance.Area).RunFaults, 80, 300)
}

// TestPairsOfCallsFail lets two driver calls of one operation fail, in a few programs.
func TestPairsOfCallsFail(t *testing.T) {
	letCallsFail(t, (*conformance.Area).RunFaultPairs, 60, 200)
}

// letCallsFail runs a search with failing driver calls in each area: programs of a length, up to so
// many runs, or fewer with -short.
func letCallsFail(t *testing.T, search func(*conformance.Area, uint64, int, int, conformance.Options) conformance.Result, length, most int) {
	if testing.Short() {
		most = 40
	}
	for _, area := range conformance.Areas() {
		t.Run(area.Name, func(t *testing.T) {
			result := search(area, uint64(fromEnvironment(t, "GAUGEBLOCK_SEED", 1)), length, most, options())
			checked.Add(int64(result.Checked))
			t.Logf("%d operations", result.Checked)
			if result.Failure != nil {
				report(t, result.Failure, options())
			}
		})
	}
}

// report minimises a failure, writes it to a file, and fails the test.
func report(t *testing.T, f *conformance.Failure, o conformance.Options) {
	t.Helper()
	f = conformance.Minimise(f, o)
	dir := os.Getenv("GAUGEBLOCK_COUNTEREXAMPLES")
	kept := dir != ""
	if !kept {
		dir = t.TempDir()
	}
	path, err := f.Write(dir)
	if err != nil {
		t.Errorf("%v\n%v", f, err)
		return
	}
	if kept {
		t.Errorf("%v\ngaugeblock replay -vv %s", f, path)
		return
	}
	text, err := os.ReadFile(path)
	t.Errorf("%v\n%s%v", f, text, err)
}
