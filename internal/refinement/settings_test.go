package refinement

import (
	"reflect"
	"testing"

	"gaugeblock/model/tlc"
	"gaugeblock/spec"
	"gaugeblock/tla"
)

// withoutConstant are the settings that the specification does not have.
var withoutConstant = map[string]string{
	"LargeSegmentSize":              "the geometry has it",
	"ReleaseLockOnMalloc":           "TwoStepMalloc.tla has it always, and the other modules never",
	"GraphCaptureRecordStreamReuse": "captured graphs have no order",
	"PerProcessMemoryFraction":      "the constant Limit",
	"Pinned":                        "not of this allocator",
	"Last":                          "no setting",
	"ThrowOnOOM":                    "not in 2.11",
	"Reserve":                       "the same",
	"ReserveByClass":                "the same",
}

// TestEveryFieldIsSpecified: each field of spec.Config has a constant in Defaults.tla, or a
// reason not to have one.
func TestEveryFieldIsSpecified(t *testing.T) {
	defaults := defaultsOf(t)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[spec.Config]()) {
		hasConstant := defaults.Value(field.Name) != ""
		if reason, exempt := withoutConstant[field.Name]; hasConstant == exempt {
			t.Errorf("%s: has a constant in Defaults.tla: %v, reason not to have one: %q", field.Name, hasConstant, reason)
		}
	}
}

func defaultsOf(t *testing.T) *tlc.Defaults {
	defaults, err := tlc.ReadDefaults(textOf(t, tla.Files, "Defaults.tla"), "Defaults.tla")
	if err != nil {
		t.Fatal(err)
	}
	return defaults
}

// TestEverySettingIsSet: each setting that has a constant in Defaults.tla is set by a file
// of bounds, for random programs, and by a configuration that TLC and the model explore; a
// boolean one by a small configuration. Otherwise nothing runs with the setting, and what
// it does could be left out.
func TestEverySettingIsSet(t *testing.T) {
	inBounds := map[string]bool{}
	for _, b := range largerBounds(t) {
		addNames(t, inBounds, b.text, b.name)
	}
	explored, exploredSmall := map[string]bool{}, map[string]bool{}
	for _, c := range configurations(t) {
		if c.Mirror == "" || c.Expect != "ok" {
			continue
		}
		addNames(t, explored, textOf(t, tla.Files, c.Cfg), c.Cfg)
		if c.Size == "small" {
			addNames(t, exploredSmall, textOf(t, tla.Files, c.Cfg), c.Cfg)
		}
	}
	settings := 0
	for _, name := range defaultsOf(t).Names() {
		field, found := reflect.TypeFor[spec.Config]().FieldByName(name)
		if !found {
			continue
		}
		settings++
		if !inBounds[name] {
			t.Errorf("%s is set by no file of testdata/bounds", name)
		}
		if !explored[name] {
			t.Errorf("%s is set by no configuration of tla/configurations.json that has a mirror", name)
		}
		if field.Type.Kind() == reflect.Bool && !exploredSmall[name] {
			t.Errorf("%s is set by no small configuration of tla/configurations.json that has a mirror", name)
		}
	}
	if settings < 3 {
		t.Errorf("only %d settings found", settings)
	}
}

// addNames adds the constants that a configuration gives another value than the default.
func addNames(t *testing.T, to map[string]bool, text []byte, file string) {
	c, err := tla.ReadConfig(text, file)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range c.Names() {
		to[name] = true
	}
}
