package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gaugeblock/tests/suites/broken"
)

// search says that each mutant is to be found from several seeds, and that many programs are to be
// run on the reference.
var search = flag.Bool("search", false, "search each mutant from five seeds, and the reference for minutes")

// seeds are the first seeds of the searches.
var seeds = []uint64{1, 100_001, 200_001, 300_001, 400_001}

// longest is how long a search for a mutant may take, in processor time.
const longest = time.Minute

var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "interleave")
	if err != nil {
		return "", err
	}
	return build(dir)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if file, err := binary(); err == nil {
		os.RemoveAll(filepath.Dir(file))
	}
	os.Exit(code)
}

// run runs the command, built with the points. It returns what it says, whether something fails,
// and the processor time.
func run(t *testing.T, args ...string) (s summary, fails bool, used time.Duration) {
	t.Helper()
	file, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	args = append(args[:1:1], append([]string{"-json"}, args[1:]...)...)
	command := exec.Command(file, args...)
	var problems bytes.Buffer
	command.Stderr = &problems
	out, err := command.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("%v: %v\n%s%s", args, err, out, problems.Bytes())
	}
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return s, err != nil || exit != nil, command.ProcessState.UserTime() + command.ProcessState.SystemTime()
}

// TestReference: no program fails on the reference.
func TestReference(t *testing.T) {
	programs := 60
	if *search {
		programs = 5000
	}
	for _, name := range areaNames() {
		s, fails, used := run(t, "search", "-area", name, "-programs", strconv.Itoa(programs))
		if fails {
			t.Errorf("%s: seed %d: %s", name, s.Seed, s.Detail)
		}
		t.Logf("%s: %d programs, %d runs, %.1f s", name, s.Programs, s.Runs, used.Seconds())
	}
}

// TestExhaustive: no schedule with up to two preemptions of the programs in testdata fails. With
// -search, three preemptions.
func TestExhaustive(t *testing.T) {
	preemptions := 2
	if *search {
		preemptions = 3
	}
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, path := range paths {
		s, fails, used := run(t, "exhaust", "-preemptions", strconv.Itoa(preemptions), path)
		if fails || !s.Complete {
			t.Errorf("%s: %s", path, s.Detail)
		}
		t.Logf("%s: %d schedules, %.1f s", strings.TrimSuffix(filepath.Base(path), ".txt"), s.Runs, used.Seconds())
	}
}

// TestMutants: each mistake of tests/suites/broken/testdata/locks is found.
func TestMutants(t *testing.T) {
	seeds := seeds
	if !*search {
		seeds = seeds[:1]
	}
	paths, err := filepath.Glob("../../broken/testdata/locks/*.txt")
	if err != nil || len(paths) < 12 {
		t.Fatalf("%d mutants: %v", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(name, func(t *testing.T) {
			b, err := broken.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, seed := range seeds {
				s, fails, used := run(t, "search", "-area", b.Keys["area"], "-programs", "20000", "-mutant", name, "-seed", fmt.Sprint(seed))
				if !fails {
					t.Fatalf("seed %d: not found in %d programs", seed, s.Programs)
				}
				if used > longest {
					t.Errorf("seed %d: found after %v, more than %v", seed, used, longest)
				}
				kind, _, _ := strings.Cut(s.Detail, "\n")
				t.Logf("from seed %d: seed %d, %d programs, %d runs, %.1f s; %d operations, %d steps, %d preemptions: %s",
					seed, s.Seed, s.Programs, s.FoundAfter, used.Seconds(), s.Operations, s.Steps, s.Preemptions, kind)
				checkReplay(t, name, &s)
			}
		})
	}
}

// checkReplay: what a search prints is a file that replay takes. It fails with the mutant as it did,
// and not without.
func checkReplay(t *testing.T, mutant string, s *summary) {
	t.Helper()
	at := strings.Index(s.Detail, "explore ")
	program, _, _ := strings.Cut(s.Detail[at:], "\nwhat happened:")
	path := filepath.Join(t.TempDir(), "program.txt")
	if err := os.WriteFile(path, []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	again, fails, _ := run(t, "replay", "-mutant", mutant, path)
	if !fails || again.Detail != s.Detail {
		t.Errorf("a replay says %q, not %q", again.Detail, s.Detail)
	}
	if s, fails, _ := run(t, "replay", path); fails {
		t.Errorf("the reference fails: %s", s.Detail)
	}
}

// TestBadInput: the exit status is 2.
func TestBadInput(t *testing.T) {
	file, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "program.txt")
	if err := os.WriteFile(path, []byte("explore pauses=(every)\nA: malloc a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{}, {"find"}, {"search", "-area", "none"}, {"search", "-mutant", "none"}, {"replay", "none"}, {"exhaust", path}, {"search", "-x"},
	} {
		out, err := exec.Command(file, args...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || len(out) == 0 {
			t.Errorf("%v: %v, %s", args, err, out)
		}
	}
}

// pointsReached runs programs of all areas and lists the points: how often it was reached, kind,
// position, function, text.
func pointsReached(t *testing.T) (rows [][]string) {
	t.Helper()
	file, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(file, "points", "-programs", "1500", "-schedules", "3").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if row := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(row) == 5 {
			rows = append(rows, row)
		}
	}
	return rows
}

var _ = slices.Contains[[]string]
