package linearizability

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

	"gaugeblock/internal/allrows"
	"gaugeblock/tests/broken"
	"gaugeblock/tests/linearizability/points"
)

// search says that each mutant is to be found from several seeds, and that many programs are to be
// run on the reference.
var search = flag.Bool("search", false, "search each mutant from five seeds, and the reference for minutes")

// seeds are the first seeds of the searches.
var seeds = []uint64{1, 100_001, 200_001, 300_001, 400_001}

// longest is how long a search for a mutant may take, in processor time.
const longest = time.Minute

var withPoints = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "interleave")
	if err != nil {
		return "", err
	}
	return build(dir)
})

// TestMain is the command if there are arguments, and in the build with points: see
// interleave_test.go.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.NArg() > 0 || len(points.Sites) > 0 {
		interleave(flag.Args())
		return
	}
	code := m.Run()
	if !testing.Short() {
		if file, err := withPoints(); err == nil {
			os.RemoveAll(filepath.Dir(file))
		}
	}
	os.Exit(code)
}

// built is the file of the command, built with the points.
func built(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a binary")
	}
	file, err := withPoints()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// interleaved runs the command, built with the points. It returns what it says, whether something
// fails, and the processor time.
func interleaved(t *testing.T, args ...string) (s summary, fails bool, used time.Duration) {
	t.Helper()
	file := built(t)
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

// each runs a test for each of the names; with -search as many at a time as there are processors.
func each(t *testing.T, names []string, test func(t *testing.T, name string)) {
	for i, name := range names {
		if len(names) > 20 && !*search && allrows.Without(i, 3) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if *search {
				t.Parallel()
			}
			test(t, name)
		})
	}
}

// TestReference: no program fails on the reference.
func TestReference(t *testing.T) {
	programs := 6
	if allrows.Asked() {
		programs = 15
	}
	if *search {
		programs = 3000
	}
	each(t, areaNames(), func(t *testing.T, name string) {
		s, fails, used := interleaved(t, "search", "-area", name, "-programs", strconv.Itoa(programs))
		if fails {
			t.Errorf("%s: seed %d: %s", name, s.Seed, s.Detail)
		}
		t.Logf("%s: %d programs, %d runs, %.1f s", name, s.Programs, s.Runs, used.Seconds())
	})
}

// mutantNames lists the mistakes of tests/broken/testdata/locks.
func mutantNames(t *testing.T) (names []string) {
	t.Helper()
	paths, err := filepath.Glob("../broken/testdata/locks/*.txt")
	if err != nil || len(paths) < 12 {
		t.Fatalf("%d mutants: %v", len(paths), err)
	}
	for _, path := range paths {
		names = append(names, strings.TrimSuffix(filepath.Base(path), ".txt"))
	}
	return names
}

