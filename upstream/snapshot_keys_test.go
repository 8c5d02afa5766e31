package upstream

import (
	"strings"
	"testing"
)

// TestFilesOfReleases: the keys of files that releases wrote, as far as they tell anything.
func TestFilesOfReleases(t *testing.T) {
	const settings = "allocator_settings external_annotations allocator_settings.roundup_power2_divisions " +
		"allocator_settings.graph_capture_record_stream_reuse segment.segment_pool_id "
	const entry = "entry.time_us entry.compile_context "
	for _, test := range []struct {
		seen        string
		least, most int
		releases    string
	}{
		{settings + entry, 9, 11, "2.11 2.10 2.9"},                      // 2.9.1
		{settings + entry + "entry.user_metadata", 10, 11, "2.11 2.10"}, // 2.11.0
		{settings + entry + "entry.user_metadata entry.pool_id", 12, 12, "2.12"},
		{settings + entry + "entry.user_metadata entry.pool_id allocator_settings.max_cached_size", 13, 13, "2.13"},
		{settings + entry + "entry.user_metadata entry.pool_id allocator_settings.max_cached_size host_segments", 14, -1, "2.15 2.14"}, // 2.14.1, 2.15.0
		{settings + entry + "entry.user_metadata entry.pool_id allocator_settings.max_cached_size host_segments entry.internal_metadata", 15, -1, "2.15"},
		{settings + "allocator_settings.max_cached_size", 13, 13, "2.13"}, // without entries
		{settings + "allocator_settings.max_cached_size host_segments", 14, -1, "2.15 2.14"},
		// Older files.
		{"block.history", 0, 0, "2.6"},
		{"entry.time_us", 2, 11, "2.11 2.10 2.9 2.8 2.7 2.6"},
		{"allocator_settings allocator_settings.roundup_power2_divisions", 1, 8, "2.8 2.7 2.6"},
		// What no version writes, and what tells nothing.
		{"block.history entry.time_us", 0, -1, "2.15 2.14 2.13 2.12 2.11 2.10 2.9 2.8 2.7 2.6"},
		{"entry.time_us entry.internal_metadata", 15, -1, "2.15"},
		{"no_such_key", 0, -1, "2.15 2.14 2.13 2.12 2.11 2.10 2.9 2.8 2.7 2.6"},
	} {
		least, most := OfKeys(strings.Fields(test.seen))
		var names []string
		for _, r := range Between(least, most) {
			names = append(names, r.Name)
		}
		if got := strings.Join(names, " "); least != test.least || most != test.most || got != test.releases {
			t.Errorf("%s: 2.%d to 2.%d, releases %s; want 2.%d to 2.%d, %s", test.seen, least, most, got, test.least, test.most, test.releases)
		}
	}
	if got := Between(0, 5); len(got) != 1 || got[0].Name != "2.6" {
		t.Errorf("an older file than all that are known: %v", got)
	}
	if got := Between(16, -1); len(got) != 1 || got[0].Name != "2.15" {
		t.Errorf("a newer file than all that are known: %v", got)
	}
}
