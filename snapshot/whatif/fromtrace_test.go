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

func traceHistory(t *testing.T, name string) *whatif.History {
	t.Helper()
	tr, err := trace.Open(filepath.Join(recordings, name+".jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	h, err := whatif.FromTrace(tr, 0)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestTracesComeOut: recorded runs come out in the recorded places, pools, captures and
// checkpoints included.
func TestTracesComeOut(t *testing.T) {
	for _, name := range []string{"compiled", "compiled-expandable", "realoom", "two_streams", "two_streams-expandable"} {
		h := traceHistory(t, name)
		if a := whatif.Verify(h); !a.Full() || a.Placed == 0 {
			t.Errorf("%s: %d of %d allocations come out in the recorded place", name, a.Same, a.Placed)
		}
	}
}

// TestPredictionsFromTraces predicts one recorded run from another one of the same
// program under other settings. How much was held in the recorded run is what its
// events add up to.
func TestPredictionsFromTraces(t *testing.T) {
	for _, c := range []struct {
		from, to, settings string
		doubts             []whatif.Doubt
	}{
		{"compiled", "compiled-expandable", "expandable_segments:True", nil},
		{"compiled-expandable", "compiled", "", nil},
		{"two_streams", "two_streams-expandable", "expandable_segments:True", []whatif.Doubt{whatif.ByStreams}},
		{"two_streams-expandable", "two_streams", "", []whatif.Doubt{whatif.ByStreams}},
	} {
		study, err := whatif.Try(traceHistory(t, c.from), whatif.Options{Settings: []string{c.settings}})
		if err != nil {
			t.Fatal(err)
		}
		row, held := &study.Rows[0], traceHistory(t, c.to).Limit.Least
		if !slices.Equal(row.Doubts, c.doubts) {
			t.Errorf("%s: the doubts are %v", c.from, row.Doubts)
		}
		if held < row.Range.Low || held > row.Range.High || row.Exact() && held != row.PeakReserved {
			t.Errorf("%s: %d bytes were held, predicted are %d, %v", c.from, held, row.PeakReserved, row.Range)
		}
	}
}

// TestTracesThatCannotBeAskedAgain are refused, with the line.
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
		_, err = whatif.FromTrace(tr, 0)
		var history *whatif.HistoryError
		if !errors.As(err, &history) || err.Error() != c.message {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
