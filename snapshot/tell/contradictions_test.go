package tell_test

import (
	"slices"
	"strings"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/spec"
)

// TestAsksForMoreThanThereIs: a request for more than a full device has is a shortage, also where
// nothing was freed for it, as while a CUDA graph is captured.
func TestAsksForMoreThanThereIs(t *testing.T) {
	f := *snapshotOf(t, "gpt_varlen.default.nolimit")
	for _, free := range []spec.Ptr{0, 5 << 20} {
		failed := snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: spec.ActionOOM, Addr: free, Size: 100 * spec.GiB}, Context: &snapshot.Context{}}
		f.DeviceTraces = [][]snapshot.TraceEntry{append(slices.Clone(snapshotOf(t, "gpt_varlen.default.nolimit").DeviceTraces[0]), failed)}
		c := answer(t, &f, compare.Options{Settings: []string{""}})
		if v := told(c).Verdict(); c.Cause() != compare.Shortage || strings.Contains(v, "a pool") {
			t.Errorf("%d free: %s: %s", free, c.Cause(), v)
		}
	}
}

// TestNoSegments: a file whose segments were left out has no figure of reserved memory.
func TestNoSegments(t *testing.T) {
	f := cut(snapshotOf(t, "gpt_varlen.default.nolimit"), 20_000)
	f.Segments = nil
	for i := range f.DeviceTraces {
		f.DeviceTraces[i] = slices.DeleteFunc(slices.Clone(f.DeviceTraces[i]), func(e snapshot.TraceEntry) bool { return e.Action == spec.ActionSegmentAlloc })
	}
	c := answer(t, f, compare.Options{Settings: []string{""}})
	if p := row(t, c, ""); p.Told() || c.Sureness() == compare.ExactVerdict {
		t.Errorf("%s, %+v: %s", c.Sureness(), p.Statistics, told(c).Verdict())
	}
}

// TestSettingsOfTheRelease: settings are read as the release of the record reads them.
func TestSettingsOfTheRelease(t *testing.T) {
	w := workloadOf(t, "gpt_oom7.default.limit") // of 2.11
	for text, says := range map[string]string{
		"expandable_segments:True":     "",
		"pinned_free_catch_all:True":   "PyTorch 2.12 knows all keys",
		"expandable_segments_reserve:": "expandable_segments_reserve is not followed here",
		"throw_on_cudamalloc_oom:True": "throw_on_cudamalloc_oom is not followed here",
		"frobnicate:1":                 "unknown key",
	} {
		_, err := compare.Compare(w, compare.Options{Settings: []string{text}})
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
