package examine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaugeblock/conformance"
	"gaugeblock/internal/allrows"
)

// TestHostileLibraries: whatever a library does to the process that loads it, there is a verdict, and
// nothing stays behind.
func TestHostileLibraries(t *testing.T) {
	for i, test := range []struct{ does, broken, says string }{
		{"closes", "NoCrashes", "exited with status 3"},
		{"exits", "NoCrashes", "exited with status 0"},
		{"exits with 111", "NoCrashes", "exited with status 111"},
		{"dies late", "NoCrashes", "the last words"},
		{"leaves children", "", ""},
		{"writes", "", ""},
		{"writes much", "", ""},
		{"handles signals and loops", "NoHangs", "did not return within 2s"},
		{"becomes another", "NoHangs", "did not return within 2s"},
		{"kills its parent", "NoCrashes", ""},
		{"ends its thread", "NoCrashes", ""},
		{"returns twice", "", ""},
		{"throws a number", "OutOfMemoryIsTrue", "an exception that is no std::exception"},
		{"lowers its limits", "", ""},
	} {
		if allrows.Without(i, 4) {
			continue
		}
		t.Run(test.does, func(t *testing.T) {
			library := compile(t, "hostile.cc")
			t.Setenv("HOSTILE", test.does)
			search := Search{Library: library, Level: conformance.Safe, Operations: 300, Devices: 1, Patience: 2 * time.Second, Build: scratch}
			report, err := search.Run()
			if err != nil {
				t.Fatal(err)
			}
			checkReport(t, report, strings.Fields(test.broken), 2)
			if text := report.String(); !strings.Contains(text, test.says) {
				t.Errorf("%q is not in the report:\n%s", test.says, text)
			}
			for _, pid := range running("HOSTILE=" + test.does) {
				t.Errorf("process %s is left", pid)
			}
		})
	}
}

// TestHostilePrograms: a program that closes its output and stays, or leaves processes of another session,
// has a verdict at once, and nothing stays behind.
func TestHostilePrograms(t *testing.T) {
	for does, script := range map[string]string{
		"closes": "exec 1>&-; sleep 60", "leaves": "setsid sleep 60 & setsid sleep 60 & read line; echo nonsense; sleep 60",
	} {
		t.Setenv("HOSTILE", does)
		began := time.Now()
		_, err := Search{Command: []string{tool(t, "sh"), "-c", script}, Patience: 2 * time.Second}.Run()
		if err == nil || time.Since(began) > 10*time.Second {
			t.Errorf("%s: %v after %v", does, err, time.Since(began))
		}
		for _, pid := range running("HOSTILE=" + does) {
			t.Errorf("%s: process %s is left", does, pid)
		}
	}
}

// running are the processes with a word in their environment, but for this one.
func running(word string) (pids []string) {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environments {
		text, err := os.ReadFile(path)
		pid := filepath.Base(filepath.Dir(path))
		self, _ := os.Readlink("/proc/self")
		if err == nil && pid != self && strings.Contains(string(text), word) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestWordsOfContracts: allocators that need a word of a contract are clean with it.
func TestWordsOfContracts(t *testing.T) {
	for i, test := range []struct{ source, build, contract, variables, broken string }{
		{"hostile.cc", "-DMEMORY=1", "memory=host", "", ""},
		{"hostile.cc", "-DMEMORY=2", "memory=managed", "", ""},
		{"cache.cc", "", "waited", "FAULT=forgets_streams", ""},
		{"cache.cc", "", "blocking", "", ""},
		{"cache.cc", "", "blocking", "FAULT=forgets_streams", "NoHazard"},
		{"cache.cc", "", "keeps=1GiB", "FAULT=loses", ""},
		{"cache.cc", "", "keeps=1MiB", "FAULT=loses", "EverythingIsReturned"},
		{"cache.cc", "", "any_device,zero_bytes", "FAULT=leaves_device", "LeavesTheDevice"},
		{"cache.cc", "", "", "FAULT=truncates", "NoIllegalAccess OutOfMemoryIsTrue NoHazard LiveBlocksDisjoint"},
	} {
		if allrows.Without(i, 2) {
			continue
		}
		t.Run(test.contract+" "+test.variables, func(t *testing.T) {
			var options []string
			if test.build != "" {
				options = []string{test.build}
			}
			library := compile(t, test.source, options...)
			plant(t, test.variables)
			report, err := Search{Library: library, Contract: test.contract, Level: conformance.Safe, Operations: 3000, Build: scratch}.Run()
			if err != nil {
				t.Fatal(err)
			}
			checkReport(t, report, strings.Fields(test.broken), 24)
		})
	}
}

// TestFaultsOfCaches: what is wrong with a cache that is safe.
func TestFaultsOfCaches(t *testing.T) {
	for fault, rule := range map[string]string{"keeps_error": "LeavesNoError", "tries_once": "CachedMemoryIsReturned"} {
		library := compile(t, "cache.cc")
		plant(t, "FAULT="+fault)
		report, err := Search{Library: library, Level: conformance.Caching, Operations: 6000, Devices: 1, Build: scratch}.Run()
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for i := range report.Violations {
			_, ops := report.Violations[i].Program()
			found = found || report.Violations[i].Rule.Name == rule && len(ops) <= 8
		}
		if text := report.String(); fault == "keeps_error" && !strings.Contains(text, "cudaPeekAtLastError is 2 (cudaErrorMemoryAllocation)") {
			t.Errorf("the error has no name:\n%s", text)
		}
		if !found || report.Reached < conformance.Safe {
			t.Errorf("%s: no %s of at most eight operations:\n%v", fault, rule, report)
		}
	}
}
