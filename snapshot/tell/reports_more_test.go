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

	"gaugeblock/internal/race"
	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/snapshot/tell"
	"gaugeblock/spec"
)

// TestReportsMore: small inputs that went wrong once, with the right answers, from the
// folder shared beside the project.
func TestReportsMore(t *testing.T) {
	for name, right := range map[string]func(*compare.Comparison) bool{
		"pool_false_min2": func(c *compare.Comparison) bool {
			return c.Cause() == compare.Fragmentation && strings.HasPrefix(c.Advised().Settings.Text, "expandable_segments:True")
		},
		"exp_false_fragmentation_min": func(c *compare.Comparison) bool {
			return c.Cause() == compare.Shortage && c.Advised() == nil && c.Workload.Limit.Kind == history.DeviceLimit && c.Workload.Limit.Most == 1000*spec.MiB &&
				strings.HasPrefix(told(c).Brief().Try, "smaller batches, or 1.09 GiB for the allocator: ") // the device needs more: the context is not the allocator's
		},
		"exp_late_start_min": func(c *compare.Comparison) bool {
			return c.Verification.Exact() && c.Current().Exact() && c.Current().PeakReserved == 40*spec.MiB
		},
		"toggle_min": func(c *compare.Comparison) bool {
			return c.Verification.Exact() && c.Current().PeakReserved == 70*spec.MiB && c.Workload.Unrecorded.SettingsChanges == 1 && len(c.Workload.PrivatePools) == 0
		},
		"exp_custom_pool_min": func(c *compare.Comparison) bool {
			return c.Verification.Exact() && c.Workload.Unrecorded.SettingsChanges == 0 && c.Workload.OwnMemory[spec.PoolID{User: 1}]
		},
		"zero_free": func(c *compare.Comparison) bool {
			return c.Cause() == compare.Shortage && c.Advised() == nil && strings.Contains(told(c).Verdict(), "no memory free")
		},
		"fmt_annotate": func(c *compare.Comparison) bool {
			return c.Sureness() == compare.ExactVerdict && c.Workload.Version.Least == 14
		},
		"fmt_metadata_dict": func(c *compare.Comparison) bool {
			return c.Sureness() == compare.ExactVerdict && c.Workload.Trace[0].Context.UserMetadata == `{"layer": 3}`
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := snapshot.Open(filepath.Join("../../../shared/reports-more", name+".pickle"))
			if errors.Is(err, fs.ErrNotExist) {
				t.Skipf("the report %s is not here: it is in the folder shared beside the project", name)
			}
			if err != nil {
				t.Fatal(err)
			}
			c := answer(t, f, compare.Options{})
			if !right(c) {
				t.Errorf("cause %s, sureness %s, limit %+v, %+v, differences %+v, metadata %q: %s", c.Cause(), c.Sureness(), c.Workload.Limit, c.Workload.Unrecorded, c.Verification.Differences, c.Workload.Trace[0].Context.UserMetadata, told(c).Verdict())
			}
		})
	}
}

// TestLateRecords: records of whole runs and of the same runs that begin late, predicted
// under other settings and limits. What is exact must be true, and what is not in its range.
func TestLateRecords(t *testing.T) {
	if race.Enabled {
		t.Skip("goroutines share nothing here")
	}
	const folder = "../../../shared/snapshots-late"
	files, _ := filepath.Glob(filepath.Join(folder, "*.json"))
	runs := map[string]truth{}
	for _, file := range files {
		runs[strings.TrimSuffix(filepath.Base(file), ".json")] = readTruth(t, file)
	}
	if exact := checkLate(t, folder, runs); exact < 5 && len(runs) > 0 {
		t.Errorf("%d are exact", exact)
	}
	text, err := os.ReadFile("testdata/late/detect.json") // programs.py beside it, of which the others are larger
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]truth{}
	if err := json.Unmarshal(text, &own); err != nil {
		t.Fatal(err)
	}
	if exact := checkLate(t, "testdata/late", own); exact < 14 {
		t.Errorf("%d are exact", exact)
	}
}

