package examine

import (
	"strings"
	"testing"
	"time"

	"gaugeblock/conformance"
)

// TestSeeded: bins.cc and sleeper.cc are sound, and each mistake that is seeded into them is found: as one
// of the rules of a line, and by no other rule than these.
func TestSeeded(t *testing.T) {
	if testing.Short() {
		t.Skip("many libraries: TestLevels and TestHang have the same goroutines")
	}
	const memory = "NoHazard NoIllegalAccess LiveBlocksDisjoint EverythingIsReturned"
	const confused = " NoCrashes LegalCallsSucceed NothingIsStuck" // by what it gave out before
	for _, test := range []struct{ build, contract, fault, broken string }{
		{"", "", "", ""},
		{"", "", "misaligns", "PointersAreAligned"},
		{"", "", "forgets_size", memory},
		{"", "", "keeps_cache", "EverythingIsReturned CachedMemoryIsReturned"},
		{"", "", "only_device_0", "EverythingIsReturned"},
		{"", "", "frees_parts", memory + confused},
		{"", "", "overlaps_rest", memory},
		{"", "", "loses_rest", "EverythingIsReturned"},
		{"", "", "error_stays", "OutOfMemoryIsTrue NothingIsStuck"},
		{"", "", "stays_locked", "NoHangs"},
		{"", "", "hands_out_anything", memory + confused},
		{"", "", "returns_junk", memory + " PointersAreAligned" + confused},
		{"", "anywhere", "", ""},
		{"", "anywhere", "trusts_device", "NoIllegalAccess LegalCallsSucceed NoHazard"},
		{"", "any_device", "leaves_device", "LeavesTheDevice"},
		{"-DSTEALS", "free_stream", "", ""},
		{"-DSTEALS", "free_stream", "no_wait", "NoHazard"},
		{"-DSTEALS", "free_stream", "wrong_stream", "NoHazard LegalCallsSucceed"},
		{"-DSTEALS", "free_stream", "marks_at_malloc", "NoHazard"},
		{"-DSTEALS", "free_stream", "rest_has_no_mark", "NoHazard"},
		{"-DSTEALS", "free_stream", "merges_streams", "NoHazard"},
		{"-DSTEALS -DIN_PLACE", "free_stream", "", ""},
		{"-DSTEALS -DIN_PLACE", "free_stream", "grows_into_others", "NoHazard"},
		{"-DRECORDS", "", "", ""},
		{"-DRECORDS", "", "forgets_uses", "NoHazard"},
		{"-DRECORDS", "", "takes_busy_for_done", "NoHazard"},
		{"-DIN_PLACE", "", "", ""},
		{"-DIN_PLACE", "", "ignores_alignment", "PointersAreAligned"},
		{"-DIN_PLACE", "", "grows_anyway", memory},
		{"-DIN_PLACE", "", "grows_into_used", memory},
		{"-DIN_PLACE", "", "shrinks_too_far", memory},
		{"-DIN_PLACE", "", "ends_with_cache", "EverythingIsReturned"},
		{"-DIN_PLACE -DNO_EMPTY", "", "", ""},
		{"-DIN_PLACE -DNO_EMPTY", "", "ends_with_cache", "EverythingIsReturned"},
		{"sleeper.cc", "", "", ""},
		{"sleeper.cc", "", "sleeps_at_once", "NoHazard NoIllegalAccess"},
		{"sleeper.cc", "idle_sleep", "sleeps_at_once", ""},
		{"sleeper.cc", "", "unmaps_twice", "NoCrashes"},
		{"sleeper.cc", "", "forgets_one", "NoIllegalAccess NoHazard"},
		{"sleeper.cc", "", "keeps_pages", "EverythingIsReturned"},
	} {
		t.Run(test.build+" "+test.contract+" "+test.fault, func(t *testing.T) {
			source, options := "bins.cc", strings.Fields(test.build)
			if test.build == "sleeper.cc" {
				source, options = test.build, []string{"-lcuda"}
			}
			library := compile(t, source, options...)
			plant(t, "FAULT="+test.fault)
			report, err := Search{Library: library, Contract: test.contract, Level: conformance.Safe, Operations: 4000, Patience: 2 * time.Second, Build: scratch}.Run()
			if err != nil {
				t.Fatal(err)
			}
			checkReport(t, report, strings.Fields(test.broken), 24)
		})
	}
}

// TestWarm: what is held after a first request may be held at the end, and no more.
func TestWarm(t *testing.T) {
	library := compile(t, "bins.cc")
	for fault, broken := range map[string]string{"keeps_first": "", "keeps_large": "EverythingIsReturned"} {
		plant(t, "FAULT="+fault)
		report, err := Search{Library: library, Contract: "warm", Level: conformance.Safe, Operations: 1500, Build: scratch}.Run()
		if err != nil {
			t.Fatal(err)
		}
		checkReport(t, report, strings.Fields(broken), 24)
	}
}
