package upstream

import (
	"slices"
	"strconv"
	"strings"
)

// Which versions of PyTorch wrote a snapshot file: most versions write some key that the ones
// before them do not. Seen in the files of 2.9.1, 2.11.0, 2.12.1, 2.13.0, 2.14.1 and 2.15.0, which
// TestFilesOfReleases has; the others from PyTorch's source.

// A SnapshotKey is a key of snapshot files that not every version writes.
type SnapshotKey struct {
	// Name is the key of the file, or where it is and the key: allocator_settings.KEY, segment.KEY,
	// block.KEY, entry.KEY (of trace entries).
	Name string
	// Since is the first version that writes it, 2.Since.
	Since int
	// Beside is a key that is in no file since then without this one; "" if there is none.
	Beside string
}

var snapshotKeys = []SnapshotKey{
	{"segment.segment_pool_id", 1, ""},
	{"allocator_settings", 1, ""},
	{"entry.time_us", 2, ""},
	{"entry.compile_context", 8, ""},
	{"allocator_settings.graph_capture_record_stream_reuse", 9, "allocator_settings.roundup_power2_divisions"},
	{"entry.user_metadata", 10, ""},
	{"entry.pool_id", 12, "entry.time_us"},
	{"allocator_settings.max_cached_size", 13, "allocator_settings.roundup_power2_divisions"},
	{"host_segments", 14, "external_annotations"},
	{"host_traces", 14, ""},
	{"entry.annotate", 14, ""}, // an action
	{"entry.internal_metadata", 15, ""},
}

// blockHistory is a key that no version after 2.0 writes.
const blockHistory = "block.history"

// SnapshotKeys are the keys by which the version of a snapshot file is told, oldest first.
func SnapshotKeys() []SnapshotKey { return slices.Clone(snapshotKeys) }

// OfKeys bounds the version that wrote a file with the keys that were seen, named as in
// SnapshotKey: 2.least or later, and 2.most or earlier. A most below 0 is no bound, and so is a
// least of 0. Files are cut, and written by others: where a key that was seen and one that is missing
// contradict each other, the one that was seen counts. If no version writes the keys that were seen
// there are no bounds.
func OfKeys(seen []string) (least, most int) {
	most = -1
	below := func(bound int) {
		if most < 0 || bound < most {
			most = bound
		}
	}
	if slices.Contains(seen, blockHistory) {
		below(0)
	}
	for _, k := range snapshotKeys {
		switch {
		case slices.Contains(seen, k.Name):
			least = max(least, k.Since)
		case slices.Contains(seen, k.Beside):
			below(k.Since - 1)
		}
	}
	switch {
	case least <= most:
		return least, most
	case slices.Contains(seen, blockHistory):
		return 0, -1
	}
	return least, -1
}

// Between are the releases from 2.least to 2.most, the newest first, or the nearest one if none of
// them is known; a most below 0 is no bound. A back-port is chosen by its name only.
func Between(least, most int) (fit []Release) {
	for _, r := range slices.Backward(releases) {
		_, number, _ := strings.Cut(r.Name, ".")
		if minor, err := strconv.Atoi(number); err == nil && minor >= least && (most < 0 || minor <= most) {
			fit = append(fit, r)
		}
	}
	switch {
	case len(fit) > 0:
		return fit
	case most < 0:
		return []Release{Newest()}
	}
	return releases[:1:1]
}
