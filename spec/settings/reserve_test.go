package settings_test

import (
	"strings"
	"testing"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

// TestReserve: expandable_segments_reserve and its classes, as they are read, written and refused.
func TestReserve(t *testing.T) {
	g, grammar := spec.DefaultGeometry(), settings.Grammar{Keys: settings.KeyReserve}
	for text, want := range map[string]string{
		"expandable_segments_reserve:0.5":                              "expandable_segments_reserve:0.5",
		"expandable_segments_reserve:2g":                               "expandable_segments_reserve:2G",
		"expandable_segments_reserve:0.5G":                             "expandable_segments_reserve:0.5G",
		"expandable_segments_reserve_by_class:[a:0.25,b:3G]":           "expandable_segments_reserve_by_class:[a:0.25,b:3G]",
		"expandable_segments_reserve_by_class:[a:0.25,a:3G]":           "expandable_segments_reserve_by_class:[a:3G]",
		"expandable_segments_reserve:":                                 "settings: expandable_segments_reserve: the end at byte 28: expected a value",
		"expandable_segments_reserve:0":                                `settings: expandable_segments_reserve: "0" at byte 28: must be a fraction above 0, or a number of GiB with a G behind it`,
		"expandable_segments_reserve:-1G":                              `settings: expandable_segments_reserve: "-1G" at byte 28: must be a fraction above 0, or a number of GiB with a G behind it`,
		"expandable_segments_reserve_by_class:0.5":                     `settings: expandable_segments_reserve_by_class: "0.5" at byte 37: must be a list, [CLASS:RESERVE,...]`,
		"expandable_segments_reserve_by_class:[a:0.5,b:x]":             `settings: expandable_segments_reserve_by_class: "x" at byte 46: must be a fraction above 0, or a number of GiB with a G behind it`,
		"expandable_segments_reserve:9e9G":                             "expandable_segments_reserve:8.589934592e+09G",
		"expandable_segments_reserve:0.0000000001G":                    "expandable_segments_reserve:9.313225746154785e-10G", // one byte
		"expandable_segments_reserve:" + strings.Repeat("9", 20) + "G": "expandable_segments_reserve:8.589934592e+09G",       // all addresses
	} {
		c, err := grammar.Parse(text, g)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = grammar.Format(c, g)
			if again, err := grammar.Parse(got, g); err != nil || again.Reserve != c.Reserve || again.ReserveByClass != c.ReserveByClass {
				t.Errorf("%q is read as %+v, %v", got, again, err)
			}
		}
		if got != want {
			t.Errorf("%q: %s\nis not %s", text, got, want)
		}
	}
}

// A long key or value is shown in part.
func TestLongTextInMessage(t *testing.T) {
	for n, want := range map[int]string{200: strings.Repeat("k", 200), 201: strings.Repeat("k", 200) + "..."} {
		_, err := settings.Parse(strings.Repeat("k", n)+":1", spec.DefaultGeometry())
		if err == nil || !strings.HasPrefix(err.Error(), "settings: "+want+": \"") {
			t.Errorf("%d: %v", n, err)
		}
	}
}
