package imports

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWorkflowTargets: the workflows of docs/ci call make with targets and variables of the
// Makefile, and name folders that there are.
func TestWorkflowTargets(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	defined := func(pattern string) (names []string) {
		for _, found := range regexp.MustCompile(pattern).FindAllSubmatch(makefile, -1) {
			names = append(names, string(found[1]))
		}
		return names
	}
	targets, variables := defined(`(?m)^([a-z-]+):`), defined(`(?m)^([A-Z]+) \?=`)
	files, err := filepath.Glob(filepath.Join(root, "docs", "ci", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	calls := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range regexp.MustCompile(`(?m)^ *- (?:run: )?make ([^#\n]*)`).FindAllSubmatch(text, -1) {
			calls++
			for _, word := range regexp.MustCompile(`[A-Z]+="[^"]*"|\S+`).FindAllString(string(call[1]), -1) {
				name, value, isVariable := strings.Cut(word, "=")
				if isVariable && !slices.Contains(variables, name) || !isVariable && !slices.Contains(targets, word) {
					t.Errorf("%s: make %s: the Makefile has no %s", filepath.Base(file), call[1], name)
				}
				if name != "DIRS" {
					continue
				}
				for _, folder := range strings.Fields(strings.Trim(value, `"`)) {
					if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(folder))); err != nil {
						t.Errorf("%s: make %s: %v", filepath.Base(file), call[1], err)
					}
				}
			}
		}
	}
	if calls < 8 {
		t.Errorf("only %d calls of make were found", calls)
	}
}
