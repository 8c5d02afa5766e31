package snapshot_test

import (
	"fmt"
	"strings"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// TestAllocatorSettings: what the file says of a setting counts, not what the text of the settings
// says.
func TestAllocatorSettings(t *testing.T) {
	for _, test := range []struct {
		conf, fields string
		want         func(c *spec.Config)
	}{
		{"", `,"max_split_size":-1`, func(*spec.Config) {}},
		{"", `,"max_split_size":0`, func(c *spec.Config) { c.MaxSplitSize = 0 }},
		{"", `,"max_split_size":26214400`, func(c *spec.Config) { c.MaxSplitSize = 26214400 }},
		{"max_split_size_mb:30", `,"max_split_size":26214400`, func(c *spec.Config) { c.MaxSplitSize = 26214400 }},
		{"max_split_size_mb:30,large_segment_size_mb:24", "", func(c *spec.Config) {
			c.MaxSplitSize, c.LargeSegmentSize, c.MaxNonSplitRounding = 30<<20, 24<<20, 24<<20
		}},
		{"", `,"garbage_collection_threshold":0.5`, func(c *spec.Config) { c.GarbageCollectionThreshold = 0.5 }},
		{"", `,"expandable_segments":true`, func(c *spec.Config) { c.ExpandableSegments = true }},
		{"expandable_segments:True", `,"expandable_segments":false`, func(*spec.Config) {}},
		{"", `,"release_lock_on_cudamalloc":true`, func(c *spec.Config) { c.ReleaseLockOnMalloc = true }},
		{"", `,"graph_capture_record_stream_reuse":true`, func(c *spec.Config) { c.GraphCaptureRecordStreamReuse = true }},
		{"", `,"roundup_power2_divisions":{"1":2,"4":8}`, func(c *spec.Config) { c.Divisions[0], c.Divisions[2] = 2, 8 }},
	} {
		file := fmt.Sprintf(`{"segments":[],"allocator_settings":{"PYTORCH_ALLOC_CONF":%q%s}}`, test.conf, test.fields)
		f, err := snapshot.Read(strings.NewReader(file), "file")
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		want := spec.DefaultConfig(spec.DefaultGeometry())
		want.Last = test.conf
		test.want(&want)
		if f.AllocatorSettings.Config != want {
			t.Errorf("%s: got %+v, want %+v", file, f.AllocatorSettings.Config, want)
		}
	}
}
