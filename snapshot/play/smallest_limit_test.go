package play

import (
	"testing"

	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// TestStepsOfSmallestLimit: the limit is found to the step, wherever the search begins. Without a
// limit a block that was freed stays cached; under one it is freed.
func TestStepsOfSmallestLimit(t *testing.T) {
	const last = 64
	w := &history.Workload{Settings: history.DefaultSettings(), Allocations: 2}
	for cached := uint64(10); cached < last; cached += 2 {
		w.Requests = []history.Request{{Kind: history.Malloc, ID: 0, Bytes: cached * spec.MiB}, {Kind: history.Free, ID: 0}, {Kind: history.Malloc, ID: 1, Bytes: last * spec.MiB}}
		for _, r := range []history.Reading{{}, {Limits: history.Limits{Device: 1}}, {Limits: history.Limits{Fraction: 1, Device: 1}}} {
			if got, err := SmallestLimit(w, history.DefaultSettings(), MeasuredDriver, r, nil); got != last*spec.MiB || err != nil {
				t.Errorf("with %d MiB cached: %d, %v", cached, got, err)
			}
		}
	}
	// A memory fraction is compared with the request's segment, and the device has to have the
	// whole pages that are mapped.
	w.Requests = []history.Request{{Kind: history.Malloc, Bytes: 30 * spec.MiB}}
	for _, test := range []struct {
		limits history.Limits
		want   uint64
	}{{history.Limits{}, 30}, {history.Limits{Fraction: 1}, 30}, {history.Limits{Device: 1}, 40}, {history.Limits{Fraction: 1, Device: 1}, 30}} {
		if got, err := SmallestLimit(w, mustParse(t, "expandable_segments:True"), MeasuredDriver, history.Reading{Limits: test.limits}, nil); got != test.want*spec.MiB || err != nil {
			t.Errorf("%+v with expandable segments: %d, %v", test.limits, got, err)
		}
	}
	w.Requests = nil
	if got, err := SmallestLimit(w, history.DefaultSettings(), MeasuredDriver, history.Reading{}, nil); got != limitStep || err != nil {
		t.Errorf("without requests: %d, %v", got, err)
	}
	w.Unrecorded.PoolFailures = 1
	if got, err := SmallestLimit(w, history.DefaultSettings(), MeasuredDriver, history.Reading{}, nil); got != 0 || err != nil {
		t.Errorf("with a failure of a private pool: %d, %v", got, err)
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
