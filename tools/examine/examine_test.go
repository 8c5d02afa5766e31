package examine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gaugeblock/conformance"
	"gaugeblock/internal/allrows"
	"gaugeblock/internal/race"
)

// TestLibraries: sound allocators come out clean, and each planted fault is found, by its
// rule and with a short program.
func TestLibraries(t *testing.T) {
	if race.Enabled {
		t.Skip("many libraries: TestLevels and TestHang have the same goroutines")
	}
	const saysFreeStream = `-DCONTRACT="free_stream"` // the library is built with it
	const all = "threads,destroys_streams"
	for i, test := range []struct {
		name, source, variables, contract string
		broken                            string // rules of level safe
		longest                           int    // operations of their programs
	}{
		{"driver", "naive.cc", "", "", "", 0},
		{"driver, free_stream", "naive.cc", "", "free_stream," + all, "", 0},
		{"driver, large memory is lost", "naive.cc", "FAULT=forgets", "", "EverythingIsReturned", 3},
		{"the driver's pool", "async.cc", "", "", "", 0},
		{"the driver's pool, the free waits for nothing", "async.cc", "FAULT=wrong_stream", "", "NoHazard NoIllegalAccess", 7},
		{"pieces of the driver's pool are cut", "async.cc", "CUTS=yes", "", "", 0},
		{"memory is filled when it is allocated", "cache.cc", "FILL=malloc", "", "", 0},
		{"memory is filled when it is freed", "cache.cc", "FILL=free", "", "", 0},
		{"filled when allocated, by another stream", "cache.cc", "FILL=malloc FAULT=fills_elsewhere", "", "NoHazard", 4},
		{"filled when freed, by another stream", "cache.cc", "FILL=free FAULT=fills_elsewhere", "", "NoHazard NoIllegalAccess", 6},
		{"cache", "cache.cc", "", "", "", 0},
		{"cache, free_stream", "cache.cc", saysFreeStream, "", "", 0},
		{"cache, streams by id", "cache.cc", "IDS=yes", "joined," + all, "", 0},
		{"cache, streams by id, free_stream", "cache.cc", "IDS=yes", "free_stream," + all, "", 0},
		{"cache, streams by handle, which is used again", "cache.cc", "", "joined,destroys_streams", "NoHazard", 8},
		{"cache, streams by handle, which several threads have", "cache.cc", "", "joined,threads", "NoHazard", 9},
		{"cache, no streams", "cache.cc", "FAULT=forgets_streams", "", "NoHazard", 5},
		{"cache, no devices", "cache.cc", "FAULT=forgets_device", "", "NoHazard NoIllegalAccess", 6},
		{"cache, crash", "cache.cc", "FAULT=crashes", "", "NoCrashes", 1},
		{"cache, exception for lack of memory", "cache.cc", "FAULT=throws", "", "", 0},
		{"cache, memory is lost", "cache.cc", "FAULT=loses", "", "EverythingIsReturned", 3},
		{"cache, address is shifted", "cache.cc", "FAULT=shifts", "", "NoHazard NoIllegalAccess LiveBlocksDisjoint EverythingIsReturned GivesBackWhatItHas", 4},
		{"events", "waits.cc", "", "joined," + all, "", 0},
		{"events, free_stream", "waits.cc", "", "free_stream," + all, "", 0},
		{"events, the wrong stream waits", "waits.cc", "FAULT=waits_on_default_stream", "free_stream", "NoHazard", 7},
		{"record_stream", "recorded.cc", "", "", "", 0},
		{"record_stream, another device is current", "recorded.cc", "", "record_stream,any_device", "", 0},
		{"record_stream, uses are forgotten", "recorded.cc", "FAULT=forgets_uses", "", "NoHazard", 7},
		{"record_stream, all uses but one are forgotten", "recorded.cc", "FAULT=forgets_one", "", "NoHazard", 11},
		{"record_stream, one event is asked", "recorded.cc", "FAULT=queries_first_only", "", "NoHazard", 13},
	} {
		if allrows.Without(i, 6) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			var options []string
			if test.variables == saysFreeStream {
				options = []string{saysFreeStream}
			}
			library := compile(t, test.source, options...)
			plant(t, test.variables)
			operations := 6000
			if strings.Contains(test.variables, "one") || strings.Contains(test.variables, "only") {
				operations = 16_000 // what happens with two uses only
			}
			report, err := Search{Library: library, Contract: test.contract, Level: conformance.Safe, Operations: operations, Build: scratch}.Run()
			if err != nil {
				t.Fatal(err)
			}
			checkReport(t, report, strings.Fields(test.broken), test.longest)
		})
	}
}

// checkReport holds that rules are broken if any are named, only the named ones, and that the
// programs are short.
func checkReport(t *testing.T, report *Report, broken []string, longest int) {
	t.Helper()
	if len(broken) == 0 && len(report.Violations) > 0 || len(broken) > 0 && len(report.Violations) == 0 {
		t.Errorf("broken should be %q:\n%v", broken, report)
	}
	for i := range report.Violations {
		v := &report.Violations[i]
		if !slices.Contains(broken, v.Rule.Name) {
			t.Errorf("nobody has planted this:\n%v", v)
			continue
		}
		if _, ops := v.Program(); len(ops) > longest {
			t.Errorf("the program has %d operations, at most %d are needed:\n%v", len(ops), longest, v)
		}
	}
}

// TestHang: a call that does not come back is found, and named with the time that it took.
func TestHang(t *testing.T) {
	library := compile(t, "cache.cc")
	plant(t, "FAULT=hangs")
	report, err := Search{Library: library, Level: conformance.Safe, Operations: 600, Devices: 1, Patience: time.Second, Build: scratch}.Run()
	if err != nil {
		t.Fatal(err)
	}
	checkReport(t, report, []string{"NoHangs"}, 1)
	if text := report.String(); !strings.Contains(text, "the call did not return within 1s") {
		t.Error(text)
	}
}

// TestLevels: what a library reaches when it is asked for more than safety.
func TestLevels(t *testing.T) {
	for _, test := range []struct {
		source  string
		reached conformance.Level
	}{{"naive.cc", conformance.Safe}, {"cache.cc", conformance.Safe}} {
		report, err := Search{Library: compile(t, test.source), Level: conformance.Caching, Operations: 7000, Devices: 1, Build: scratch}.Run()
		if err != nil {
			t.Fatal(err)
		}
		if report.Reached != test.reached {
			t.Errorf("%s: %v", test.source, report)
		}
	}
}
