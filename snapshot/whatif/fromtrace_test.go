package whatif_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/snapshot/whatif"
	"gaugeblock/spec/trace"
)

// recordings are traces of PyTorch programs, made by gb_record.py.
const recordings = "../record/testdata/recorded"

func traceHistory(t *testing.T, name string) *whatif.Workload {
	t.Helper()
	tr, err := trace.Open(filepath.Join(recordings, name+".jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	h, err := whatif.FromTrace(tr, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestTracesComeOut: recorded runs are reproduced, with pools, captures and checkpoints.
func TestTracesComeOut(t *testing.T) {
	for _, name := range []string{"compiled", "compiled-expandable", "realoom", "two_streams", "two_streams-expandable"} {
		h := traceHistory(t, name)
		if a := whatif.Verify(h); !a.Exact() || a.Allocations == 0 {
			t.Errorf("%s: %d of %d allocations have the recorded address: %q", name, a.SameAddress, a.Allocations, a.Differences)
		}
	}
}

// TestPredictionsFromTraces predicts one recorded run from another one of the same
// program under other settings. The reserved memory of the recorded run is the
// sum of its segments.
func TestPredictionsFromTraces(t *testing.T) {
	for _, c := range []struct {
		from, to, settings string
		reasons            []whatif.InexactReason
	}{
		{"compiled", "compiled-expandable", "expandable_segments:True", nil},
		{"compiled-expandable", "compiled", "", nil},
		{"two_streams", "two_streams-expandable", "expandable_segments:True", []whatif.InexactReason{whatif.StreamTiming}},
		{"two_streams-expandable", "two_streams", "", []whatif.InexactReason{whatif.StreamTiming}},
	} {
		comparison, err := whatif.Compare(traceHistory(t, c.from), whatif.Options{Settings: []string{c.settings}})
		if err != nil {
			t.Fatal(err)
		}
		prediction, reserved := &comparison.Predictions[0], traceHistory(t, c.to).Limit.Least
		if !slices.Equal(prediction.InexactReasons, c.reasons) {
			t.Errorf("%s: the reasons are %v", c.from, prediction.InexactReasons)
		}
		if reserved < prediction.PeakReservedRange.Low || reserved > prediction.PeakReservedRange.High || prediction.Exact() && reserved != prediction.PeakReserved {
			t.Errorf("%s: %d bytes were reserved, predicted are %d, %v", c.from, reserved, prediction.PeakReserved, prediction.PeakReservedRange)
		}
	}
}

// TestTracesThatCannotBeAskedAgain: traces with operations that cannot be repeated are
// refused, with the line.
func TestTracesThatCannotBeAskedAgain(t *testing.T) {
	const header = `{"format":"allocator-trace","version":2,"total_memory":1073741824,"streams":[0]}` + "\n"
	for _, c := range []struct{ what, ops, message string }{
		{"nothing", ``, "the trace asks for no memory of device 0"},
		{"no events", `{"op":"malloc","id":0,"size":512}`, "line 2: the trace does not say what the allocator did"},
		{"caching turned off", `{"op":"enable","enabled":false}`, "line 2: the operation enable cannot be asked again under other settings"},
	} {
		tr, err := trace.NewReader(strings.NewReader(header+c.ops), "trace")
		if err != nil {
			t.Fatal(err)
		}
		_, err = whatif.FromTrace(tr, 0, 0)
		var notRepeatable *whatif.WorkloadError
		if !errors.As(err, &notRepeatable) || err.Error() != c.message {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
