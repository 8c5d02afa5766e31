package arena_test

import (
	"slices"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"gaugeblock/conformance"
	"gaugeblock/conformance/perform"
	_ "gaugeblock/internal/gcpercent"
	"gaugeblock/spec"
	"gaugeblock/tests/arena"
)

var allocators = map[string]perform.Factory{"seed": arena.NewAsSeed, "safe": arena.NewMadeSafe}

// TestReports compares the kit's reports on the arena as it was found, and made safe.
// testdata/reports.txt is rewritten by "go test ./tests/arena -run Reports -rewrite",
// to be done when the programs of the kit have changed.
func TestReports(t *testing.T) {
	datadriven.RunTest(t, "testdata/reports.txt", func(t *testing.T, d *datadriven.TestData) string {
		var allocator string
		d.ScanArgs(t, "allocator", &allocator)
		report, err := conformance.Examine(allocators[allocator], conformance.Caching)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		return report.String()
	})
}

// TestFaultsOfTheSeed: the rules that the seed breaks do not depend on the seed of the
// programs, and each is shown in a few operations.
func TestFaultsOfTheSeed(t *testing.T) {
	want := []string{
		"AccountingAddsUp", "FiguresOverTimeAddUp", "FreeListsHoldFreeBlocks", "MisuseIsRefused", "NoHazard",
		"NoReuseWhileInUse", "NothingIsLost", "ZeroBytesAreNull",
	}
	for _, seed := range []uint64{5000, 6000} {
		report, err := conformance.Examine(arena.NewAsSeed, conformance.Caching, conformance.Seed(seed), conformance.Operations(40_000))
		if err != nil {
			t.Fatal(err)
		}
		var broken []string
		for i := range report.Violations {
			v := &report.Violations[i]
			broken = append(broken, v.Rule.Name)
			if _, ops := v.Program(); len(ops) > 8 {
				t.Errorf("a program of %d operations is not the shortest:\n%v", len(ops), v)
			}
		}
		slices.Sort(broken)
		if diff := cmp.Diff(want, slices.Compact(broken)); diff != "" {
			t.Errorf("seed %d: rules that are broken (- want, + got):\n%s\n%v", seed, diff, report)
		}
	}
}

func TestMadeSafe(t *testing.T) {
	conformance.Run(t, arena.NewMadeSafe, conformance.Caching, conformance.Seed(5000), conformance.Operations(20_000))
}

// TestArenaGrows: the reports do not show host memory. The seed adds a block to its arena
// for every remainder, and never reuses one.
func TestArenaGrows(t *testing.T) {
	const times = 1000
	seed, safe := arena.NewSeed(), arena.NewSafe()
	at, other := seed.CacheInsert(512, 2*spec.MiB, 0x1000000, 0), safe.CacheInsert(512, 2*spec.MiB, 0x1000000, 0)
	for range times {
		seed.CacheFree(at)
		if _, err := safe.CacheFree(other); err != nil {
			t.Fatal(err)
		}
		at, _ = seed.CacheFind(512, 0)
		other, _ = safe.CacheFind(512, 0)
	}
	if got := [2]int{seed.BlockCount(), safe.BlockCount()}; got != [2]int{times + 2, 2} {
		t.Errorf("blocks in the arena after %d requests of 512 bytes: %v", times, got)
	}
}
