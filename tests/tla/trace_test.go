package tla

import (
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	spectla "gaugeblock/tla"

	"gaugeblock/spec"
	"gaugeblock/tests/reference"
	"gaugeblock/tests/replay"
)

// TestViolationsReplay: what the model breaks is what the reference does. The
// counterexample, as a trace, is replayed exactly.
func TestViolationsReplay(t *testing.T) {
	for _, c := range configurations(t) {
		if c.Mirror == "" || c.Expect == "ok" || c.Size == "large" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			check := open(t, c)
			v := explore.Explore(check.Mirror, check.Options).Violation
			if v == nil {
				t.Fatal("nothing is broken")
			}
			replayExactly(t, filepath.Join(t.TempDir(), "trace.jsonl"), c.Name, check.Mirror, v.Trace)
		})
	}
}

// TestWalksReplay: random ways through the states are what the reference does.
func TestWalksReplay(t *testing.T) {
	for _, c := range configurations(t) {
		if c.Mirror == "" || c.Expect != "ok" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "trace.jsonl")
			m := open(t, c).Mirror
			rapid.Check(t, func(t *rapid.T) {
				replayExactly(t, file, c.Name, m, walk(t, m))
			})
		})
	}
}

// walk is a random way of at most 60 steps.
func walk(t *rapid.T, m bounded.Mirror) []explore.Step[*bounded.State] {
	steps := []explore.Step[*bounded.State]{{State: m.Initial()[0]}}
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		var next []explore.Step[*bounded.State]
		m.Next(steps[len(steps)-1].State, func(label int, s *bounded.State) {
			next = append(next, explore.Step[*bounded.State]{Label: m.Labels()[label], State: s})
		})
		if len(next) == 0 {
			break
		}
		steps = append(steps, rapid.SampledFrom(next).Draw(t, "step"))
	}
	return steps
}

func open(t *testing.T, c spectla.Configuration) *bounded.Check {
	check, err := bounded.Open(c.Mirror, config(t, c))
	if err != nil {
		t.Fatal(err)
	}
	return check
}

func replayExactly(t rapid.TB, file, name string, m bounded.Mirror, steps []explore.Step[*bounded.State]) {
	header, ops, err := m.Trace(name, steps)
	if err == nil {
		err = spec.WriteTraceFile(file, header, ops, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	result, err := replay.File(file, replay.Options{New: reference.New})
	if err != nil {
		t.Fatal(err)
	}
	if !result.Exact {
		t.Fatalf("%v", &result)
	}
}
