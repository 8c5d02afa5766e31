package tell_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/snapshot/tell"
)

// TestJobsDoNotMatter: the result is the same for any number of parallel runs.
func TestJobsDoNotMatter(t *testing.T) {
	h := workloadOf(t, "gpt_varlen.default.nolimit")
	var tables []string
	for _, jobs := range []int{1, 2, 7} {
		comparison, err := compare.Compare(h, compare.Options{Settings: []string{"", "max_split_size_mb:32"}, Limit: 5 << 30, SearchLimit: true, Jobs: jobs})
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, told(comparison).Table(tell.TableOptions{})+told(comparison).Verdict()+told(comparison).Details())
	}
	if tables[0] != tables[1] || tables[0] != tables[2] {
		t.Error("the result depends on the number of parallel runs")
	}
}

// TestSmallestLimit: there is no OOM under the limit that is found, and one under 2 MiB less.
func TestSmallestLimit(t *testing.T) {
	h := workloadOf(t, "gpt_oom7.default.nolimit")
	settings := []string{"", "expandable_segments:True", "max_split_size_mb:64"}
	comparison, err := compare.Compare(h, compare.Options{Settings: settings, SearchLimit: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, prediction := range comparison.Predictions {
		limit := prediction.SmallestLimit.Low
		for _, c := range []struct {
			limit uint64
			noOOM bool
		}{{limit, true}, {limit - 2<<20, false}} {
			comparison, err := compare.Compare(h, compare.Options{Settings: []string{prediction.Settings.Text}, Limit: c.limit})
			if err != nil {
				t.Fatal(err)
			}
			if noOOM := comparison.Predictions[0].FirstOOM == nil; noOOM != c.noOOM {
				t.Errorf("%s: no OOM under %d bytes: %v", tell.NameOf(prediction.Settings.Text), c.limit, noOOM)
			}
		}
	}
}

// TestCandidates: all candidates are valid settings, and those of the recorded run are
// among them.
func TestCandidates(t *testing.T) {
	for _, s := range compare.Candidates(true) {
		if err := compare.CheckSettings(s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	if a, b := len(compare.Candidates(false)), len(compare.Candidates(true)); a >= b {
		t.Errorf("%d without a limit, %d with one", a, b)
	}
	f := *snapshotOf(t, "two_streams.default.nolimit")
	f.AllocatorSettings = &snapshot.AllocatorSettings{Config: f.AllocatorSettings.Config}
	f.AllocatorSettings.Config.MaxSplitSize = 99 << 20
	h, err := play.FromSnapshot(&f, 0)
	if err != nil {
		t.Fatal(err)
	}
	comparison, err := compare.Compare(h, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := comparison.Predictions[0].Settings.Text; s != "max_split_size_mb:99" || !comparison.Predictions[0].Recorded {
		t.Errorf("the first settings are %q, recorded: %v", s, comparison.Predictions[0].Recorded)
	}
}

// TestJSON: the keys that docs/whatif.md promises.
func TestJSON(t *testing.T) {
	h := workloadOf(t, "two_streams.default.nolimit")
	for _, search := range []bool{false, true} {
		comparison, err := compare.Compare(h, compare.Options{Settings: []string{""}, SearchLimit: search})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(told(comparison))
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
		keys := []string{"advice", "brief", "cause", "certainty", "device", "failing_request", "limit", "outside", "release", "rows", "sureness"}
		if diff := cmp.Diff(keys, slices.Sorted(maps.Keys(object))); diff != "" {
			t.Error(diff)
		}
		var list []map[string]any
		if err := json.Unmarshal(object["rows"], &list); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"differences", "exact", "limit", "num_alloc_retries", "num_device_alloc", "num_device_free", "num_ooms",
			"oom", "peak_allocated", "peak_reserved", "peak_reserved_range", "recorded", "settings",
		}
		if search {
			want = append(want, "smallest_limit")
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(list[0]))); diff != "" {
			t.Error(diff)
		}
	}
}

// TestChooseDevice: a device with an OOM comes before one with a longer history.
func TestChooseDevice(t *testing.T) {
	failed, worked := snapshotOf(t, "gpt_oom7.default.limit"), snapshotOf(t, "gpt_varlen.default.nolimit")
	for want, order := range [][]*snapshot.File{{failed, worked}, {worked, failed}} {
		f := &snapshot.File{DeviceTraces: [][]snapshot.TraceEntry{order[0].DeviceTraces[0], order[1].DeviceTraces[0]}}
		if got := history.ChooseDevice(f); int(got) != want {
			t.Errorf("device %d is chosen, not %d", got, want)
		}
	}
}

// TestExtremeDrivers: where the plausible drivers do not agree the range takes in those with
// extreme addresses, and only there.
func TestExtremeDrivers(t *testing.T) {
	var decide []step // of two free blocks of 12 MiB the lower one is taken; only one of them is a segment that can be freed then
	for i := range 40 {
		live := 3 * i
		decide = append(decide, mallocs(8, 12, 12)...)
		decide = append(decide, step{kind: freeStep, which: live + 1}, step{kind: freeStep, which: live + 1})
		decide = append(decide, mallocs(12)...)
		decide = append(decide, empties...)
		decide = append(decide, mallocs(12)...)
	}
	runs := map[bool]int{}
	for matter, steps := range map[bool][]step{true: decide, false: mallocs(8, 12, 12)} {
		p := &plan{steps: steps, onOOM: stops}
		c := answer(t, mustPlay(t, p, "", history.Limits{}).file, compare.Options{Settings: []string{"max_split_size_mb:200"}})
		if got := &c.Predictions[0]; slices.Contains(got.Reasons, compare.DriverAddresses) != matter {
			t.Errorf("addresses matter %v: %v", matter, got.Reasons)
		}
		runs[matter] = len(c.Predictions[0].Runs)
	}
	if runs[true] != runs[false]+3 {
		t.Errorf("%d runs where addresses matter, %d where they do not", runs[true], runs[false])
	}
}
