package compare

import (
	"cmp"
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/history"
	"gaugeblock/upstream"
)

// Candidates are the settings to compare if none are given, the default first. Settings
// without effect unless there is a limit are included only if limited.
func Candidates(limited bool) []string {
	settings := []string{
		"",
		"expandable_segments:True",
		"expandable_segments:True,large_segment_size_mb:12",
		"max_split_size_mb:32",
		"max_split_size_mb:64",
		"max_split_size_mb:128",
		"max_split_size_mb:256",
		"max_split_size_mb:512",
		"roundup_power2_divisions:4",
		"roundup_power2_divisions:8",
		"roundup_power2_divisions:16",
		"expandable_segments:True,roundup_power2_divisions:8",
		"large_segment_size_mb:12",
		"large_segment_size_mb:64",
	}
	if limited {
		settings = append(settings,
			"garbage_collection_threshold:0.6",
			"garbage_collection_threshold:0.8",
			"max_split_size_mb:128,garbage_collection_threshold:0.8",
			"expandable_segments:True,garbage_collection_threshold:0.8",
		)
	}
	return settings
}

// candidatesFor are those of Candidates that the version of PyTorch knows, preceded by the
// settings of the recorded run.
func candidatesFor(w *history.Workload, limited bool) (list []history.Settings) {
	recorded := w.Settings.Comparable() != nil // cannot be compared
	for _, text := range Candidates(limited) {
		if !knownTo(w.Version, text) {
			continue
		}
		s, err := history.ParseSettings(text, upstream.Newest())
		if err != nil {
			panic(err) // Candidates has settings that can be read
		}
		recorded = recorded || s.Same(w.Settings)
		list = append(list, s)
	}
	if !recorded {
		list = append([]history.Settings{w.Settings}, list...)
	}
	return list
}

// knownTo reports whether a version of PyTorch knows all keys of settings. A file that
// does not tell its version may be of a version that does.
func knownTo(v snapshot.Version, text string) bool { return v.Most >= upstream.NeededBy(text) }

// NeedsVersion is the first minor version of PyTorch 2 that knows all keys of settings,
// if the file does not tell that its own does; else 0.
func NeedsVersion(v snapshot.Version, text string) int {
	if needed := upstream.NeededBy(text); v.Least < needed {
		return needed
	}
	return 0
}

// CheckSettings returns why settings cannot be compared, nil if they can, by the rules of some
// release.
func CheckSettings(text string) error {
	var first error
	for _, r := range slices.Backward(upstream.Releases()) {
		s, err := history.ParseSettings(text, r)
		if err = cmp.Or(err, s.Comparable()); err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}
