package invariant_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec/invariant"
)

// docs/invariants.md has a section for each invariant, in order, that begins with
// its number and name, its sentence, and what it is seen from, and goes on to say
// why.
func TestInvariantDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/invariants.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, inv := range invariant.All() {
		var seen []string
		for _, sources := range inv.Seen {
			seen = append(seen, sources.String())
		}
		want = append(want, fmt.Sprintf("## %d. %s\n\n> %s\n\nSeen from: %s.",
			inv.Number, inv.Name, inv.Sentence, strings.Join(seen, ", or ")))
	}
	var got []string
	for _, section := range strings.Split(string(page), "\n## ") {
		if section[0] < '1' || section[0] > '9' {
			continue
		}
		paragraphs := strings.SplitN("## "+section, "\n\n", 4)
		if len(paragraphs) < 4 || len(paragraphs[3]) < 80 {
			t.Errorf("too little is said in the section %s", paragraphs[0])
		}
		got = append(got, strings.Join(paragraphs[:min(3, len(paragraphs))], "\n\n"))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
