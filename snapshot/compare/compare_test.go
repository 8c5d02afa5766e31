package compare

import (
	"slices"
	"strings"
	"testing"

	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// TestFractionOfPrediction: the memory fraction of a prediction is that of its runs.
func TestFractionOfPrediction(t *testing.T) {
	w := &history.Workload{Settings: history.DefaultSettings(), Requests: []history.Request{{Kind: history.Malloc, Bytes: 100 * spec.MiB}}, Allocations: 1}
	c := &comparing{Comparison: Comparison{Workload: w, Readings: []history.Reading{{}}}}
	c.options.Jobs = 1
	for fraction, fails := range map[uint64]bool{0: false, 50 * spec.MiB: true, 100 * spec.MiB: false} {
		p := &Prediction{Settings: history.DefaultSettings(), Fraction: fraction}
		got := c.run([]runJob{{prediction: p, assumptions: play.MeasuredDriver}})[p]
		if len(got) != 1 || got[0].err != nil || (got[0].outcome.FirstOOM != nil) != fails {
			t.Errorf("under %d bytes: %+v", fraction, got)
		}
	}
}

// TestFailedRun: a run that cannot be made is told with what it assumes.
func TestFailedRun(t *testing.T) {
	w := &history.Workload{Settings: history.DefaultSettings(), Requests: []history.Request{{Kind: history.Other}}}
	w.Operations = []history.PoolOperation{{Op: trace.Op{Kind: trace.OpPoolRelease, Pool: spec.PoolID{User: 1}}}}
	c := &comparing{Comparison: Comparison{Workload: w, Readings: []history.Reading{{}}}}
	c.options.Jobs = 1
	p := &Prediction{Settings: w.Settings}
	got := c.run([]runJob{{prediction: p, assumptions: play.MeasuredDriver}})[p]
	if len(got) != 1 || got[0].err == nil || !strings.HasPrefix(got[0].err.Error(), play.MeasuredDriver.Name+": ") {
		t.Errorf("%+v", got)
	}
}

// TestNewestRelease: the newest release is tried too if it takes free blocks in another order, but not beside settings
// that were asked for.
func TestNewestRelease(t *testing.T) {
	for _, release := range upstream.Releases() {
		for _, asked := range [][]string{nil, {""}} {
			c := &comparing{Comparison: Comparison{Workload: &history.Workload{Settings: history.DefaultSettings(), Release: release}}}
			c.options.Settings = asked
			c.addNewest()
			want := asked == nil && release.Rules.Ties != upstream.Newest().Rules.Ties
			if got := len(c.Predictions) == 1 && c.Predictions[0].Release == upstream.Newest().Name && c.Predictions[0].Asked; got != want {
				t.Errorf("%s, asked %q: %+v", release.Name, asked, c.Predictions)
			}
		}
	}
}

// TestDrift: a full device may have a little less for the process in another run, but not nothing.
func TestDrift(t *testing.T) {
	for _, test := range []struct {
		limits history.Limits
		want   []history.Limits
	}{
		{history.Limits{Fraction: 100 * spec.MiB}, nil},
		{history.Limits{Device: 2 * spec.MiB}, nil},
		{history.Limits{Device: 2*spec.MiB + 1}, []history.Limits{{Device: 1}}},
		{history.Limits{Device: 8 * spec.MiB}, []history.Limits{{Device: 6 * spec.MiB}}},
		{history.Limits{Fraction: 90 * spec.MiB, Device: 100 * spec.MiB}, []history.Limits{{Fraction: 90 * spec.MiB, Device: 98 * spec.MiB}, {Fraction: 90 * spec.MiB, Device: 92 * spec.MiB}}},
	} {
		for _, empty := range []bool{false, true} {
			want := []history.Reading{{Limits: test.limits, EmptyCache: empty}}
			for _, l := range test.want {
				want = append(want, history.Reading{Limits: l, EmptyCache: empty, Drift: true})
			}
			if got := withDrift([]history.Reading{{Limits: test.limits, EmptyCache: empty}}); !slices.Equal(got, want) {
				t.Errorf("%+v: %+v, not %+v", test.limits, got, want)
			}
		}
	}
}
