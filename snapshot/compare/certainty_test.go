package compare

import (
	"errors"
	"slices"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// TestRecordFigures: what the entries themselves say of segments and failures counts from 0.
func TestRecordFigures(t *testing.T) {
	w := &history.Workload{}
	for _, a := range []spec.Action{spec.ActionSegmentAlloc, spec.ActionSegmentMap, spec.ActionAlloc, spec.ActionSegmentUnmap, spec.ActionSegmentFree, spec.ActionSegmentFree, spec.ActionOOM} {
		w.Trace = append(w.Trace, snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: a, Size: 1}})
	}
	s := play.Statistics{DeviceAllocs: 90, DeviceFrees: 90, OOMs: 90}
	if recordFigures(w, &s); s.DeviceAllocs != 2 || s.DeviceFrees != 3 || s.OOMs != 1 {
		t.Errorf("%+v", s)
	}
}

// TestTakeRecorded: the prediction for the recorded settings is the whole record. What its entries
// themselves have is believed if a replay does not reproduce it.
func TestTakeRecorded(t *testing.T) {
	allocated := snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: spec.ActionSegmentAlloc, Size: 20 * spec.MiB}}
	failed := snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: spec.ActionOOM, Size: 40 * spec.MiB}}
	first, end := play.Statistics{PeakReserved: 1, OOMs: 1, DeviceAllocs: 5}, play.Statistics{PeakReserved: 2, OOMs: 2, PeakAllocated: 7, DeviceAllocs: 6}
	for _, test := range []struct {
		what   string
		exact  bool
		trace  []snapshot.TraceEntry
		want   play.Statistics
		failed bool
	}{
		{"reproduced", true, []snapshot.TraceEntry{allocated, failed}, end, true},
		{"not reproduced, without a failure", false, []snapshot.TraceEntry{allocated}, play.Statistics{PeakReserved: 20 * spec.MiB, PeakAllocated: 7, DeviceAllocs: 1}, false},
		{"not reproduced, with one failure", false, []snapshot.TraceEntry{allocated, failed}, play.Statistics{PeakReserved: 20 * spec.MiB, PeakAllocated: 7, DeviceAllocs: 1, OOMs: 1}, true},
	} {
		c := &comparing{Comparison: Comparison{Workload: &history.Workload{Settings: history.DefaultSettings(), Trace: test.trace}, Readings: []history.Reading{{}}}}
		c.recordedOutcome = play.Outcome{Statistics: first, AtEnd: end, FirstOOM: &play.OutOfMemory{}}
		if !test.exact {
			c.Verification.Differences = make([]play.Difference, 1)
		}
		p := &Prediction{}
		c.takeRecorded(p)
		if p.Statistics != test.want || p.AtEnd != test.want || (p.FirstOOM != nil) != test.failed || p.Runs[0].reserved.High != test.want.PeakReserved {
			t.Errorf("%s: %+v at first, %+v at the end, first failure %v, range %v", test.what, p.Statistics, p.AtEnd, p.FirstOOM, p.Runs[0].reserved)
		}
	}
}

