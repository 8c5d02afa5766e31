package conformance

import (
	"reflect"
	"testing"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

// notDrawn are the settings that random programs do not have.
var notDrawn = map[string]string{
	"PerProcessMemoryFraction": "programs set the limit while they run",
	"Pinned":                   "without effect on an allocator of device memory",
	"Last":                     "no setting",
	"ThrowOnOOM":               "not in 2.11",
	"Reserve":                  "the same",
	"ReserveByClass":           "the same",
}

// TestEverySettingIsDrawn: each setting is set in some area, at the start or later.
func TestEverySettingIsDrawn(t *testing.T) {
	g := spec.DefaultGeometry()
	start := reflect.ValueOf(spec.DefaultConfig(g))
	drawn := map[string]bool{}
	for _, area := range append(Areas(), &cachingArea) {
		for _, text := range concat(area.Settings, area.Configures) {
			c, err := settings.Parse(text, g)
			if err != nil {
				t.Fatal(err)
			}
			for _, field := range reflect.VisibleFields(start.Type()) {
				set := reflect.ValueOf(c).FieldByIndex(field.Index)
				if !set.Equal(start.FieldByIndex(field.Index)) {
					drawn[field.Name] = true
				}
			}
		}
	}
	for _, field := range reflect.VisibleFields(start.Type()) {
		if _, exempt := notDrawn[field.Name]; !exempt && !drawn[field.Name] {
			t.Errorf("%s is set in no area", field.Name)
		}
	}
}
