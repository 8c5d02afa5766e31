package releases

import (
	"fmt"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/conformance"
	"gaugeblock/conformance/perform"
	"gaugeblock/internal/race"
	"gaugeblock/internal/rulenotes"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// notDrawn are the rules that the allocator reads and that decide nothing in random programs.
var notDrawn = map[string]string{
	"ExactAddress":     "no request of a program names its address",
	"Annotations":      "no program annotates a block",
	"PrivatePoolStats": "the statistics that are compared are not by pool",
	"FabricByQuery":    "the fake device of a program has no fabric handles",

	"Settings.SplitSizeAboveSegment": "settings that a release refuses are left out; upstream.TestSettings has them",
}

// drawnIn are the areas whose programs reach a rule soonest, where that is not one of the first.
var drawnIn = map[string]string{
	"LimitRounded": "limits", "RestoreRefusesGrown": "checkpoint", "Settings.NonSplitRoundingKept": "limits",
	"UseOnOOMLast": "pools", "PoolEndCompletesDeferred": "capture", "Settings.RestIncludesLast": "core",
}

// TestEveryRuleIsDrawn: the random programs of conformance, which the property tests, soak and the
// lockstep with PyTorch have too, reach each rule: an allocator that differs from another one in
// this rule alone departs from it.
func TestEveryRuleIsDrawn(t *testing.T) {
	if race.Enabled {
		t.Skip("goroutines share nothing here")
	}
	reasons, err := rulenotes.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rulesOf() {
		if reasons["alloc"][r.name] != "" {
			continue
		}
		for value := range r.values() {
			if value == 0 {
				continue // a departure from 0 is one to it
			}
			t.Run(fmt.Sprint(r.name, "=", value), func(t *testing.T) {
				t.Parallel()
				seeds := uint64(60)
				reason, exempt := notDrawn[r.name]
				if exempt {
					seeds = 1
				}
				where := drawn(r, value, seeds)
				if exempt == (where != "") {
					t.Errorf("drawn: %q; reason not to be: %q", where, reason)
				}
				t.Log(where)
			})
		}
	}
}

// drawn is the first departure from the value before, in programs for the oldest release with the
// value of a rule; "": there is none.
func drawn(r rule, value, seeds uint64) string {
	var release upstream.Release
	for _, release = range upstream.Releases() {
		if r.value(&release.Rules) == value {
			break
		}
	}
	by := func(rules upstream.Rules) perform.Factory {
		return func(d spec.Driver, h *trace.Header) (spec.Allocator, error) {
			return alloc.New(d, alloc.Options{Geometry: h.Geometry, Settings: h.Settings, Rules: rules})
		}
	}
	areas := []string{}
	for _, area := range conformance.Areas() {
		if only := drawnIn[r.name]; only == "" || only == area.Name {
			areas = append(areas, area.Name)
		}
	}
	return departs(release.Name, seeds, conformance.Options{New: by(r.with(release.Rules, value-1)), Against: by(release.Rules)}, areas...)
}

// departs is the first departure from the reference in programs of some areas for a release; "": there is none.
func departs(release string, seeds uint64, o conformance.Options, areas ...string) string {
	const class = "departs from the reference"
	o.Every, o.Overlook = 100, func(found string) bool { return found != class }
	for seed := range seeds {
		for _, area := range areas {
			programs := *conformance.Find(area)
			programs.Release = release
			if f := programs.Run(seed, 1000, o).Failure; f != nil && f.Class == class {
				return f.Error()
			}
		}
	}
	return ""
}