// TestExhaustiveInterleavings runs all schedules with up to two preemptions of the programs in
// testdata, with -search up to three. None fails on the reference. If a mutant has the name of the
// file, one fails with that, and each mutant has such a file.
func TestExhaustiveInterleavings(t *testing.T) {
	preemptions := "2"
	if *search {
		preemptions = "3"
	}
	paths, err := filepath.Glob("testdata/interleave/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	var names []string
	for _, path := range paths {
		names = append(names, strings.TrimSuffix(filepath.Base(path), ".txt"))
	}
	mutants := mutantNames(t)
	for _, mutant := range mutants {
		if !slices.Contains(names, mutant) {
			t.Errorf("testdata has no program for %s", mutant)
		}
	}
	each(t, names, func(t *testing.T, name string) {
		path := filepath.Join("testdata", "interleave", name+".txt")
		s, fails, used := interleaved(t, "exhaust", "-preemptions", preemptions, path)
		if fails || !s.Complete {
			t.Errorf("%s: %s", path, s.Detail)
		}
		if !slices.Contains(mutants, name) {
			t.Logf("%s: %d schedules, %.1f s", name, s.Runs, used.Seconds())
			return
		}
		with, fails, _ := interleaved(t, "exhaust", "-preemptions", preemptions, "-mutant", name, path)
		if !fails {
			t.Fatalf("%s: not found in %d schedules", name, with.Runs)
		}
		t.Logf("%s: %d schedules, %.1f s; the mutant is found by number %d: %d operations, %d steps, %d preemptions: %s",
			name, s.Runs, used.Seconds(), with.Runs, with.Operations, with.Steps, with.Preemptions, firstLine(with.Detail))
		checkReplay(t, name, &with)
	})
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// TestMutants: random programs under random schedules find each mutant, from five seeds; without
// -search, one mutant from one seed.
func TestMutants(t *testing.T) {
	names, seeds := mutantNames(t), seeds
	if !*search {
		names, seeds = []string{"gap"}, seeds[:1]
	}
	each(t, names, func(t *testing.T, name string) {
		b, err := broken.Read("../broken/testdata/locks/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		for _, seed := range seeds {
			s, fails, used := interleaved(t, "search", "-area", b.Keys["area"], "-programs", "20000", "-mutant", name, "-seed", fmt.Sprint(seed))
			if !fails {
				t.Fatalf("seed %d: not found in %d programs", seed, s.Programs)
			}
			if used > longest {
				t.Errorf("seed %d: found after %v, more than %v", seed, used, longest)
			}
			t.Logf("from seed %d: seed %d, %d programs, %d runs, %.1f s; %d operations, %d steps, %d preemptions: %s",
				seed, s.Seed, s.Programs, s.FoundAfter, used.Seconds(), s.Operations, s.Steps, s.Preemptions, firstLine(s.Detail))
			checkReplay(t, name, &s)
		}
	})
}

// TestEveryLock leaves out each Lock of alloc/ with its Unlock, one at a time.
func TestEveryLock(t *testing.T) {
	var tried []string
	exempted, functions := map[string]bool{}, map[string]string{}
	for _, row := range listPoints(t, "-programs", "1") {
		name, reason := exempt(row)
		if reason != "" {
			exempted[name] = true
		}
		if row.kind == "acquire" && reason == "" {
			tried = append(tried, row.position)
			functions[row.position] = row.function
		}
	}
	t.Logf("%d locks are left out", len(tried))
	if len(tried) < 30 {
		t.Errorf("only %d locks are left out", len(tried))
	}
	for name := range harmless {
		if !exempted[name] {
			t.Errorf("%s is not in the source", name)
		}
	}
	each(t, tried, func(t *testing.T, position string) {
		for _, area := range []string{areaOfFile(position), ""} {
			s, fails, used := interleaved(t, "search", "-long", "-area", area, "-without", position, "-programs", "15000", "-schedules", "10")
			if fails {
				t.Logf("%s: %d programs, %d runs, %.1f s: %s", functions[position], s.Programs, s.FoundAfter, used.Seconds(), firstLine(s.Detail))
				return
			}
			if area == "" {
				t.Errorf("%s: not found in %d programs", functions[position], s.Programs)
			}
		}
	})
}

// harmless are locks without which nothing is wrong.
var harmless = map[string]string{
	"device.lockInTurn: d.turns.Lock": "the goroutines that wait take turns, for speed; the device's mutex is taken all the same",
}

// exempt is why a point is not tried, or "": it is reached by no program, or it is harmless.
func exempt(row point) (name, reason string) {
	for _, list := range []map[string]string{unreached, harmless} {
		for name, reason := range list {
			if row.function == name || strings.HasPrefix(row.function+": "+row.text, name) && strings.Contains(name, ": ") {
				return name, reason
			}
		}
	}
	return "", ""
}

// areaOfFile is the area whose programs use most of what is in a file.
func areaOfFile(position string) string {
	file, _, _ := strings.Cut(position, ".go")
	return map[string]string{"pages": "faults", "share": "sharing", "tracebuffer": "history", "settings": "settings", "uncached": "uncached", "events": "devices"}[file]
}

// checkReplay: what a search prints is a file that replay takes. It fails with the mutant as it
// did, and not without.
func checkReplay(t *testing.T, mutant string, s *summary) {
	t.Helper()
	at := strings.Index(s.Detail, "explore ")
	program, _, _ := strings.Cut(s.Detail[at:], "\nwhat happened:")
	path := filepath.Join(t.TempDir(), "program.txt")
	if err := os.WriteFile(path, []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	again, fails, _ := interleaved(t, "replay", "-mutant", mutant, path)
	if !fails || again.Detail != s.Detail {
		t.Errorf("a replay says %q, not %q", again.Detail, s.Detail)
	}
	if s, fails, _ := interleaved(t, "replay", path); fails {
		t.Errorf("the reference fails: %s", s.Detail)
	}
}

// TestBadInput: the exit status is 2.
func TestBadInput(t *testing.T) {
	file := built(t)
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

// point is a line of the command points.
type point struct {
	reached                                int
	kind, position, function, callee, text string
}

// listPoints lists the points.
func listPoints(t *testing.T, flags ...string) (list []point) {
	t.Helper()
	file := built(t)
	out, err := exec.Command(file, append([]string{"points"}, flags...)...).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		reached, err := strconv.Atoi(row[0])
		if err != nil || len(row) != 6 {
			t.Fatalf("%v: %q", err, line)
		}
		list = append(list, point{reached, row[1], row[2], row[3], row[4], row[5]})
	}
	return list
}

// TestDeadlocks: where threads wait for each other that is said within seconds, also where a thread
// waits for what the scheduler does not know. A tracker is called with the device's lock: it may neither
// call the allocator nor wait for a thread that does.
func TestDeadlocks(t *testing.T) {
	file := built(t)
	for functions, want := range map[string]string{
		"tracker-calls":   "wait for each other",
		"tracker-waits":   "wait for each other",
		"observer-waits":  "",
		"observer-blocks": "does not come back",
	} {
		path := filepath.Join(t.TempDir(), "program.txt")
		text := "explore unjudged memory=64MiB limit=24MiB functions=(" + functions + ") pauses=(every)\nA: malloc a 1MiB; malloc b 40MiB\nB: locked_stats\n"
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		command := exec.Command(file, "exhaust", "-preemptions", "1", path)
		out, err := command.CombinedOutput()
		if used := command.ProcessState.UserTime(); !strings.Contains(string(out), want) || (err == nil) != (want == "") || used > 5*time.Second {
			t.Errorf("%s: %v after %v\n%s", functions, err, used, out)
		}
	}
}

// TestSameTwice: a search gives the same twice.
func TestSameTwice(t *testing.T) {
	first, _, _ := interleaved(t, "search", "-mutant", "gap", "-area", "core")
	second, _, _ := interleaved(t, "search", "-mutant", "gap", "-area", "core")
	if first != second {
		t.Errorf("%+v, and then %+v", first, second)
	}
}
