package compare

import (
	"testing"

	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// TestOfDeviceMemory: settings of pinned host memory change nothing on the device.
func TestOfDeviceMemory(t *testing.T) {
	for setting, want := range map[string]bool{"pinned_use_background_threads": false, "pinned_": false, "max_split_size_mb": true, "unpinned_": true, "": true} {
		if got := ofDeviceMemory(setting); got != want {
			t.Errorf("%q: %v", setting, got)
		}
	}
}

// TestLowerBound: its peak is that of the rounded sizes of what is allocated at one time.
func TestLowerBound(t *testing.T) {
	l := &lowerBound{prediction: &Prediction{Settings: history.DefaultSettings()}, sizes: make([]uint64, 3)}
	l.allocate(0, 1000)
	l.allocate(1, 1)
	if l.now != 1536 || l.peak != 1536 {
		t.Errorf("now %d, peak %d", l.now, l.peak)
	}
	l.free(0)
	l.allocate(2, 512)
	if l.now != 1024 || l.peak != 1536 {
		t.Errorf("then now %d, peak %d", l.now, l.peak)
	}
}

// TestFractionIsFelt: a fraction is felt by settings that are compared with it, unless the record had the same limit.
func TestFractionIsFelt(t *testing.T) {
	limit := uint64(4 * spec.GiB)
	collects, err := history.ParseSettings("garbage_collection_threshold:0.8", upstream.Newest())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		workload history.Workload
		options  Options
		settings history.Settings
		want     felt
	}{
		"collected":        {options: Options{Limit: limit}, settings: collects, want: true},
		"no limit":         {settings: collects},
		"as recorded":      {options: Options{Limit: limit, AsRecorded: true}, settings: collects},
		"without settings": {options: Options{Limit: limit}, settings: history.DefaultSettings()},
	} {
		if got := (&comparing{Comparison: Comparison{Workload: &c.workload}, options: c.options}).fractionIsFelt(c.settings); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
