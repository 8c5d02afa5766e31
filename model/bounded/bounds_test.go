package bounded_test

import (
	"reflect"
	"strings"
	"testing"

	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/model/tlc"
	"gaugeblock/spec"
	"gaugeblock/spec/settings"
	"gaugeblock/tla"
)

// TestEveryConstant: each constant of Defaults.tla is known to a module of the model, and
// each one that the model reads has a default.
func TestEveryConstant(t *testing.T) {
	text, err := tla.Files.ReadFile("Defaults.tla")
	if err != nil {
		t.Fatal(err)
	}
	defaults, err := tlc.ReadDefaults(text, "Defaults.tla")
	if err != nil {
		t.Fatal(err)
	}
	beginnings := map[string]string{
		"core": "SPECIFICATION Spec\n", "pools": "SPECIFICATION Spec\n", "checkpoint": "SPECIFICATION Spec\n",
		"two_step": "SPECIFICATION Spec\n", "faults": "SPECIFICATION FaultSpec\n",
		"settings": "SPECIFICATION Spec\nCONSTANT MaxNonSplitRounding = 4\n",
		"garbage":  "SPECIFICATION Spec\nCONSTANT GarbageCollectionThreshold = 50\nCONSTANT Limit = 3\n",
	}
	for _, name := range defaults.Names() {
		known := false
		for module, beginning := range beginnings {
			c, err := tla.ReadConfig([]byte(beginning+"CONSTANT "+name+" = "+defaults.Value(name)), "x.cfg")
			if err == nil {
				_, err = bounded.NewCheck(module, c)
			}
			known = known || err == nil
		}
		if !known {
			t.Errorf("%s: a setting needs the name of a field of spec.Config, or a module that reads it", name)
		}
	}
}

// TestMissingConstant: without defaults every constant is needed that is no setting.
func TestMissingConstant(t *testing.T) {
	c, err := tlc.ReadConfig([]byte(strings.Replace(tiny, "Limit = 100", "", 1)), "tiny.cfg")
	if err != nil {
		t.Fatal(err)
	}
	_, err = bounded.NewCheck("core", c)
	if want := "tiny.cfg:1: the constant Limit is missing"; err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
}

// TestEverySetting: each boolean setting that is set by its constant is in force in the
// initial state, and in the header of a trace.
func TestEverySetting(t *testing.T) {
	base := strings.Replace(tiny, "ExpandableSegments = FALSE\n", "", 1)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[spec.Config]()) {
		if field.Type.Kind() != reflect.Bool {
			continue
		}
		c, err := tlc.ReadConfig([]byte(base+"CONSTANT "+field.Name+" = TRUE"), "tiny.cfg")
		if err != nil {
			t.Fatal(err)
		}
		check, err := bounded.NewCheck("core", c)
		if err != nil {
			t.Fatal(err)
		}
		initial := check.Module.Initial()[0]
		header, _, err := check.Module.Trace("x", []explore.Step[*bounded.State]{{State: initial}})
		if err != nil {
			t.Fatal(err)
		}
		newer := settings.Grammar{Keys: settings.KeyThrowOnOOM} // which 2.11 does not have
		replayed, err := newer.Parse(header.Settings, header.Geometry)
		if err != nil {
			t.Fatal(err)
		}
		for where, config := range map[string]spec.Config{"the initial state": initial.Config, "a trace": replayed} {
			if !reflect.ValueOf(config).FieldByIndex(field.Index).Bool() {
				t.Errorf("%s is not set in %s", field.Name, where)
			}
		}
	}
}
