package whatif_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/whatif"
)

// truth is what really happened in a run on an H200, as its program was told by
// torch.cuda.memory_stats.
type truth struct {
	Settings      string `json:"settings"`
	Limit         uint64 `json:"limit"`
	PeakReserved  uint64 `json:"peak_reserved"`
	PeakAllocated uint64 `json:"peak_allocated"`
	Retries       int64  `json:"num_alloc_retries"`
	DeviceAllocs  int64  `json:"num_device_alloc"`
	DeviceFrees   int64  `json:"num_device_free"`
	OOMs          int64  `json:"num_ooms"`
	Steps         int    `json:"steps_done"`
}

func (t *truth) figures() whatif.Statistics {
	return whatif.Statistics{
		PeakReserved: t.PeakReserved, PeakAllocated: t.PeakAllocated, Retries: t.Retries,
		DeviceAllocs: t.DeviceAllocs, DeviceFrees: t.DeviceFrees, OOMs: t.OOMs,
	}
}

// folders are where there are recorded runs: the project's own, and those beside it.
var folders = []string{"testdata/snapshots", "../../../shared/snapshots"}

// recordedRuns are the files with the truth, by name.
func recordedRuns(t *testing.T) map[string]string {
	t.Helper()
	runs := map[string]string{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			runs[strings.TrimSuffix(filepath.Base(file), ".json")] = file
		}
	}
	return runs
}

func readTruth(t *testing.T, file string) truth {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var run truth
	if err := json.Unmarshal(text, &run); err != nil {
		t.Fatal(err)
	}
	return run
}

// snapshotOf reads the snapshot of a run. The larger ones are only beside the project;
// the test is skipped where they are not.
func snapshotOf(t testing.TB, name string) *snapshot.File {
	t.Helper()
	f := snapshotIfThere(t, name)
	if f == nil {
		t.Skipf("the snapshot %s is not here: it is in the folder shared beside the project", name)
	}
	return f
}

// snapshotIfThere reads the snapshot of a run, nil if it is nowhere.
func snapshotIfThere(t testing.TB, name string) *snapshot.File {
	t.Helper()
	for _, folder := range folders {
		f, err := snapshot.Open(filepath.Join(folder, name+".pickle.gz"))
		if err == nil {
			return f
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return nil
}

func history(t testing.TB, name string) *whatif.History {
	t.Helper()
	h, err := whatif.Rebuild(snapshotOf(t, name), 0)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// notExact are runs whose figures a snapshot cannot determine, and why.
var notExact = map[string][]whatif.Doubt{
	"gpt_varlen.split64gc8.limit":    {whatif.ByAddress},
	"two_streams.expandable.nolimit": {whatif.ByStreams},
	"gpt_cut.default.nolimit":        {whatif.ByStart},
}

// TestPredictions predicts every recorded run from the snapshot of the same program
// under the default settings without a limit. All figures must be what they really
// were; where that cannot be, the doubts must be the right ones and the range must
// have the truth in it.
func TestPredictions(t *testing.T) {
	runs := recordedRuns(t)
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		t.Run(name, func(t *testing.T) {
			program, _, _ := strings.Cut(name, ".")
			run := readTruth(t, runs[name])
			study, err := whatif.Try(history(t, program+".default.nolimit"), whatif.Options{Settings: []string{run.Settings}, Limit: run.Limit})
			if err != nil {
				t.Fatal(err)
			}
			row := study.Rows[0]
			if diff := cmp.Diff(notExact[name], row.Doubts); diff != "" {
				t.Errorf("the doubts: %s", diff)
			}
			if run.PeakReserved < row.Range.Low || run.PeakReserved > row.Range.High {
				t.Errorf("%d bytes were held, outside of %v", run.PeakReserved, row.Range)
			}
			if row.Exact() {
				if diff := cmp.Diff(run.figures(), row.Statistics); diff != "" {
					t.Errorf("the figures: %s", diff)
				}
			}
			if (row.First != nil) != (run.OOMs > 0) {
				t.Errorf("the first failure is %v, and there were %d", row.First, run.OOMs)
			}
			if f := snapshotIfThere(t, name); row.First != nil && f != nil {
				real, err := whatif.Rebuild(f, 0)
				if err != nil {
					t.Fatal(err)
				}
				if real.Mallocs != row.First.Number { // the request that failed is its last
					t.Errorf("request %d fails, not %d", row.First.Number, real.Mallocs)
				}
			}
		})
	}
}

// TestRecordsComeOut replays runs under all settings as they were recorded, and
// compares the place of every allocation with the recorded one.
func TestRecordsComeOut(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(recordedRuns(t))) {
		t.Run(name, func(t *testing.T) {
			h := history(t, name)
			// When old segments are collected depends on the limit, which a snapshot
			// does not have, unless a request failed.
			if h.Config.GarbageCollectionThreshold > 0 && !h.Limit.Refused() {
				t.Skip("the limit is not known, and segments are collected by it")
			}
			if a := whatif.Verify(h); !a.Full() || a.Placed == 0 {
				t.Errorf("%d of %d allocations come out in the recorded place", a.Same, a.Placed)
			}
		})
	}
}

// TestFailure: which request failed first is the one at which the program really
// ended: its snapshot has all requests before it.
func TestFailure(t *testing.T) {
	predicted, real := history(t, "gpt_oom7.default.nolimit"), history(t, "gpt_oom7.default.limit")
	limit := readTruth(t, "testdata/snapshots/gpt_oom7.default.limit.json").Limit
	study, err := whatif.Try(predicted, whatif.Options{Settings: []string{""}, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	f := study.Rows[0].First
	want := whatif.Failure{
		Request: 13956, Number: real.Mallocs, Bytes: 379392000,
		Reserved: 4548722688, Allocated: 4182159872, LargestFree: 17821696,
	}
	if diff := cmp.Diff(&want, f); diff != "" {
		t.Error(diff)
	}
	// A program that goes on without the memory fails at one more request.
	if more := study.Rows[0].Beyond.OOMs - study.Rows[0].OOMs; more != 1 {
		t.Errorf("%d more requests fail", more)
	}
	if !real.Limit.Allows(limit) || real.Limit.Most-real.Limit.Least > 80<<20 {
		t.Errorf("the limit was %d, and the record shows %+v", limit, real.Limit)
	}
}

// TestRecordedRuns: of the settings and the limit of the recorded run itself is told
// what really happened, under whatever settings that was.
func TestRecordedRuns(t *testing.T) {
	runs := recordedRuns(t)
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		f := snapshotIfThere(t, name)
		if f == nil || strings.HasPrefix(name, "gpt_cut") { // its peak was before the record begins
			continue
		}
		h, err := whatif.Rebuild(f, 0)
		if err != nil {
			t.Fatal(err)
		}
		run := readTruth(t, runs[name])
		if h.Config.GarbageCollectionThreshold > 0 {
			h.Limit = whatif.LimitBounds{Least: run.Limit, Most: run.Limit} // which the record does not show
		}
		study, err := whatif.Try(h, whatif.Options{Settings: []string{run.Settings}, Limit: run.Limit})
		if err != nil {
			t.Fatal(err)
		}
		if row := study.Rows[0]; !row.Exact() || row.Statistics != run.figures() {
			t.Errorf("%s: doubts %v, figures %+v, not %+v", name, row.Doubts, row.Statistics, run.figures())
		}
	}
}
