package tell

import "testing"

// TestBreakSettings: names are not cut in the middle of a word.
func TestBreakSettings(t *testing.T) {
	const long = "max_split_size_mb:128,garbage_collection_threshold:0.8"
	for columns, want := range map[int]string{
		80: long,
		32: "max_split_size_mb:128,\ngarbage_collection_threshold:0.8",
		28: "max_split_size_mb:128,\ngarbage_collection_\nthreshold:0.8",
		16: "max_split_size_\nmb:128,\ngarbage_\ncollection_\nthreshold:0.8",
		9:  "max_\nsplit_\nsize_mb:\n128,\ngarbage_\ncollectio\nn_\nthreshold\n:\n0.8",
	} {
		if got := breakSettings(long, columns); got != want {
			t.Errorf("%d: %q", columns, got)
		}
	}
}
