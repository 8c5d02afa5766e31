package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update-instructions", false, "write testdata/instructions.txt")

// mostGrowth is by how much an operation may need more instructions than the file says: the Go runtime's
// own, and what depends on the processor, are up to two in a hundred.
const mostGrowth = 0.05

const figures = "testdata/instructions.txt"

// TestInstructions counts the instructions of a step of each workload under callgrind, which a busy
// machine does not change: those of a run, less those of a run with half the steps.
func TestInstructions(t *testing.T) {
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		t.Skip("there is no valgrind, which counts instructions: Debian and Fedora have a package")
	}
	want, compiler := readFigures(t)
	if now := minorVersion(runtime.Version()); now != compiler && !*update {
		t.Skipf("%s has the instructions of %s, and this is %s: -args -update-instructions", figures, compiler, now)
	}
	program := filepath.Join(t.TempDir(), "instructions")
	build := exec.Command("go", "build", "-o", program, ".")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	var lines strings.Builder
	fmt.Fprintf(&lines, "# Instructions of a step, %s: go test ./tests/bench/instructions -args -update-instructions\n", minorVersion(runtime.Version()))
	for _, w := range workloads {
		more, less := count(t, valgrind, program, w.name, 2*w.steps), count(t, valgrind, program, w.name, w.steps)
		step := float64(more-less) / float64(w.steps)
		fmt.Fprintf(&lines, "%s %.0f\n", w.name, step)
		t.Logf("%s: %.0f instructions, %.0f before", w.name, step, want[w.name])
		if limit := want[w.name] * (1 + mostGrowth); step > limit && !*update {
			t.Errorf("%s: %.0f instructions for a step, %.0f before (at most %.0f)", w.name, step, want[w.name], limit)
		}
	}
	if *update {
		if err := os.WriteFile(figures, []byte(lines.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var collected = regexp.MustCompile(`Collected : (\d+)`)

// count is the number of instructions of a run, without the garbage collector and on one thread.
func count(t *testing.T, valgrind, program, name string, steps int) int {
	t.Helper()
	c := exec.Command(valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", program, name, strconv.Itoa(steps))
	c.Env = append(os.Environ(), "GOGC=off", "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
	said, err := c.CombinedOutput()
	found := collected.FindSubmatch(said)
	if err != nil || found == nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, said)
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// readFigures are the instructions by workload, and the version of Go they are of.
func readFigures(t *testing.T) (by map[string]float64, compiler string) {
	t.Helper()
	text, err := os.ReadFile(figures)
	if err != nil {
		t.Fatal(err)
	}
	by = map[string]float64{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			compiler = regexp.MustCompile(`go\d+\.\d+`).FindString(line)
			continue
		}
		var name string
		var n float64
		if _, err := fmt.Sscan(line, &name, &n); err != nil {
			t.Fatalf("%s: %q: %v", figures, line, err)
		}
		by[name] = n
	}
	return by, compiler
}

// minorVersion is go1.26 of go1.26.3.
func minorVersion(version string) string {
	return regexp.MustCompile(`^go\d+\.\d+`).FindString(version)
}

// TestWorkloads: each workload can be performed, and has a figure.
func TestWorkloads(t *testing.T) {
	want, _ := readFigures(t)
	for _, w := range workloads {
		if want[w.name] == 0 {
			t.Errorf("%s is not in %s", w.name, figures)
		}
		if err := w.perform(10); err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
	}
	if len(want) != len(workloads) {
		t.Errorf("%s has %d workloads, and there are %d", figures, len(want), len(workloads))
	}
	for _, args := range [][]string{nil, {"no", "1"}, {"pair-small", "x"}} {
		if perform(args) == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
