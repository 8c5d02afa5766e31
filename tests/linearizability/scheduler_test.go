package linearizability_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec/trace"
	"gaugeblock/tests/linearizability"
)

// TestExhaustive: the number of interleavings is right, and each comes exactly once.
func TestExhaustive(t *testing.T) {
	for _, c := range []struct {
		steps []int
		want  int
	}{
		{[]int{3}, 1},
		{[]int{1, 1}, 2},
		{[]int{2, 3}, 10},
		{[]int{1, 1, 1}, 6},
		{[]int{3, 2, 2}, 210},
		{[]int{3, 3, 3}, 1680},
	} {
		seen := map[string]bool{}
		policy := &linearizability.Exhaustive{}
		runs := 0
		for more := true; more; more = policy.Next() {
			runs++
			seen[fmt.Sprint(interleave(c.steps, policy))] = true
		}
		if runs != c.want || len(seen) != c.want {
			t.Errorf("%v: %d schedules, %d different ones, want %d", c.steps, runs, len(seen), c.want)
		}
	}
}

// interleave runs threads that do nothing under a policy.
func interleave(steps []int, policy linearizability.Policy) (schedule []int) {
	left := slices.Clone(steps)
	for {
		var ready []int
		for thread, n := range left {
			if n > 0 {
				ready = append(ready, thread)
			}
		}
		if len(ready) == 0 {
			return schedule
		}
		next := policy.Choose(ready)
		left[next]--
		schedule = append(schedule, next)
	}
}

// TestReplay: a schedule that was printed gives the same history again.
func TestReplay(t *testing.T) {
	p, err := linearizability.ParseProgram("before: malloc x 20MiB\nA: free x; malloc a 20MiB\nB: malloc b 12MiB; free b")
	if err != nil {
		t.Fatal(err)
	}
	s := linearizability.Setup{Limit: 40 * mib, Settings: releaseLock, Pauses: linearizability.AllPauses}
	policy := &linearizability.Exhaustive{}
	for more := true; more; more = policy.Next() {
		h, err := linearizability.Run(s, p, policy)
		if err != nil {
			t.Fatal(err)
		}
		printed, err := linearizability.ParseSchedule(linearizability.FormatSchedule(h.Schedule))
		if err != nil {
			t.Fatal(err)
		}
		again, err := linearizability.Run(s, p, printed)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h.String(), again.String()); diff != "" {
			t.Fatalf("schedule %v:\n%s", h.Schedule, diff)
		}
	}
}

// TestLockReleaseIsFixed: the scheduler must know when the lock is held.
func TestLockReleaseIsFixed(t *testing.T) {
	p, err := linearizability.ParseProgram("A: configure " + releaseLock)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := linearizability.Run(linearizability.Setup{}, p, &linearizability.Exhaustive{}); trace.ErrorName(err) != trace.ErrorInvalidArgument {
		t.Errorf("error %v", err)
	}
}

// TestReplayForgives: a schedule need not fit.
func TestReplayForgives(t *testing.T) {
	policy, err := linearizability.ParseSchedule([]string{"B", "B", "B", "A"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1, 1, 0, 0, 0}, interleave([]int{3, 2}, policy)); diff != "" {
		t.Error(diff)
	}
	if _, err := linearizability.ParseSchedule([]string{"A", "b"}); err == nil {
		t.Error("b is no thread")
	}
}

// TestProgramText: programs are written as they are read, and what cannot be read
// is refused with its line.
func TestProgramText(t *testing.T) {
	const text = `before: malloc x 1GiB+20MiB+1KiB+5B stream=1 device=1
A: free x; record_stream x stream=2; empty_cache; stats device=1
B: set_memory_fraction 0.25; configure max_split_size_mb:20; busy stream=1; drain stream=1; snapshot; malloc y 0B`
	p, err := linearizability.ParseProgram(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, p.String()); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct{ text, want string }{
		{"", `line 1: "": an operation is missing`},
		{"A: free x;", `line 1: "": an operation is missing`},
		{"B: free x", `line 1: "B" is neither the next thread, A, nor what comes before them`},
		{"A: free x\nbefore: free y", `line 2: "before" is neither the next thread, B, nor what comes before them`},
		{"A: allocate x 1MiB", `line 1: "allocate x 1MiB": there is no such operation`},
		{"A: malloc x", `line 1: "malloc x": "" is not a size`},
		{"A: malloc x 1MB", `line 1: "malloc x 1MB": "1MB" is not a size`},
		{"A: free x stream=1", `line 1: "free x stream=1": "stream=1" does not belong there`},
		{"A: free x device=y", `line 1: "free x device=y": "device=y" does not belong there`},
		{"A: set_memory_fraction all", `line 1: "set_memory_fraction all": strconv.ParseFloat: parsing "all": invalid syntax`},
	} {
		_, err := linearizability.ParseProgram(c.text)
		if err == nil || err.Error() != c.want {
			t.Errorf("%q: error %v, want %s", c.text, err, c.want)
		}
	}
}
