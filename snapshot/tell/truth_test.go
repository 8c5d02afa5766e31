package tell_test

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

	"gaugeblock/internal/race"
	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/snapshot/tell"
)

// truth is what torch.cuda.memory_stats reported in a run on an H200.
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

func (t *truth) statistics() play.Statistics {
	return play.Statistics{
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

// told tells a comparison.
func told(c *compare.Comparison) tell.Answer { return tell.Answer{Comparison: c} }

func workloadOf(t testing.TB, name string) *history.Workload {
	t.Helper()
	h, err := play.FromSnapshot(snapshotOf(t, name), 0)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// notExact are runs whose statistics a snapshot does not determine, and why.
var notExact = map[string][]compare.InexactReason{
	"gpt_varlen.split64gc8.limit":    {compare.DriverAddresses},
	"two_streams.expandable.nolimit": {compare.StreamTiming},
	"gpt_oom7.split128.limit":        {compare.DriverAddresses},
	"gpt_varlen.split128.limit":      {compare.DriverAddresses},
	"gpt_cut.default.nolimit":        {compare.StartBlocks},
}

// TestPredictions predicts every recorded run from the snapshot of the same program
// under the default settings without a limit. All statistics must be the true
// ones. Where that cannot be, the reasons must be right, and the true peak in the range.
func TestPredictions(t *testing.T) {
	if race.Enabled {
		t.Skip("goroutines share nothing here")
	}
	runs := recordedRuns(t)
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		t.Run(name, func(t *testing.T) {
			program, _, _ := strings.Cut(name, ".")
			run := readTruth(t, runs[name])
			comparison, err := compare.Compare(workloadOf(t, program+".default.nolimit"), compare.Options{Settings: []string{run.Settings}, Limit: run.Limit})
			if err != nil {
				t.Fatal(err)
			}
			prediction := comparison.Predictions[0]
			if diff := cmp.Diff(notExact[name], prediction.Reasons); diff != "" {
				t.Errorf("the reasons: %s", diff)
			}
			if r, _ := prediction.PeakReservedRange(); run.PeakReserved < r.Low || run.PeakReserved > r.High {
				t.Errorf("%d bytes were reserved, outside of %v", run.PeakReserved, r)
			}
			if w := comparison.Workload; !w.Complete() { // what was recorded beside it is counted from the program's start
				prediction.DeviceAllocs, prediction.PeakAllocated = run.DeviceAllocs, run.PeakAllocated
			}
			if prediction.Exact() {
				if diff := cmp.Diff(run.statistics(), prediction.Statistics); diff != "" {
					t.Errorf("the statistics: %s", diff)
				}
			}
			if (prediction.FirstOOM != nil) != (run.OOMs > 0) {
				t.Errorf("the first failure is %v, and there were %d", prediction.FirstOOM, run.OOMs)
			}
			if f := snapshotIfThere(t, name); prediction.FirstOOM != nil && f != nil {
				real, err := play.FromSnapshot(f, 0)
				if err != nil {
					t.Fatal(err)
				}
				if real.Mallocs != prediction.FirstOOM.Number { // the request that failed is its last
					t.Errorf("request %d fails, not %d", prediction.FirstOOM.Number, real.Mallocs)
				}
			}
		})
	}
}

// TestFailureDependentPrograms predicts runs of a program whose requests depend on failures:
// a convolution library that takes smaller workspaces. The true peak is in the range.
func TestFailureDependentPrograms(t *testing.T) {
	const folder = "../../../shared/snapshots-more"
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("%s is not here: in the folder shared beside the project", folder)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		program, _, _ := strings.Cut(name, ".")
		run := readTruth(t, file)
		f, err := snapshot.Open(filepath.Join(folder, program+".default.nolimit.pickle.gz"))
		if err != nil {
			t.Fatal(err)
		}
		w, err := play.FromSnapshot(f, 0)
		if err != nil {
			t.Fatal(err)
		}
		compared, err := compare.Compare(w, compare.Options{Settings: []string{run.Settings}, Limit: run.Limit})
		if err != nil {
			t.Fatal(err)
		}
		p := &compared.Predictions[0]
		if r, _ := p.PeakReservedRange(); run.PeakReserved < r.Low || run.PeakReserved > r.High {
			t.Errorf("%s: %d bytes were reserved, predicted %v", name, run.PeakReserved, r)
		}
		if p.Exact() && p.Statistics != run.statistics() {
			t.Errorf("%s: %+v is exact, and true %+v", name, p.Statistics, run.statistics())
		}
	}
}

// TestRecordsComeOut reproduces recorded runs under all settings: every allocation must
// have its recorded address.
func TestRecordsComeOut(t *testing.T) {
	if race.Enabled {
		t.Skip("goroutines share nothing here")
	}
	for _, name := range slices.Sorted(maps.Keys(recordedRuns(t))) {
		t.Run(name, func(t *testing.T) {
			h := workloadOf(t, name)
			if a := play.Verify(h); !a.Exact() || a.SameAddress != a.Allocations || a.Allocations == 0 {
				t.Errorf("%d of %d allocations have the recorded address: %+v", a.SameAddress, a.Allocations, a.Differences)
			}
		})
	}
}

// TestFailure: the predicted first OOM is at the request at which the program really
// ended. Its snapshot has all requests before it.
func TestFailure(t *testing.T) {
	predicted, real := workloadOf(t, "gpt_oom7.default.nolimit"), workloadOf(t, "gpt_oom7.default.limit")
	limit := readTruth(t, "testdata/snapshots/gpt_oom7.default.limit.json").Limit
	comparison, err := compare.Compare(predicted, compare.Options{Settings: []string{""}, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	f := comparison.Predictions[0].FirstOOM
	want := play.OutOfMemory{
		Request: 13956, Number: real.Mallocs, Requested: 379392000,
		Reserved: 4548722688, Allocated: 4182159872, LargestFreeBlock: 17821696, OwnFree: 366562816,
		Refusal: history.FractionLimit,
	}
	if diff := cmp.Diff(&want, f); diff != "" {
		t.Error(diff)
	}
	// A program that goes on without the memory has one more OOM.
	if more := comparison.Predictions[0].AtEnd.OOMs - comparison.Predictions[0].OOMs; more != 1 {
		t.Errorf("%d more OOMs", more)
	}
	if !real.Limit.Allows(limit) || real.Limit.Most-real.Limit.Least > 80<<20 {
		t.Errorf("the limit was %d, and the history shows %+v", limit, real.Limit)
	}
}

// TestRecordedRuns: for the settings and the limit of the recorded run the statistics are
// the true ones, whichever settings those are.
func TestRecordedRuns(t *testing.T) {
	if race.Enabled {
		t.Skip("goroutines share nothing here")
	}
	runs := recordedRuns(t)
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		f := snapshotIfThere(t, name)
		if f == nil || strings.HasPrefix(name, "gpt_cut") { // its peak was before the history begins
			continue
		}
		h, err := play.FromSnapshot(f, 0)
		if err != nil {
			t.Fatal(err)
		}
		run := readTruth(t, runs[name])
		if h.Settings.Config.GarbageCollectionThreshold > 0 {
			h.Limit = history.LimitBounds{Kind: history.FractionLimit, Least: run.Limit, Most: run.Limit} // which the history does not show
		}
		comparison, err := compare.Compare(h, compare.Options{Settings: []string{run.Settings}, Limit: run.Limit})
		if err != nil {
			t.Fatal(err)
		}
		if prediction := comparison.Predictions[0]; !prediction.Exact() || prediction.Statistics != run.statistics() {
			t.Errorf("%s: reasons %v, statistics %+v, not %+v", name, prediction.Reasons, prediction.Statistics, run.statistics())
		}
	}
}
