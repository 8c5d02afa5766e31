package tell_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// recordings are traces of PyTorch programs, made by gb_record.py.
const recordings = "../record/testdata/recorded"

func traceHistory(t *testing.T, name string) *history.Workload {
	t.Helper()
	tr, err := trace.Open(filepath.Join(recordings, name+".jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	h, err := history.FromTrace(tr, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestTracesComeOut: recorded runs are reproduced, with pools, captures and checkpoints.
func TestTracesComeOut(t *testing.T) {
	for _, name := range []string{"compiled", "compiled-expandable", "realoom", "two_streams", "two_streams-expandable"} {
		h := traceHistory(t, name)
		if a := play.Verify(h); !a.Exact() || a.Allocations == 0 {
			t.Errorf("%s: %d of %d allocations have the recorded address: %+v", name, a.SameAddress, a.Allocations, a.Differences)
		}
	}
}

// TestPredictionsFromTraces predicts one recorded run from another one of the same
// program under other settings. The reserved memory of the recorded run is the
// sum of its segments.
func TestPredictionsFromTraces(t *testing.T) {
	for _, c := range []struct {
		from, to, settings string
		reasons            []compare.InexactReason
	}{
		{"compiled", "compiled-expandable", "expandable_segments:True", nil},
		{"compiled-expandable", "compiled", "", nil},
		{"two_streams", "two_streams-expandable", "expandable_segments:True", []compare.InexactReason{compare.StreamTiming}},
		{"two_streams-expandable", "two_streams", "", []compare.InexactReason{compare.StreamTiming}},
	} {
		comparison, err := compare.Compare(traceHistory(t, c.from), compare.Options{Settings: []string{c.settings}})
		if err != nil {
			t.Fatal(err)
		}
		prediction, reserved := &comparison.Predictions[0], traceHistory(t, c.to).Limit.Least
		if !slices.Equal(prediction.Reasons, c.reasons) {
			t.Errorf("%s: the reasons are %v", c.from, prediction.Reasons)
		}
		r, _ := prediction.PeakReservedRange()
		if reserved < r.Low || reserved > r.High || prediction.Exact() && reserved != prediction.PeakReserved {
			t.Errorf("%s: %d bytes were reserved, predicted are %d, %v", c.from, reserved, prediction.PeakReserved, r)
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
		_, err = history.FromTrace(tr, 0, 0)
		var notRepeatable *history.WorkloadError
		if !errors.As(err, &notRepeatable) || err.Error() != c.message {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// TestLimitOfTrace: the limit is the smallest memory fraction that was set, and what a request was
// refused under it is a request of the program.
func TestLimitOfTrace(t *testing.T) {
	const header = `{"format":"allocator-trace","version":2,"devices":2,"total_memory":1073741824,"streams":[0]}` + "\n"
	const (
		malloc  = `{"op":"malloc","id":1,"size":20971520,"addr":4194304,"events":[["segment_alloc",4194304,20971520,0],["alloc",4194304,20971520,0]]}` + "\n"
		refused = `{"op":"malloc","id":2,"size":1073741824,"error":"oom","events":[["oom",900000000,1073741824,0]]}` + "\n"
		all     = `{"op":"set_memory_fraction","fraction":1,"allowed":1073741824,"events":[]}` + "\n"
		half    = `{"op":"set_memory_fraction","fraction":0.5,"allowed":536870912,"events":[]}` + "\n"
		quarter = `{"op":"set_memory_fraction","fraction":0.25,"allowed":268435456,"events":[]}` + "\n"
		little  = `{"op":"set_memory_fraction","fraction":0.015625,"allowed":16777216,"events":[]}` + "\n"
		other   = `{"op":"set_memory_fraction","device":1,"fraction":0.25,"allowed":268435456,"events":[]}` + "\n"
	)
	for _, test := range []struct {
		what, ops string
		kind      history.LimitKind
		bytes     uint64 // 0: there is no upper bound
		ooms      int
	}{
		{"none", malloc, history.NoLimit, 0, 0},
		{"all of the device", all + malloc, history.NoLimit, 0, 0},
		{"half of it", half + malloc, history.FractionLimit, 536870912, 0},
		{"the first is smaller", quarter + malloc + half, history.FractionLimit, 268435456, 0},
		{"the last is smaller", half + malloc + quarter, history.FractionLimit, 268435456, 0},
		{"it is taken back", half + malloc + all, history.FractionLimit, 536870912, 0},
		{"less than was reserved before", malloc + little, history.FractionLimit, 20971520, 0},
		{"of another device", other + malloc, history.NoLimit, 0, 0},
		{"a request is refused", half + malloc + refused, history.FractionLimit, 536870912, 1},
	} {
		tr, err := trace.NewReader(strings.NewReader(header+test.ops), "trace")
		if err != nil {
			t.Fatal(err)
		}
		w, err := history.FromTrace(tr, 0, 0)
		if err != nil {
			t.Fatalf("%s: %v", test.what, err)
		}
		if b := w.Limit; b.Kind != test.kind || b.Most != test.bytes || test.bytes > 0 && b.Least != test.bytes {
			t.Errorf("%s: %+v", test.what, w.Limit)
		}
		failed := 0
		for i := range w.Requests {
			q := &w.Requests[i]
			want := spec.ActionAlloc
			if q.Kind == history.FailedMalloc {
				failed++
				want = spec.ActionOOM
			}
			if a := w.Entry(q).Action; a != want {
				t.Errorf("%s: request %d is from a %v", test.what, i, a)
			}
		}
		if w.Unrecorded.OOMs != test.ooms || failed != test.ooms || w.Mallocs != 1+test.ooms {
			t.Errorf("%s: %d of %d requests failed, and %d are told", test.what, failed, w.Mallocs, w.Unrecorded.OOMs)
		}
	}
}
