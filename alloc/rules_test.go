package alloc_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gaugeblock/upstream"
)

// TestRulesHaveTranscripts: each rule that is read in this package has a transcript in testdata, in
// which the same is done with and without it.
func TestRulesHaveTranscripts(t *testing.T) {
	transcripts, source := readAll(t, "testdata/rule_*"), ""
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if !strings.HasSuffix(name, "_test.go") {
			source += readAll(t, name)
		}
	}
	read := 0
	for field := range reflect.TypeFor[upstream.Rules]().Fields() {
		if !strings.Contains(source, "ules."+field.Name) {
			continue
		}
		read++
		values := []string{field.Name}
		switch field.Name {
		case "Settings":
			continue // spec/settings has the tests of its own rules
		case "Ties":
			values = []string{"TiesByBlock", "TiesBySegment"}
		case "ExactAddress":
			values = []string{"ExactAddressInUserMetadata", "ExactAddressInInternalMetadata"}
		case "Captures":
			values = []string{"CapturesByMark"}
		}
		for _, value := range values {
			if !strings.Contains(transcripts, "rules=("+value+")") {
				t.Errorf("no transcript has rules=(%s)", value)
			}
		}
	}
	if read < 10 {
		t.Errorf("only %d rules are read", read)
	}
}

// readAll returns the text of the files that a pattern finds.
func readAll(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
