package tla

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/spec/trace"
	spectla "gaugeblock/tla"

	"gaugeblock/spec"
	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
)

// TestViolationsReplay: the reference does the same as the model in a counterexample. As a
// trace it is replayed exactly.
func TestViolationsReplay(t *testing.T) {
	for _, c := range configurations(t) {
		if c.Mirror == "" || c.Expect == "ok" || c.Size == "large" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			check := open(t, c)
			v := explore.Explore(check.Module, check.Options).Violation
			if v == nil {
				t.Fatal("no property fails")
			}
			if !replayExactly(t, filepath.Join(t.TempDir(), "trace.jsonl"), c.Name, check.Module, v.Trace) && !strings.HasPrefix(c.Mirror, "two_step") {
				t.Error("there is no trace of the counterexample")
			}
		})
	}
}

func open(t *testing.T, c spectla.Configuration) *bounded.Check {
	check, err := bounded.NewCheck(c.Mirror, config(t, c))
	if err != nil {
		t.Fatal(err)
	}
	return check
}

// replayExactly replays a path through the states on the reference. It reports whether there
// is a trace of it.
func replayExactly(t *testing.T, file, name string, m bounded.Module, steps []explore.Step[*bounded.State]) bool {
	header, ops, err := m.Trace(name, steps)
	if errors.Is(err, spec.ErrNotSupported) {
		return false
	}
	if err == nil {
		err = trace.WriteFile(file, header, ops, nil)
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
	return true
}
