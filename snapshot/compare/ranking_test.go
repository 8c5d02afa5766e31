package compare

import (
	"testing"

	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// TestAsGood: a failure of another request is not as good.
func TestAsGood(t *testing.T) {
	fails := func(request uint64) *Prediction {
		p := &Prediction{Outcome: play.Outcome{FirstOOM: &play.OutOfMemory{Requested: request, Number: int(request)}}}
		p.Runs = []CountedRun{{Outcome: p.Outcome}}
		return p
	}
	if !asGood(fails(5), fails(5)) || asGood(fails(5), fails(6)) {
		t.Error("which request fails does not count, or counts twice")
	}
}

// TestRecommendedAreFewSettings: of settings that reserve at most a fiftieth more than the best ones, the fewest are recommended.
func TestRecommendedAreFewSettings(t *testing.T) {
	for _, test := range []struct {
		reserved uint64 // by the fewer settings, in MiB; the best reserve 1000
		retries  int64
		want     string
	}{{1000, 0, "max_split_size_mb:64"}, {1020, 0, "max_split_size_mb:64"}, {1021, 0, "max_split_size_mb:64,roundup_power2_divisions:4"}, {1000, 1, "max_split_size_mb:64,roundup_power2_divisions:4"}} {
		c := &Comparison{Workload: &history.Workload{Settings: history.DefaultSettings()}}
		for _, p := range []struct {
			text     string
			reserved uint64
			retries  int64
		}{{"", 5000, 2}, {"max_split_size_mb:64", test.reserved, test.retries}, {"max_split_size_mb:64,roundup_power2_divisions:4", 1000, 0}} {
			s, err := history.ParseSettings(p.text, upstream.Newest())
			if err != nil {
				t.Fatal(err)
			}
			bytes := p.reserved * spec.MiB
			c.Predictions = append(c.Predictions, Prediction{
				Settings: s, Outcome: play.Outcome{Statistics: play.Statistics{PeakReserved: bytes, Retries: p.retries}}, Runs: []CountedRun{{reserved: Range{bytes, bytes, true}}},
			})
		}
		if got := c.Recommended().Settings.Text; got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// TestClearlyBetter: to change settings there must be a reason under everything that the record
// leaves open.
func TestClearlyBetter(t *testing.T) {
	const unit = 100 * spec.MiB
	fails := func(runs int, fits uint64) Prediction {
		p := Prediction{fits: fits, Runs: make([]CountedRun, 4)}
		for i := range runs {
			p.Runs[i].FirstOOM = &play.OutOfMemory{}
		}
		return p
	}
	reserves := func(low, high uint64, retries int64) Prediction {
		return Prediction{Runs: []CountedRun{{reserved: Range{low * unit, high * unit, true}}}, Outcome: play.Outcome{Statistics: play.Statistics{Retries: retries}}}
	}
	open := reserves(100, 100, 0)
	open.Runs[0].upTo = unbounded
	for _, test := range []struct {
		what   string
		p, now Prediction
		given  bool
		bounds history.LimitBounds
		want   bool
	}{
		{"no failure any more", fails(0, 0), fails(1, 0), false, history.LimitBounds{}, true},
		{"no failure any more if the limit was as large as it may have been", fails(1, 150), fails(4, 0), false, history.LimitBounds{Least: 100, Most: 200}, true},
		{"no failure any more if the limit was large enough, and there was one in a run", fails(1, 150), fails(1, 0), false, history.LimitBounds{Least: 100, Most: 200}, true},
		{"failures in all runs", fails(4, 150), fails(4, 0), false, history.LimitBounds{Least: 100, Most: 200}, false},
		{"failures under a limit that is given", fails(1, 150), fails(4, 0), true, history.LimitBounds{Least: 100, Most: 200}, false},
		{"failures under a limit that is known", fails(1, 150), fails(4, 0), false, history.LimitBounds{Least: 100, Most: 100}, false},
		{"failures for another reason than the limit", fails(1, 0), fails(4, 0), false, history.LimitBounds{Least: 100, Most: 200}, false},
		{"failures where there was none", fails(1, 150), reserves(1000, 1000, 0), false, history.LimitBounds{Least: 100, Most: 200}, false},
		{"less reserved", reserves(100, 500, 0), reserves(511, 600, 0), false, history.LimitBounds{}, true},
		{"hardly less reserved", reserves(100, 500, 0), reserves(510, 600, 0), false, history.LimitBounds{}, false},
		{"no bound of what is reserved", open, reserves(511, 600, 0), false, history.LimitBounds{}, false},
		{"less reserved, with as many retries", reserves(100, 500, 2), reserves(511, 600, 2), false, history.LimitBounds{}, true},
		{"less reserved, with more retries", reserves(100, 500, 3), reserves(511, 600, 2), false, history.LimitBounds{}, false},
	} {
		c := &Comparison{Workload: &history.Workload{Settings: history.DefaultSettings(), Limit: test.bounds}, Given: test.given}
		if got := c.clearlyBetter(&test.p, &test.now); got != test.want {
			t.Errorf("%s: %v", test.what, got)
		}
	}
}
