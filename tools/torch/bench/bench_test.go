//go:build cgo && linux

package main

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"gaugeblock/fakegpu/cuda"
	"gaugeblock/tools/torch"
	"gaugeblock/tools/torch/binary"
)

// TestMain is the process that counts, if it was started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-count" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestTables: a few operations of some workloads, and the tables of them. No figure of
// theirs is a time.
func TestTables(t *testing.T) {
	work := t.TempDir()
	found, err := torch.ForTests(work)
	if err == nil {
		err = build(found)
	}
	var unavailable *binary.UnavailableError
	if errors.As(err, &unavailable) || errors.Is(err, cuda.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPyTorch(found, "")
	if err != nil {
		t.Fatal(err)
	}
	reference, err := newOurs(false, "")
	if err != nil {
		t.Fatal(err)
	}
	o := options{runs: 2, steps: 400, only: regexp.MustCompile(`pair 512B|, 100 live|, 2 threads`)}
	results, err := measureAll([2]side{p, reference}, o)
	if err != nil {
		t.Fatal(err) // they must have done the same
	}
	if len(results) != 8 {
		t.Errorf("%d workloads, not 8", len(results))
	}
	for _, r := range results {
		if r.workload.bytes != 0 && r.driverCalls != [2]uint64{} {
			t.Errorf("%v: in a steady state nobody calls the driver, but there were %v calls", r.workload, r.driverCalls)
		}
	}
	if lines := strings.Count(timesTable(results), "\n"); lines != 9 {
		t.Errorf("the table has %d lines, not 9:\n%s", lines, timesTable(results))
	}

	two := releasesTable([]string{"2.11.0", "2.15.0"}, [][]times{timesOf(results), timesOf(results)})
	if lines := strings.Count(two, "\n"); lines != 9 || !strings.Contains(two, "| 2.11.0 | 2.15.0 |") {
		t.Errorf("the table of releases has %d lines, not 9:\n%s", lines, two)
	}

	// A pair asks the runtime once, for the current device, and takes two locks of its device
	// and two of the pointer table.
	counts, err := countElsewhere(found)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range counts[:2] {
		for name, n := range map[string]int{
			"cudaGetDevice": countedSteps, "recursive mutex": 2 * countedSteps, "mutex": 2 * countedSteps, "cudaMalloc": 0,
		} {
			if c.Calls[name] != n {
				t.Errorf("%s: %s is called %d times in %d operations, not %d", c.Workload, name, c.Calls[name], countedSteps, n)
			}
		}
	}
	if _, err := costsOf(parts(p, reference), options{runs: 1, steps: 10}); err != nil {
		t.Error(err)
	}
}

// careless makes one step more than it is told to.
type careless struct{ *ours }

func (c careless) run(steps int) (time.Duration, error) { return c.ours.run(steps + 1) }

// TestUnlike: two that have not done the same are not compared.
func TestUnlike(t *testing.T) {
	o := options{runs: 1, steps: 100}
	w := workload{live: 10, smallOnly: true, threads: 1, settings: plain}
	for _, test := range []struct {
		careless bool
		want     string
	}{{false, ""}, {true, "have not done the same"}} {
		first, err := newOurs(false, "")
		if err != nil {
			t.Fatal(err)
		}
		second, err := newOurs(false, "")
		if err != nil {
			t.Fatal(err)
		}
		sides := [2]side{first, second}
		if test.careless {
			sides[1] = careless{second}
		}
		_, err = measure(sides, w, o)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("careless %v: %v", test.careless, err)
		}
	}
}

func TestQuantiles(t *testing.T) {
	s := sample{1, 2, 4, 8}
	for part, want := range map[float64]float64{0: 1, 0.25: 1.75, 0.5: 3, 1: 8} {
		if got := s.quantile(part); got != want {
			t.Errorf("quantile %v is %v, not %v", part, got, want)
		}
	}
}
