package linearizability_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/tests/suites/linearizability"
)

// TestSearch searches for a program that is not linearizable, and shortens it. The reference
// has none. Package tests/suites/broken builds this test with broken allocators and runs it
// with a seed in GAUGEBLOCK_SEED; the program that it finds is printed as a line of JSON.
func TestSearch(t *testing.T) {
	seed := 1
	if text := os.Getenv("GAUGEBLOCK_SEED"); text != "" {
		var err error
		if seed, err = strconv.Atoi(text); err != nil {
			t.Fatalf("GAUGEBLOCK_SEED: %v", err)
		}
	}
	found, calls := search(seed, 1000)
	t.Logf("%d calls", calls)
	if found == nil {
		return
	}
	shortest := shorten(found)
	line, err := json.Marshal(map[string]any{
		"found_after": calls, "length": shortest.length(), "detail": shortest.err.Error(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Errorf("%s", line)
}

// finding is a program with a schedule under which it is not linearizable.
type finding struct {
	setup    linearizability.Setup
	program  linearizability.Program
	schedule []int
	err      error
}

func (f *finding) length() int { return len(slices.Concat(f.operations()...)) }

// operations lists the operations before the threads, and those of each thread.
func (f *finding) operations() [][]linearizability.Op {
	return append([][]linearizability.Op{f.program.Before}, f.program.Threads...)
}

// search runs random programs under random schedules until one fails, at most so many. It
// returns the number of calls too.
func search(seed, programs int) (found *finding, calls int) {
	setups, drawn := rapid.Custom(drawSetup), rapid.Custom(drawProgram)
	for n := seed; n < seed+programs; n++ {
		f := &finding{setup: setups.Example(n), program: drawn.Example(n)}
		if f.fails(randomly(n)) {
			return f, calls + f.length()
		}
		calls += f.length()
	}
	return nil, calls
}

func randomly(seed int) linearizability.Policy {
	return linearizability.Random{Pick: rand.New(rand.NewPCG(uint64(seed), 0)).IntN}
}

// fails runs the program and reports whether it is not linearizable, or the
// allocator panics. The finding then has the schedule and the reason.
func (f *finding) fails(policy linearizability.Policy) bool {
	recording := &recordingPolicy{Policy: policy}
	h, err := linearizability.Run(f.setup, f.program, recording)
	if err == nil {
		err = linearizability.Check(h)
	}
	f.schedule, f.err = recording.schedule, err
	return err != nil
}

// recordingPolicy records the choices of another policy.
type recordingPolicy struct {
	linearizability.Policy
	schedule []int
}

func (n *recordingPolicy) Choose(ready []int) int {
	thread := n.Policy.Choose(ready)
	n.schedule = append(n.schedule, thread)
	return thread
}

// shorten leaves out the callback, whole threads and single operations as long as the program
// fails: under the same schedule, as far as it applies, or under one of a few others.
func shorten(f *finding) *finding {
	for again := true; again; {
		again = false
		for _, shorter := range f.shorter() {
			if shorter.failsSomehow(f.schedule) {
				f, again = shorter, true
				break
			}
		}
	}
	return f
}

// failsSomehow tries a known schedule, and then some random ones.
func (f *finding) failsSomehow(schedule []int) bool {
	const others = 100
	known, err := linearizability.ParseSchedule(linearizability.FormatSchedule(schedule))
	if err == nil && f.fails(known) {
		return true
	}
	for seed := range others {
		if f.fails(randomly(seed)) {
			return true
		}
	}
	return false
}

// shorter lists the programs with one part less, the largest part first.
func (f *finding) shorter() (list []*finding) {
	if len(f.setup.Callback) > 0 {
		less := *f
		less.setup.Callback = nil
		list = append(list, &less)
	}
	for i := range f.program.Threads {
		less := *f
		less.program.Threads = slices.Delete(slices.Clone(f.program.Threads), i, i+1)
		list = append(list, &less)
	}
	for i, ops := range f.operations() {
		for j := range ops {
			less := *f
			lists := f.operations()
			lists[i] = slices.Delete(slices.Clone(ops), j, j+1)
			less.program = linearizability.Program{Before: lists[0], Threads: lists[1:]}
			list = append(list, &less)
		}
	}
	return list
}
