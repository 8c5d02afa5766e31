package linearizability_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/alloc"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tests/linearizability"
	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
)

// TestTraceReplays: a history of the reference without overlapping calls is a trace that the
// reference replays exactly.
func TestTraceReplays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	written := 0
	rapid.Check(t, func(t *rapid.T) {
		s, p := drawSetup(t), drawProgram(t)
		h, err := linearizability.Run(s, p, &linearizability.Exhaustive{})
		if err != nil {
			t.Fatal(err)
		}
		if !writeTrace(t, file, h) {
			return
		}
		written++
		result, err := replay.File(file, replay.Options{New: reference.New})
		switch {
		case err != nil:
			t.Fatal(err)
		case !result.Exact:
			t.Fatalf("%v\n%v", &result, h)
		}
	})
	if written == 0 {
		t.Error("no trace was written")
	}
}

// writeTrace writes the history's trace if it has one.
func writeTrace(t interface{ Fatal(...any) }, file string, h *linearizability.History) bool {
	header, ops, err := h.Trace()
	if errors.Is(err, spec.ErrNotSupported) {
		return false
	}
	if err == nil {
		err = trace.WriteFile(file, header, ops, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}

// wasteful allocates a kibibyte more than requested.
type wasteful struct{ *alloc.Allocator }

func newWasteful(driver spec.Driver, s *linearizability.Setup, _ func()) (spec.Allocator, error) {
	inner, err := alloc.New(driver, alloc.Options{Settings: s.Settings})
	return wasteful{inner}, err
}

func (a wasteful) Malloc(r spec.Request) (spec.Ptr, error) {
	r.Bytes += spec.KiB
	return a.Allocator.Malloc(r)
}

// TestCounterexample: a failure has a schedule, and a trace that fails on the allocator and
// not on the reference.
func TestCounterexample(t *testing.T) {
	p, err := linearizability.ParseProgram("A: malloc a 512B; stats\nB: malloc b 1MiB")
	if err != nil {
		t.Fatal(err)
	}
	schedule, err := linearizability.ParseSchedule([]string{"A", "B", "A"})
	if err != nil {
		t.Fatal(err)
	}
	h, err := linearizability.Run(linearizability.Setup{New: newWasteful}, p, schedule)
	if err != nil {
		t.Fatal(err)
	}
	var x *linearizability.Counterexample
	if err := linearizability.Check(h); !errors.As(err, &x) {
		t.Fatalf("accepted: %v", err)
	}
	const command = "explore memory=1GiB pauses=() schedule=(A,B,A)\nA: malloc a 512B; stats\nB: malloc b 1MiB\n"
	if !strings.Contains(x.Error(), command) {
		t.Errorf("no command in %v", x)
	}
	file := filepath.Join(t.TempDir(), "counterexample.jsonl")
	if !writeTrace(t, file, x.History) {
		t.Fatal("no trace")
	}
	if written, err := os.ReadFile(file); err != nil || !strings.HasSuffix(x.Error(), "as a trace:\n"+string(written)) {
		t.Errorf("%v: the trace is not in %v", err, x)
	}
	if result, err := replay.File(file, replay.Options{New: reference.New}); err != nil || !result.Exact {
		t.Errorf("the reference: %v, %v", err, &result)
	}
	factory := func(driver spec.Driver, _ *trace.Header) (spec.Allocator, error) {
		return newWasteful(driver, &linearizability.Setup{}, nil)
	}
	result, err := replay.File(file, replay.Options{New: factory})
	if err != nil || result.FirstDifference == nil || result.FirstDifference.Operation != 2 {
		t.Errorf("the wasteful allocator: %v, %v", err, &result)
	}
}