// checkLate predicts runs from the records under the default settings. It returns how many are exact.
func checkLate(t *testing.T, folder string, runs map[string]truth) (exact int) {
	t.Helper()
	workloads := map[string]*history.Workload{}
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		run := runs[name]
		program, _, _ := strings.Cut(name, ".")
		if workloads[program] == nil {
			f, err := snapshot.Open(filepath.Join(folder, program+".default.nolimit.pickle.gz"))
			if err != nil {
				t.Fatal(err)
			}
			if workloads[program], err = play.FromSnapshot(f, 0); err != nil {
				t.Fatal(err)
			}
		}
		c, err := compare.Compare(workloads[program], compare.Options{Settings: []string{run.Settings}, Limit: run.Limit})
		if err != nil {
			t.Fatal(err)
		}
		p := &c.Predictions[0]
		r, open := p.PeakReservedRange()
		if run.PeakReserved < r.Low || run.PeakReserved > r.High && (!open || p.UpToLimit()) {
			t.Errorf("%s: %d bytes were reserved, predicted %+v", name, run.PeakReserved, r)
		}
		if fails, known := p.Fails(); known && fails != (run.OOMs > 0) {
			t.Errorf("%s: fails %v, and truly %d requests did", name, fails, run.OOMs)
		}
		t.Logf("%-34s true %4d MiB, predicted %4d to %4d (open %v), exact %v %q", name, run.PeakReserved>>20, r.Low>>20, r.High>>20, open, p.Exact(), p.Reasons)
		if p.Exact() {
			if exact++; p.Statistics != run.statistics() {
				t.Errorf("%s: %+v is exact, and true %+v", name, p.Statistics, run.statistics())
			}
		}
	}
	return exact
}

// TestCutRecordsAreNotSure: "nothing saves the run" is not sure where the beginning of the
// record is missing. Expandable segments do save this one.
func TestCutRecordsAreNotSure(t *testing.T) {
	f := snapshotOf(t, "gpt_oom7.default.limit")
	for _, from := range []int{2000, 9000, 15000, 20000} {
		c := answer(t, cut(f, from), compare.Options{Settings: []string{"", "expandable_segments:True"}})
		expandable := row(t, c, "expandable_segments:True")
		if fails, known := expandable.Fails(); fails && known {
			t.Errorf("from entry %d: it fails with expandable segments", from)
		}
		if v := told(c).Verdict(); strings.Contains(v, "None of the settings") || c.Sureness() == compare.ExactVerdict || c.Sureness() == compare.SureVerdict {
			t.Errorf("from entry %d: %s: %s", from, c.Sureness(), v)
		}
		var object struct {
			Rows []struct {
				OOM      *bool
				Settings string
			}
		}
		if text, err := json.Marshal(told(c)); err != nil || json.Unmarshal(text, &object) != nil {
			t.Fatal(err)
		}
		for _, r := range object.Rows {
			if r.Settings != "" && r.OOM != nil {
				t.Errorf("from entry %d: JSON says of %s that a request fails: %v", from, r.Settings, *r.OOM)
			}
		}
	}
}

// TestNoExpandableAdvice: expandable segments save this run, and are not advised where the
// call stacks show that they cannot be used.
func TestNoExpandableAdvice(t *testing.T) {
	f := snapshotOf(t, "gpt_oom7.default.limit")
	for mark, advised := range map[string]bool{"train.py": true, "/x/vllm/device_allocator/cumem.py": false} {
		marked := *f
		trace := slices.Clone(f.DeviceTraces[0])
		trace[0].Context = &snapshot.Context{Frames: snapshot.Frames{{Filename: mark, Name: "f"}}}
		marked.DeviceTraces = [][]snapshot.TraceEntry{trace}
		c := answer(t, &marked, compare.Options{Settings: []string{"", "expandable_segments:True"}})
		if text := told(c).Verdict() + told(c).Details(); (c.Advised() != nil) != advised || strings.Contains(text, "are not advised") == advised {
			t.Errorf("%s: %s", mark, text)
		}
	}
}

// TestState: what a snapshot without a history tells.
func TestState(t *testing.T) {
	block := func(at spec.Ptr, mib uint64, state spec.BlockState) spec.Block {
		return spec.Block{Address: at, Size: mib * spec.MiB, State: state}
	}
	f := &snapshot.File{Segments: []spec.Segment{
		{TotalSize: 20 * spec.MiB, Blocks: []spec.Block{block(0, 5, spec.ActiveAllocated), block(5<<20, 15, spec.Inactive)}},
		{TotalSize: 40 * spec.MiB, Stream: 7, Blocks: []spec.Block{block(0, 40, spec.Inactive)}},
	}}
	for _, s := range []string{"60.00 MiB is reserved on device 0, 5.00 MiB of it allocated and 55.00 MiB free", "largest free block has 40.00 MiB", "40.00 MiB is in segments that are free as a whole", "2 streams"} {
		if got := tell.State(f, 0); !strings.Contains(got, s) {
			t.Errorf("%q is not in %s", s, got)
		}
	}
	if got := tell.State(f, 1); got != "" {
		t.Error(got)
	}
}
