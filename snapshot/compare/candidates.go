package compare

import (
	"cmp"
	"strings"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/history"
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
		s, err := history.ParseSettings(text)
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

// since has the first minor version of PyTorch 2 that knows a key. The others are older.
var since = map[string]int{
	"expandable_segments":   1,
	"large_segment_size_mb": 11,
}

// knownTo reports whether a version of PyTorch knows all keys of settings. A file that
// does not tell its version may be of a version that does.
func knownTo(v snapshot.Version, text string) bool {
	for key, minor := range since {
		if strings.Contains(text, key) && v.Most < minor {
			return false
		}
	}
	return true
}

// NeedsVersion is the first minor version of PyTorch 2 that knows all keys of settings,
// if the file does not tell that its own does; else 0.
func NeedsVersion(v snapshot.Version, text string) int {
	needed := 0
	for key, minor := range since {
		if strings.Contains(text, key) && v.Least < minor {
			needed = max(needed, minor)
		}
	}
	return needed
}

// CheckSettings returns why settings cannot be compared, nil if they can.
func CheckSettings(text string) error {
	s, err := history.ParseSettings(text)
	return cmp.Or(err, s.Comparable())
}
