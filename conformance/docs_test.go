package conformance_test

import (
	"os"
	"strings"
	"testing"

	"gaugeblock/conformance"
)

// TestRulesAreDocumented: a report sends its reader to a section that is there, and that
// says what the rule says.
func TestRulesAreDocumented(t *testing.T) {
	pages := map[string]string{}
	for _, rule := range conformance.Rules() {
		file, anchor, _ := strings.Cut(rule.Read, "#")
		if pages[file] == "" {
			text, err := os.ReadFile("../" + file)
			if err != nil {
				t.Fatal(err)
			}
			pages[file] = string(text)
		}
		section := ""
		for heading := range strings.Lines(pages[file]) {
			words := strings.TrimSpace(strings.TrimLeft(heading, "#"))
			slug := strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(words, ".", "")), " ", "-")
			if strings.HasPrefix(heading, "#") && slug == anchor {
				section = heading
			}
		}
		if section == "" || !strings.Contains(pages[file], section+"\n> "+rule.Sentence+"\n") {
			t.Errorf("%s has no section %q that says: %s", file, anchor, rule.Sentence)
		}
	}
}
