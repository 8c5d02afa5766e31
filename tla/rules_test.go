package tla

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gaugeblock/internal/rulenotes"
	"gaugeblock/model/tlc"
	"gaugeblock/upstream"
)

// TestEveryRuleIsSpecified: each rule of PyTorch's releases is a constant, but where its comment says
// why not. tests/releases.TestEveryRuleIsRead is the same of the allocator and the model.
func TestEveryRuleIsSpecified(t *testing.T) {
	reasons, err := rulenotes.Read()
	if err != nil {
		t.Fatal(err)
	}
	for rule := range reflect.TypeFor[upstream.Rules]().Fields() {
		isConstant := defaultsOfRules(t).Value(rule.Name) != ""
		if reason, exempt := reasons["tla"][rule.Name]; isConstant == exempt {
			t.Errorf("%s is a constant: %v; reason not to be one: %q", rule.Name, isConstant, reason)
		}
	}
}

// TestRulesDecide: for each rule that is a constant, and any two of its values, there are two
// configurations that differ in it alone, and their graphs are not the same.
func TestRulesDecide(t *testing.T) {
	alike := map[string]map[string]string{} // by rule, then by all other constants: digests by value
	list, err := Configurations()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if c.Expect == "ok" {
			addDigest(t, c, alike)
		}
	}
	for rule, byValue := range valuesOf(t) {
		for i, a := range byValue {
			for _, b := range byValue[:i] {
				if !differ(alike[rule], a, b) {
					t.Errorf("no two configurations show what %s decides, %s or %s", rule, a, b)
				}
			}
		}
	}
}

// differ reports whether there are two configurations that have the two values, and other graphs.
func differ(digests map[string]string, a, b string) bool {
	for key, digest := range digests {
		others, isA := strings.CutSuffix(key, "\n"+a)
		if other := digests[others+"\n"+b]; isA && other != "" && other != digest {
			return true
		}
	}
	return false
}

// valuesOf are the values that rules have in configurations, and by default.
func valuesOf(t *testing.T) map[string][]string {
	values := map[string][]string{}
	for rule := range reflect.TypeFor[upstream.Rules]().Fields() {
		switch value := defaultsOfRules(t).Value(rule.Name); value {
		case "":
		case "FALSE":
			values[rule.Name] = []string{"FALSE", "TRUE"}
		default:
			values[rule.Name] = []string{value}
		}
	}
	values["Ties"] = append(values["Ties"], `"block"`, `"segment"`)
	values["Captures"] = append(values["Captures"], `"mark"`)
	for rule, all := range values {
		if len(all) < 2 {
			t.Errorf("%s has the value %s", rule, all)
		}
	}
	return values
}

// addDigest adds what TLC found of a configuration.
func addDigest(t *testing.T, c Configuration, alike map[string]map[string]string) {
	config, err := c.Config()
	if err != nil {
		t.Fatal(err)
	}
	m, err := ReadManifest(c.Name)
	if err != nil {
		t.Fatal(err)
	}
	for rule := range valuesOf(t) {
		value, err := config.Value(rule)
		if err != nil {
			t.Fatal(err)
		}
		key := c.Mirror
		for _, name := range slices.Sorted(slices.Values(config.Names())) {
			if other, _ := config.Value(name); name != rule {
				key += fmt.Sprintf(" %s=%s", name, other)
			}
		}
		if alike[rule] == nil {
			alike[rule] = map[string]string{}
		}
		alike[rule][key+"\n"+value] = m.EdgeDigest
	}
}

func defaultsOfRules(t *testing.T) *tlc.Defaults {
	text, err := Files.ReadFile(defaultsFile)
	if err != nil {
		t.Fatal(err)
	}
	defaults, err := tlc.ReadDefaults(text, defaultsFile)
	if err != nil {
		t.Fatal(err)
	}
	return defaults
}
