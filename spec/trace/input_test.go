package trace

import (
	"testing"
)

// TestIsSnapshot: how files begin that are snapshots, and how others do.
func TestIsSnapshot(t *testing.T) {
	for text, want := range map[string]bool{
		"\x80\x02}": true, "\x80\x0f": true, "\x80\x10": false, "\x80": false, "": false, " ": false, "{": false,
		` {"segments": []}`: true, `[{"segment_type": "large"}]`: true, `{"format": "allocator-trace", "segments": 1}`: false, `{"a": 1}`: false, `"segments"`: false,
	} {
		if got := IsSnapshot([]byte(text)); got != want {
			t.Errorf("%q is a snapshot: %v", text, got)
		}
	}
}
