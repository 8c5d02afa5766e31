package whatif_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/whatif"
)

// TestJobsDoNotMatter: what is told is the same however many runs are made at a time.
func TestJobsDoNotMatter(t *testing.T) {
	h := history(t, "gpt_varlen.default.nolimit")
	var tables []string
	for _, jobs := range []int{1, 2, 7} {
		study, err := whatif.Try(h, whatif.Options{Settings: []string{"", "max_split_size_mb:32"}, Limit: 5 << 30, Search: true, Jobs: jobs})
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, study.Table()+study.Advice())
	}
	if tables[0] != tables[1] || tables[0] != tables[2] {
		t.Error("it depends on how many runs are made at a time")
	}
}

// TestSmallestLimit: the limit that is found is survived, and 2 MiB less is not.
func TestSmallestLimit(t *testing.T) {
	h := history(t, "gpt_oom7.default.nolimit")
	settings := []string{"", "expandable_segments:True", "max_split_size_mb:64"}
	study, err := whatif.Try(h, whatif.Options{Settings: settings, Search: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range study.Rows {
		limit := row.Smallest.Low
		for _, c := range []struct {
			limit    uint64
			survives bool
		}{{limit, true}, {limit - 2<<20, false}} {
			study, err := whatif.Try(h, whatif.Options{Settings: []string{row.Settings}, Limit: c.limit})
			if err != nil {
				t.Fatal(err)
			}
			if survives := study.Rows[0].First == nil; survives != c.survives {
				t.Errorf("%s: survives %d bytes: %v", whatif.NameOf(row.Settings), c.limit, survives)
			}
		}
	}
}

// TestCandidates: all of them are settings, and the recorded run's are among them.
func TestCandidates(t *testing.T) {
	for _, s := range whatif.Candidates(true) {
		if err := whatif.CheckSettings(s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	if a, b := len(whatif.Candidates(false)), len(whatif.Candidates(true)); a >= b {
		t.Errorf("%d without a limit, %d with one", a, b)
	}
	f := *snapshotOf(t, "two_streams.default.nolimit")
	f.Settings = &snapshot.Settings{Config: f.Settings.Config}
	f.Settings.Config.MaxSplitSize = 99 << 20
	h, err := whatif.Rebuild(&f, 0)
	if err != nil {
		t.Fatal(err)
	}
	study, err := whatif.Try(h, whatif.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := study.Rows[0].Settings; s != "max_split_size_mb:99" || !study.Rows[0].Recorded {
		t.Errorf("the first settings are %q, recorded: %v", s, study.Rows[0].Recorded)
	}
}

// TestResults: what programs are promised to find.
func TestResults(t *testing.T) {
	h := history(t, "two_streams.default.nolimit")
	for _, search := range []bool{false, true} {
		study, err := whatif.Try(h, whatif.Options{Settings: []string{""}, Search: search})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(study.Results())
		if err != nil {
			t.Fatal(err)
		}
		var list []map[string]any
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"exact", "limit", "num_alloc_retries", "num_device_alloc", "num_device_free", "num_ooms",
			"oom", "peak_allocated", "peak_reserved", "peak_reserved_range", "settings",
		}
		if search {
			want = append(want, "smallest_limit")
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(list[0]))); diff != "" {
			t.Error(diff)
		}
	}
}

// TestChooseDevice: one that ran out of memory comes before one that did more.
func TestChooseDevice(t *testing.T) {
	failed, worked := snapshotOf(t, "gpt_oom7.default.limit"), snapshotOf(t, "gpt_varlen.default.nolimit")
	for want, order := range [][]*snapshot.File{{failed, worked}, {worked, failed}} {
		f := &snapshot.File{Traces: [][]snapshot.Entry{order[0].Traces[0], order[1].Traces[0]}}
		if got := whatif.ChooseDevice(f); int(got) != want {
			t.Errorf("device %d is chosen, not %d", got, want)
		}
	}
}