// TestReasons: each thing that a record leaves open is a reason of its own.
func TestReasons(t *testing.T) {
	measured := func(retries int64) runResult {
		return runResult{runJob: runJob{assumptions: play.MeasuredDriver}, outcome: play.Outcome{Statistics: play.Statistics{Retries: retries}}}
	}
	other := measured(0)
	other.assumptions = play.OtherDrivers[0]
	differs := measured(1)
	differs.assumptions = play.OtherDrivers[0]
	for _, test := range []struct {
		what string
		set  func(c *comparing, w *history.Workload)
		runs runs
		want []InexactReason
	}{
		{"nothing", func(*comparing, *history.Workload) {}, runs{measured(0), other}, nil},
		{"other addresses", func(*comparing, *history.Workload) {}, runs{measured(0), differs}, []InexactReason{DriverAddresses}},
		{"a free that has not completed", func(_ *comparing, w *history.Workload) { w.Unrecorded.PendingFrees = 1 }, runs{measured(0)}, []InexactReason{StreamTiming}},
		{"collectives", func(_ *comparing, w *history.Workload) { w.Marks.Collectives = true }, runs{measured(0)}, []InexactReason{Collectives}},
		{"the cache was emptied", func(_ *comparing, w *history.Workload) { w.Unrecorded.EmptyCaches = 1 }, runs{measured(0)}, []InexactReason{EmptyCacheCalls}},
		{"settings changed", func(_ *comparing, w *history.Workload) { w.Unrecorded.SettingsChanges = 1 }, runs{measured(0)}, []InexactReason{ChangedSettings}},
		{"a key that is not known", func(_ *comparing, w *history.Workload) { w.Unrecorded.Unknown = make([]snapshot.UnknownAction, 1) }, runs{measured(0)}, []InexactReason{UnknownRecord}},
		{"a setting that is not known", func(_ *comparing, w *history.Workload) { w.Unrecorded.UnknownSettings = []string{"pinned_x", "x"} }, runs{measured(0)}, []InexactReason{UnknownRecord}},
		{"a setting of pinned memory", func(_ *comparing, w *history.Workload) { w.Unrecorded.UnknownSettings = []string{"pinned_x"} }, runs{measured(0)}, nil},
		{"an action that is not known", func(_ *comparing, w *history.Workload) { w.Unrecorded.Skipped = []spec.Action{spec.ActionAlloc} }, runs{measured(0)}, []InexactReason{SkippedActions}},
		{"entries that contradict", func(_ *comparing, w *history.Workload) { w.Unrecorded.InconsistentEntries = 1 }, runs{measured(0)}, []InexactReason{RecordMismatch}},
		{"a difference", func(c *comparing, _ *history.Workload) { c.Verification.Differences = make([]play.Difference, 1) }, runs{measured(0)}, []InexactReason{RecordMismatch}},
	} {
		w := &history.Workload{Settings: history.DefaultSettings()}
		c := &comparing{Comparison: Comparison{Workload: w, Readings: []history.Reading{{}}}}
		test.set(c, w)
		p := &Prediction{Settings: w.Settings}
		if c.findReasons(p, test.runs); !slices.Equal(p.Reasons, test.want) {
			t.Errorf("%s: %v, not %v", test.what, p.Reasons, test.want)
		}
	}
}

// TestCountedRuns: what the runs of a prediction come to.
func TestCountedRuns(t *testing.T) {
	reserved := func(bytes uint64) play.Outcome { return play.Outcome{Statistics: play.Statistics{PeakReserved: bytes}} }
	retried, failed, passed := reserved(100), reserved(100), reserved(100)
	retried.Retries = 1
	failed.FirstOOM = &play.OutOfMemory{}
	passed.Passed, passed.Parted = true, 40
	early, last := passed, reserved(100)
	nearby := passed
	nearby.Parted = 90
	early.BeforeFailure = 20
	last.AtEnd.PeakReserved = 700
	segment := history.DefaultSettings().Config.LargeSegmentSize
	for _, test := range []struct {
		what     string
		settings string
		recorded bool
		limit    uint64
		runs     []play.Outcome
		ooms     int
		reaches  bool
		reserved Range
		open     bool
	}{
		{"without a limit", "", false, 0, []play.Outcome{reserved(100), reserved(300), reserved(200)}, 0, false, Range{100, 300, true}, false},
		{"the first run reaches the limit", "", false, 500, []play.Outcome{retried, reserved(100)}, 0, true, Range{100, 100, true}, false},
		{"the last run reaches the limit", "", false, 500, []play.Outcome{reserved(100), retried}, 0, true, Range{100, 100, true}, false},
		{"a run fails", "", false, 500, []play.Outcome{reserved(100), failed, reserved(200)}, 1, true, Range{100, 200, true}, false},
		{"a failure of the record is passed", "", false, 0, []play.Outcome{passed}, 0, false, Range{40, 100, true}, true},
		{"it is passed under a limit", "", false, 500, []play.Outcome{passed}, 0, false, Range{40, 500, true}, true},
		{"it is passed under a limit near by", "", false, 110, []play.Outcome{reserved(100), nearby}, 0, false, Range{90, 110, true}, false},
		{"it is passed with expandable segments", "expandable_segments:True", false, 500, []play.Outcome{passed}, 0, false, Range{40, 500 + segment - spec.DefaultGeometry().RoundLarge, true}, true},
		{"the size of a request that failed is not known", "", false, 500, []play.Outcome{early}, 0, false, Range{20, 500, true}, true},
		{"the program goes on after a failure", "", false, 500, []play.Outcome{last}, 0, false, Range{100, 700, true}, false},
		{"it is passed as recorded", "", true, 500, []play.Outcome{passed}, 0, false, Range{100, 100, true}, false},
	} {
		w := &history.Workload{Settings: history.DefaultSettings(), Requests: []history.Request{{Kind: history.FailedMalloc}}}
		if test.runs[0] == last { // the program goes on after a failure
			w.Requests = append(w.Requests, history.Request{Kind: history.Malloc})
		}
		w.Unrecorded.OOMs = 1
		if test.runs[0] == early { // the size of the request that failed depends on settings
			w.Settings.Config.Divisions[0] = 4
		}
		c := &comparing{Comparison: Comparison{Workload: w, Readings: []history.Reading{{}, {Limits: history.Limits{Fraction: test.limit}}}}}
		p := &Prediction{Settings: mustParse(t, test.settings), Recorded: test.recorded}
		for _, o := range test.runs {
			c.count(p, &runResult{runJob: runJob{reading: 1}, outcome: o})
		}
		reserved, open := p.PeakReservedRange()
		if len(p.Runs) != len(test.runs) || p.OOMRuns() != test.ooms || p.reachesLimit() != test.reaches || open != test.open || reserved != test.reserved {
			t.Errorf("%s: %+v", test.what, p)
		}
	}
}

