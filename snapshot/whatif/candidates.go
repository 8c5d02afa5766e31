package whatif

import (
	"errors"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
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

// CheckSettings returns why settings cannot be compared, nil if they can.
func CheckSettings(text string) error {
	c, err := settings.Parse(text, spec.DefaultGeometry())
	if err == nil && c.PerProcessMemoryFraction != 1 {
		err = errors.New("per_process_memory_fraction is a limit, and the device's memory is not in a snapshot: give the limit in bytes")
	}
	return err
}
