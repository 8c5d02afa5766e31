package examine

import (
	"flag"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gaugeblock/conformance"
	"gaugeblock/internal/allrows"
	"gaugeblock/internal/race"
)

var all = flag.Bool("all", false, "all rows of TestSeeded, also those whose long programs take minutes to make short")

// takesLong: the programs of these mistakes are of hundreds of requests, of as many events, or of threads.
var takesLong = regexp.MustCompile("^threads.cc|has_64_events|^(slabs.cc|tables.cc) +(one_slot_more|counts_to_255|forgets_full|does_not_grow)$")

// callsMuch: they make a hundred thousand calls of CUDA and more.
var callsMuch = regexp.MustCompile("^pages.cc")

// TestSeeded: the allocators are sound, and each mistake that is seeded into them is found: as one
// of the rules of a line, and by no other rule than these.
func TestSeeded(t *testing.T) {
	if race.Enabled {
		t.Skip("many libraries: TestLevels and TestHang have the same goroutines")
	}
	const memory = "NoHazard NoIllegalAccess LiveBlocksDisjoint EverythingIsReturned"
	const confused = " NoCrashes LegalCallsSucceed NothingIsStuck GivesBackWhatItHas" // by what it gave out before
	for i, test := range []struct{ build, contract, fault, broken string }{
		{"", "", "", ""},
		{"", "", "misaligns", "PointersAreAligned"},
		{"", "", "forgets_size", memory},
		{"", "", "keeps_cache", "EverythingIsReturned CachedMemoryIsReturned"},
		{"", "", "only_device_0", "EverythingIsReturned"},
		{"", "", "frees_parts", memory + confused + " PointersAreAligned"},
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
		{"", "", "tries_once", "CachedMemoryIsReturned"},
		{"", "", "keeps_other_streams", "CachedMemoryIsReturned"},
		{"pages.cc", "", "", ""},
		{"pages.cc", "free_stream", "", "NoHazard NoIllegalAccess"}, // it cares for the stream of the allocation only
		{"pages.cc", "", "keeps_other_streams", "CachedMemoryIsReturned"},
		{"pages.cc", "", "loses_unmapped_page", "EverythingIsReturned"},
		{"pages.cc", "", "loses_page_without_access", "EverythingIsReturned"},
		{"pages.cc", "", "trusts_access", "NoIllegalAccess"},
		{"pages.cc", "", "shrinks_under_work", "NoHazard NoIllegalAccess"},
		{"slabs.cc", "", "", ""},
		{"slabs.cc", "", "one_slot_more", memory},
		{"slabs.cc", "", "counts_to_255", memory + confused},
		{"slabs.cc", "", "forgets_full", "EverythingIsReturned"},
		{"slabs.cc", "", "stays_in_list", memory + confused},
		{"buddies.cc", "", "", ""},
		{"buddies.cc", "", "by_address", memory + confused},
		{"buddies.cc", "", "always_the_right", memory + confused},
		{"buddies.cc", "", "merges_chunks", memory + confused},
		{"buddies.cc", "", "rounds_to_8_pages", memory + confused + " PointersAreAligned"},
		{"buddies.cc", "", "shifts_an_int", memory + confused + " PointersAreAligned"},
		{"tables.cc", "", "", ""},
		{"tables.cc", "", "does_not_grow", memory + confused},
		{"tables.cc", "", "leaves_a_gap", memory + confused},
		{"tables.cc", "", "has_8_streams", "NoHazard"},
		{"tables.cc", "", "has_16_streams", "NoHazard"},
		{"tables.cc -DRECORDS", "", "", ""},
		{"tables.cc -DRECORDS", "", "has_64_events", "NoHazard"},
		{"tables.cc -DRECORDS", "record_stream,failing_events", "", ""},
		{"tables.cc -DRECORDS", "record_stream,failing_events", "believes_records", "NoHazard"},
		{"marked.cc", "free_stream", "", ""},
		{"marked.cc", "free_stream,anywhere", "", ""},
		{"marked.cc", "free_stream,threads,destroys_streams", " WAITS=1", ""},
		{"marked.cc", "free_stream", "order_of_int", memory},
		{"marked.cc", "free_stream", "order_of_unsigned", memory},
		{"marked.cc", "free_stream", "rounds_down", memory},
		{"marked.cc", "free_stream", "aligns_within", memory},
		{"marked.cc", "free_stream", "keeps_aligned", memory + " GivesBackWhatItHas"},
		{"marked.cc", "free_stream", "waits_on_default", "NoHazard"},
		{"marked.cc", "free_stream", "one_event_an_order", "NoHazard"},
		{"marked.cc", "free_stream,any_device", "events_of_any_device", "NoHazard"},
		{"marked.cc", "free_stream,any_device", "current_device", "NoIllegalAccess LegalCallsSucceed"},
		{"marked.cc -DMEMORY=1", "free_stream,memory=host", "", ""},
		{"marked.cc -DMEMORY=1", "free_stream,memory=host", "marks_nothing", "NoHazard"},
		{"marked.cc -DMEMORY=2", "free_stream,memory=managed", "", ""},
		{"marked.cc -DMEMORY=2", "free_stream,memory=managed", "waits_on_default", "NoHazard"},
		{"threads.cc", "threads", "", ""},
		{"threads.cc", "threads", "dies_with_it", "EverythingIsReturned"},
		{"threads.cc", "threads", "gives_it_away", "NoHazard"},
		{"threads.cc", "threads", "keeps_other_threads", "EverythingIsReturned"},
		{"threads.cc", "threads", "forgets_streams", "NoHazard"},
		{"sleeper.cc", "", "", ""},
		{"sleeper.cc", "", "sleeps_at_once", "NoHazard NoIllegalAccess"},
		{"sleeper.cc", "idle_sleep", "sleeps_at_once", ""},
		{"sleeper.cc", "", "unmaps_twice", "NoCrashes GivesBackWhatItHas"},
		{"sleeper.cc", "", "forgets_one", "NoIllegalAccess NoHazard"},
		{"sleeper.cc", "", "keeps_pages", "EverythingIsReturned"},
		{"own_pool.cc", "", "", ""},
		{"own_pool.cc", "free_stream,threads,destroys_streams", "", ""},
		{"own_pool.cc", "", " REMAKES=1", ""},
		{"own_pool.cc", "", "keeps_the_pool REMAKES=1", "OutOfMemoryIsTrue GivesBackWhatItHas NothingIsStuck"},
		{"own_pool.cc", "", " ELSEWHERE=1", ""},
		{"own_pool.cc", "", "no_wait ELSEWHERE=1", "NoHazard NoIllegalAccess"},
		{"own_pool.cc", "", "legacy_stream", "NoHazard NoIllegalAccess"},
		{"own_pool.cc", "blocking", "legacy_stream", ""},
		{"own_pool.cc", "", "own_default_stream", "NoHazard"},
		{"own_pool.cc", "", "frees_twice", "GivesBackWhatItHas"},
		{"own_pool.cc", "", "loses_one_in_5", "EverythingIsReturned"},
		{"own_pool.cc", "", "truncates", "NoIllegalAccess OutOfMemoryIsTrue LiveBlocksDisjoint NoHazard"},
		{"reached.cc", "", "", ""},
		{"reached.cc", "", "waits", ""},
		{"reached.cc", "", "writes", "NoHazard"},
		{"reached.cc", "", "reads", "NoHazard"},
		{"reached.cc", "", "fills_on_default_stream", "NoHazard"},
		{"reached.cc -DPINNED", "", "", ""},
		{"reached.cc -DPINNED", "", "writes", "NoHazard"},
		{"reached.cc -DPINNED", "", "forgets_stream", "NoHazard"},
		{"returns.cc", "", "", ""},
		{"returns.cc", "", " SPINS=1", ""},
		{"returns.cc", "", "wrong_stream", "NoHazard NoIllegalAccess"},
		{"returns.cc", "", "calls_cuda", "EverythingIsReturned"},
		{"driver_calls.cc", "", "", ""},
		{"driver_calls.cc", "any_device", "", ""},
		{"driver_calls.cc", "", "never_pops", "LeavesTheDevice"},
		{"driver_calls.cc", "", "frees_twice", "GivesBackWhatItHas"},
		{"driver_calls.cc", "", "first_device", "NoHazard NoIllegalAccess LegalCallsSucceed EverythingIsReturned"},
		{"driver_calls.cc", "", "one_stream", "NoHazard"},
	} {
		name := test.build + " " + test.contract + " " + test.fault
		if !*all && (allrows.Without(i, 8) || takesLong.MatchString(name) || !allrows.Asked() && callsMuch.MatchString(name)) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			source, options := "bins.cc", strings.Fields(test.build)
			if named, rest, is := strings.Cut(test.build, ".cc"); is {
				source, options = named+".cc", append(strings.Fields(rest), "-lcuda")
			}
			library := compile(t, source, options...)
			plant(t, "FAULT="+test.fault)
			search := Search{Library: library, Contract: test.contract, Level: conformance.Safe, Operations: 4000, Build: scratch}
			if source == "pages.cc" || test.broken == "CachedMemoryIsReturned" {
				search.Level = conformance.Caching
			}
			longest := 24
			if source == "slabs.cc" || source == "tables.cc" { // what is wrong shows when hundreds are allocated
				search.Operations, longest = 12000, 600
			}
			if test.fault == "stays_locked" {
				search.Patience = 2 * time.Second
			}
			report, err := search.Run()
			if err != nil {
				t.Fatal(err)
			}
			checkReport(t, report, strings.Fields(test.broken), longest)
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

// TestRoundingIsNotFree: a right buddy has rounded 18 MiB up to all 32 of its chunk. What an earlier request has freed
// in what is behind the 18 is not free any more (it was taken for that: SplitsAndCoalesces).
func TestRoundingIsNotFree(t *testing.T) {
	t.Setenv("CHUNK", "33554432")
	search := Search{Library: compile(t, "buddies.cc"), Level: conformance.Caching, Again: filepath.Join("testdata", "right_buddy.jsonl"), Build: scratch}
	report, err := search.Run()
	if err != nil {
		t.Fatal(err)
	}
	if text := report.String(); len(report.Violations) > 0 || !strings.Contains(text, "8 of whose 8 operations were performed") {
		t.Error(text)
	}
}