// TestPredictedOutcome: which outcome is told: that of the record, of a run with the recorded
// layout, or of one in which the memory at the start was allocated anew.
func TestPredictedOutcome(t *testing.T) {
	const record, run, anew = 7, 8, 9
	initial := []spec.Segment{{TotalSize: 20 * spec.MiB}}
	for _, test := range []struct {
		what                        string
		recorded, exact, asRecorded bool
		initial                     []spec.Segment
		settings                    string
		want                        uint64
	}{
		{"it is reproduced", true, true, true, nil, "", record},
		{"it is reproduced, and its limit is given", true, true, false, nil, "", record},
		{"it is reproduced, and the start is missing", true, true, true, initial, "", record},
		{"it is not reproduced", true, false, true, nil, "", record},
		{"it is not reproduced, and a limit is given", true, false, false, nil, "", run},
		{"it is not reproduced, and the start is missing", true, false, true, initial, "", run},
		{"another limit", false, true, false, nil, "", run},
		{"other settings", false, true, true, nil, "max_split_size_mb:64", run},
		{"other settings, and the start is missing", false, true, true, initial, "max_split_size_mb:64", anew},
		{"another limit, and the start is missing", false, true, false, initial, "", run},
	} {
		c := &comparing{Comparison: Comparison{Workload: &history.Workload{Settings: history.DefaultSettings(), InitialSegments: test.initial}, Readings: []history.Reading{{}}}}
		c.options.AsRecorded = test.asRecorded
		if !test.exact {
			c.Verification.Differences = make([]play.Difference, 1)
		}
		outcome := func(marker uint64) play.Outcome {
			s := play.Statistics{PeakAllocated: marker}
			return play.Outcome{Statistics: s, AtEnd: s}
		}
		c.recordedOutcome = outcome(record)
		p := &Prediction{Settings: mustParse(t, test.settings), Recorded: test.recorded}
		results := runs{{runJob: runJob{assumptions: play.MeasuredDriver}, outcome: outcome(run)}, {runJob: runJob{assumptions: play.WarmStart}, outcome: outcome(anew)}}
		c.predict(p, results)
		counted := 2
		if test.want == record {
			counted = 1
		}
		if p.PeakAllocated != test.want || p.Err != nil || len(p.Runs) != counted {
			t.Errorf("%s: outcome %d, not %d, %v, of %d runs", test.what, p.PeakAllocated, test.want, p.Err, len(p.Runs))
		}
		for i := range results {
			results[i].err = errors.New("no")
			p := &Prediction{Settings: mustParse(t, test.settings), Recorded: test.recorded}
			c.predict(p, results)
			if p.Err == nil || len(p.Runs) != 0 || !slices.Equal(p.Reasons, []InexactReason{RunFailed}) {
				t.Errorf("%s: run %d cannot be made: %v, %d runs, %v", test.what, i, p.Err, len(p.Runs), p.Reasons)
			}
			results[i].err = nil
		}
	}
}

// TestOptionalInAnyRun: a request that fails in one of the runs is told, also if it does not in the
// first.
func TestOptionalInAnyRun(t *testing.T) {
	w := &history.Workload{Requests: []history.Request{{Kind: history.FailedMalloc}, {Kind: history.Malloc}}}
	w.Unrecorded.OOMs = 1
	missed := play.Outcome{Missed: true, FirstOOM: &play.OutOfMemory{Request: 1}}
	for _, second := range []play.Outcome{{}, missed} {
		c := &comparing{Comparison: Comparison{Workload: w, Readings: []history.Reading{{}}}}
		p := &Prediction{}
		c.findReasons(p, runs{{runJob: runJob{assumptions: play.MeasuredDriver}}, {runJob: runJob{assumptions: play.PackedStart}, outcome: second}})
		if told := slices.Contains(p.Reasons, OptionalRequests); told != second.Missed {
			t.Errorf("a request fails %v: told %v: %v", second.Missed, told, p.Reasons)
		}
	}
}

// mustParse reads settings.
func mustParse(t *testing.T, text string) history.Settings {
	t.Helper()
	s, err := history.ParseSettings(text, upstream.Newest())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
