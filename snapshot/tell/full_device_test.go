package tell_test

import (
	"encoding/json"
	"os"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/snapshot/tell"
)

// fullDevice is a run on a device that was filled up, without a memory fraction, so that it
// had Room bytes left.
type fullDevice struct {
	truth
	Program string `json:"program"`
	Room    uint64 `json:"device_memory"`
}

// TestFullDevice predicts programs on an H100 that was filled up, from a run with the
// whole device (docs/whatif.md has the table). What is exact must be true, and what is not
// in its range.
func TestFullDevice(t *testing.T) {
	text, err := os.ReadFile("testdata/full_device/truth.json")
	if err != nil {
		t.Fatal(err)
	}
	var runs []fullDevice
	if err := json.Unmarshal(text, &runs); err != nil {
		t.Fatal(err)
	}
	workloads := map[string]*history.Workload{}
	exact := 0
	for _, run := range runs {
		w := workloads[run.Program]
		if w == nil {
			f, err := snapshot.Open("testdata/full_device/" + run.Program + ".base.pickle.gz")
			if err != nil {
				t.Fatal(err)
			}
			if w, err = play.FromSnapshot(f, 0); err != nil {
				t.Fatal(err)
			}
			workloads[run.Program] = w
		}
		compared, err := compare.Compare(w, compare.Options{Settings: []string{run.Settings}, DeviceMemory: run.Room})
		if err != nil {
			t.Fatal(err)
		}
		p := &compared.Predictions[0]
		if r, open := p.PeakReservedRange(); run.PeakReserved < r.Low || run.PeakReserved > r.High && !open {
			t.Errorf("%s, %s: %d bytes were reserved, predicted %v", run.Program, tell.NameOf(run.Settings), run.PeakReserved, r)
		}
		if p.Exact() && p.Statistics != run.statistics() {
			t.Errorf("%s, %s: %+v is exact, and true %+v", run.Program, tell.NameOf(run.Settings), p.Statistics, run.statistics())
		}
		if p.Exact() {
			exact++
		}
	}
	t.Logf("%d of %d runs are exact", exact, len(runs))
}
