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

// TestSettingsOfReleases: a settings string means what it means in the release that wrote the file,
// and a setting that this release does not have is said.
func TestSettingsOfReleases(t *testing.T) {
	const (
		eight    = `"roundup_power2_divisions":{}`
		thirteen = `"roundup_power2_divisions":{},"graph_capture_record_stream_reuse":false,"max_cached_size":0`
	)
	for _, test := range []struct {
		conf, fields, unknown string
		want                  func(c *spec.Config)
	}{
		{"large_segment_size_mb:24,expandable_segments:True", eight, "large_segment_size_mb:24", func(c *spec.Config) { c.ExpandableSegments = true }},
		{"max_split_size_mb:20", eight, "max_split_size_mb:20", func(*spec.Config) {}}, // it must be above 20
		{"max_split_size_mb:20", thirteen, "", func(c *spec.Config) { c.MaxSplitSize = 20 << 20 }},
		{"pinned_max_cached_size_mb:5", thirteen, "", func(c *spec.Config) { c.Pinned.MaxCachedSize = 5 << 20 }},
		{"pinned_max_cached_size_mb:5", eight, "pinned_max_cached_size_mb:5", func(*spec.Config) {}},
		{"throw_on_cudamalloc_oom:True,expandable_segments:True", thirteen, "throw_on_cudamalloc_oom:True", func(c *spec.Config) { c.ExpandableSegments = true }},
		{"key_of_2_16:7,expandable_segments:True", thirteen, "key_of_2_16:7", func(c *spec.Config) { c.ExpandableSegments = true }},
	} {
		file := fmt.Sprintf(`{"segments":[],"allocator_settings":{"PYTORCH_ALLOC_CONF":%q,%s}}`, test.conf, test.fields)
		f, err := snapshot.Read(strings.NewReader(file), "file")
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		want, got := spec.DefaultConfig(spec.DefaultGeometry()), f.AllocatorSettings.Config
		test.want(&want)
		want.Last, got.Last = "", ""
		if unknown := strings.Join(f.AllocatorSettings.Unknown, ","); got != want || unknown != test.unknown {
			t.Errorf("%s: got %+v, unknown %s; want %+v, %s", file, got, unknown, want, test.unknown)
		}
	}
}
