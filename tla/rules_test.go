package tla

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gaugeblock/upstream"
)

// TestRulesDecide: for each rule of PyTorch's releases that is a constant there are two
// configurations that differ in it alone, and their graphs are not the same.
func TestRulesDecide(t *testing.T) {
	defaults, err := Files.ReadFile(defaultsFile)
	if err != nil {
		t.Fatal(err)
	}
	list, err := Configurations()
	if err != nil {
		t.Fatal(err)
	}
	byText := map[string]string{} // names
	for _, c := range list {
		text, err := Files.ReadFile(c.Cfg)
		if err != nil {
			t.Fatal(err)
		}
		byText[c.Module+"\n"+string(text)] = c.Name
	}
	constants := 0
	for rule := range reflect.TypeFor[upstream.Rules]().Fields() {
		if !strings.Contains(string(defaults), "\n"+rule.Name+" == FALSE") {
			continue
		}
		constants++
		decides := false
		for text, name := range byText {
			if other := byText[strings.Replace(text, fmt.Sprintf("    %s = TRUE\n", rule.Name), "", 1)]; other != name && other != "" {
				decides = decides || digestOf(t, name) != digestOf(t, other)
			}
		}
		if !decides {
			t.Errorf("no two configurations show what %s decides", rule.Name)
		}
	}
	if constants < 2 {
		t.Errorf("%d rules are constants", constants)
	}
}

func digestOf(t *testing.T, name string) string {
	m, err := ReadManifest(name)
	if err != nil {
		t.Fatal(err)
	}
	return m.EdgeDigest
}
