package torch

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/internal/checkout"
	"gaugeblock/tests/broken"
	"gaugeblock/tests/linearizability/instrument"
	binary "gaugeblock/tools/torch/binary"
)

var seeded = flag.Bool("seeded", false, "look for the changes of testdata/seeded, which takes minutes")

const (
	seededFiles = "testdata/seeded/*.txt"
	// seededOperations are those after which the search gives up.
	seededOperations = 10_000
)

// seededStarts are the first seeds of the searches, each of which must find a change.
var seededStarts = []uint64{1, 100_001, 200_001}

// TestSeeded: a small change of the reference is a difference from PyTorch's allocator, which
// the lockstep finds. A file of testdata/seeded is a change, in the form of tests/broken,
// and the area of programs that is to find it. docs/testing.md has the table.
func TestSeeded(t *testing.T) {
	if !*seeded {
		t.Skip("builds this package once for each change: ask for it with -args -seeded")
	}
	o := built(t)
	root, err := checkout.Root()
	if err != nil {
		t.Fatal(err)
	}
	this, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unchanged := map[string]bool{} // areas in which nothing is found without a change
	for _, path := range seededPaths(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			change, err := broken.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			area := change.Keys["area"]
			program := buildChanged(t, root, change)
			for _, start := range seededStarts {
				if after, what := lookFor(t, this, o, area, start, Conditions{Release: "2.11"}, seededOperations); !unchanged[area] && after > 0 {
					t.Fatalf("area %s differs without a change: %s", area, what)
				}
				after, what := lookFor(t, program, o, area, start, Conditions{Release: "2.11"}, seededOperations)
				if after == 0 {
					t.Errorf("from seed %d, nothing is found in %d operations", start, seededOperations)
					continue
				}
				t.Logf("area %s, from seed %d: found after %d operations: %s", area, start, after, what)
			}
			unchanged[area] = true
		})
	}
}

// TestSeededCompile: each change still applies to the reference, and what it makes compiles.
func TestSeededCompile(t *testing.T) {
	root, err := checkout.Root()
	if err != nil {
		t.Fatal(err)
	}
	check, err := instrument.Changed(root, "alloc")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range seededPaths(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			change, err := broken.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			file, text, err := change.Apply(root)
			if err == nil {
				err = check(filepath.Base(file), text)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func seededPaths(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(seededFiles)
	if err != nil || len(paths) < 12 {
		t.Fatalf("%d changes: %v", len(paths), err)
	}
	return paths
}

// buildChanged builds this package with a piece of the reference replaced.
func buildChanged(t *testing.T, root string, change *broken.Breakage) string {
	t.Helper()
	dir := t.TempDir()
	overlay, err := change.Overlay(root, dir)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "torch.test")
	build := exec.Command("go", "test", "-c", "-overlay", overlay, "-ldflags=-s -w", "-o", program, "./tools/torch")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// lookFor performs programs of an area in a worker of the program, and returns after how many
// operations something differs that no row explains; 0 if nothing does.
func lookFor(t *testing.T, program string, o binary.Options, area string, start uint64, c Conditions, most int) (after int, what string) {
	t.Helper()
	w, err := startWorkerOf(program, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	}()
	for done, seed := 0, start; done < most; seed++ {
		c.Length, c.Every = min(1000, most-done), 100
		r, crash, err := w.do(&job{Area: area, Seed: seed, Programs: 1, Conditions: c})
		if err != nil {
			t.Fatal(err)
		}
		if crash != nil { // of PyTorch's allocator, which no change makes
			done += crash.Operation
			continue
		}
		done += r.Operations
		for i := range r.Outcomes {
			if r.Outcomes[i].Row == "" {
				return done, r.Outcomes[i].Difference.Error()
			}
		}
	}
	return 0, ""
}
