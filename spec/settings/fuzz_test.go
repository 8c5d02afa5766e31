package settings_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

// FuzzSettings applies two strings one after the other.
func FuzzSettings(f *testing.F) {
	for _, row := range readSettingsTSV(f) {
		f.Add("large_segment_size_mb:32,expandable_segments:True", row.settings)
	}
	f.Add("roundup_power2_divisions:[>:8,4:2,1:0,65536:4,]", "roundup_power2_divisions:2,roundup_power2_divisions:[8:4]")
	f.Add("pinned_reserve_segment_size_mb:-1,pinned_use_hip_host_register:True", "per_process_memory_fraction:-0")
	f.Add("large_segment_size_mb:12", "max_non_split_rounding_mb:13,max_split_size_mb:14,backend:native")
	f.Fuzz(func(t *testing.T, first, second string) {
		for _, g := range []spec.Geometry{spec.DefaultGeometry(), tinyGeometry()} {
			c := checkApply(t, spec.DefaultConfig(g), first, g)
			checkApply(t, c, second, g)
		}
	})
}

// checkApply checks what holds for every string and gives the settings in force
// after it.
func checkApply(t *testing.T, before spec.Config, text string, g spec.Geometry) spec.Config {
	after, err := settings.Apply(before, text, g)
	if err != nil {
		checkRefusal(t, err, text)
		if before != after {
			t.Fatalf("%q is refused and changes the settings:\n%s", text, cmp.Diff(before, after))
		}
		return after
	}
	if after.Last != text {
		t.Fatalf("%q is applied, the last string is %q", text, after.Last)
	}
	if after.LargeSegmentSize < g.MinLargeAlloc || after.LargeSegmentSize%g.MinBlock != 0 ||
		after.MaxSplitSize < after.LargeSegmentSize || after.MaxNonSplitRounding < after.LargeSegmentSize {
		t.Fatalf("%q: sizes do not fit together: %+v", text, after)
	}
	again, err := settings.Apply(after, text, g)
	if err != nil || again != after {
		t.Fatalf("%q applied twice is not what it is once (%v):\n%s", text, err, cmp.Diff(after, again))
	}
	canonical := settings.Format(after, g)
	parsed, err := settings.Parse(canonical, g)
	parsed.Last = text
	if err != nil || parsed != after {
		t.Fatalf("%q is written as %q, which is not the same (%v):\n%s", text, canonical, err, cmp.Diff(after, parsed))
	}
	return after
}

// checkRefusal checks that an error points at the text that it names.
func checkRefusal(t *testing.T, err error, text string) {
	var e *settings.Error
	if !errors.As(err, &e) {
		t.Fatalf("%q is refused with %T, want a SettingsError", text, err)
	}
	if e.Offset < 0 || e.Offset > len(text) {
		t.Fatalf("%q: offset %d is outside", text, e.Offset)
	}
	squeezed := strings.NewReplacer(" ", "", "\t", "", "\n", "", "\v", "", "\f", "", "\r", "").Replace(text[e.Offset:])
	if !strings.HasPrefix(squeezed, e.Text) || (e.Text == "") != (e.Offset == len(text)) {
		t.Fatalf("%q: %q is not at byte %d", text, e.Text, e.Offset)
	}
}
