package settings_test

import (
	"testing"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

func TestSettingsErrorMessage(t *testing.T) {
	for text, want := range map[string]string{
		"max_split_size_mb:19":    `settings: max_split_size_mb: "19" at byte 18: must be at least 20, the large segment size`,
		"max_split_size_mb:":      `settings: max_split_size_mb: the end at byte 18: expected a value`,
		"unknown:1":               `settings: unknown: "unknown" at byte 0: unknown key`,
		"expandable_segment:True": `settings: expandable_segment: "expandable_segment" at byte 0: unknown key; did you mean expandable_segments?`,
		// two thirds
		"roundup_power2_dxxxxxxxx:4":      `settings: roundup_power2_dxxxxxxxx: "roundup_power2_dxxxxxxxx" at byte 0: unknown key; did you mean roundup_power2_divisions?`,
		"roundup_power2_xxxxxxxxx:4":      `settings: roundup_power2_xxxxxxxxx: "roundup_power2_xxxxxxxxx" at byte 0: unknown key`,
		"expandible_segments:True":        `settings: expandible_segments: "expandible_segments" at byte 0: unknown key; did you mean expandable_segments?`,
		"max_split_size:128":              `settings: max_split_size: "max_split_size" at byte 0: unknown key; did you mean max_split_size_mb?`,
		"max_split_size_mb=128":           `settings: max_split_size_mb=128: "max_split_size_mb=128" at byte 0: unknown key; write ':' instead of '='`,
		"expandable_segment=True":         `settings: expandable_segment=True: "expandable_segment=True" at byte 0: unknown key; did you mean expandable_segments?`,
		"EXPANDABLE_SEGMENTS:True":        `settings: EXPANDABLE_SEGMENTS: "EXPANDABLE_SEGMENTS" at byte 0: unknown key; did you mean expandable_segments?`,
		"Max_Split_Size=a_long_text":      `settings: Max_Split_Size=a_long_text: "Max_Split_Size=a_long_text" at byte 0: unknown key; did you mean max_split_size_mb?`,
		"roundup_power2_divisions:4[8:2]": `settings: roundup_power2_divisions: "[" at byte 26: expected ',' or the end of the string`,
		"max_split_size_mb:[40:2]":        `settings: max_split_size_mb: "[" at byte 18: expected a value`,
		"=":                               `settings: =: "=" at byte 0: unknown key`,
		"backend:native,:":                `settings: ":" at byte 15: expected a key`,
		"backend:\x00\xff":                `settings: backend: "\x00\xff" at byte 8: must be native, the only allocator here`,
		"roundup_power2_divisions:[":      `settings: roundup_power2_divisions: the end at byte 26: expected an entry of the list, or ']'`,
	} {
		_, err := settings.Parse(text, spec.DefaultGeometry())
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}
