package upstream_test

import (
	"testing"

	"gaugeblock/upstream"
)

// TestNeededBy: the release that a settings string needs.
func TestNeededBy(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "max_split_size_mb:64": 0, "expandable_segments:True": 1, "expandable_segments:True,large_segment_size_mb:12": 11,
		"per_process_memory_fraction:0.5": 10, "throw_on_cudamalloc_oom:True": 12, "expandable_segments_reserve:0.5": 15,
		"roundup_power2_divisions:[256:1,>:4]": 0, "graph_capture_record_stream_reuse : True": 9, "x:1": 0,
	} {
		if got := upstream.NeededBy(text); got != want {
			t.Errorf("%q needs 2.%d, got 2.%d", text, want, got)
		}
	}
}
