package findings_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	page   = "../../../docs/findings.md"
	runner = "run_all.py"
)

// linked are the scripts that a document links to, sorted.
func linked(t *testing.T, document, folder string) []string {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile(`\]\(([^)]*\.py)\)`).FindAllStringSubmatch(string(text), -1) {
		if filepath.Dir(m[1]) != folder {
			t.Errorf("%s links to %s, which is not in this folder", document, m[1])
		}
		names = append(names, filepath.Base(m[1]))
	}
	slices.Sort(names)
	return names
}

// Every script is in both documents, once, and there is every script that they name.
func TestDocumented(t *testing.T) {
	scripts, err := filepath.Glob("*.py")
	if err != nil {
		t.Fatal(err)
	}
	scripts = slices.DeleteFunc(scripts, func(name string) bool { return name == runner })
	if len(scripts) < 30 {
		t.Fatalf("%d scripts", len(scripts))
	}
	if got := linked(t, page, "../tests/gpu/findings"); !slices.Equal(got, scripts) {
		t.Errorf("%s has\n%v\nwant\n%v", page, got, scripts)
	}
	if got := linked(t, "README.md", "."); !slices.Equal(got, scripts) {
		t.Errorf("README.md has\n%v\nwant\n%v", got, scripts)
	}
}

// The page's table leads to its sections, and its sections are numbered in order.
func TestPageIsNumbered(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| \[(\d+)\]\(#([^)]*)\) \| (.*) \| [a-z ]+ \| [a-z ]+ \|$`).FindAllStringSubmatch(string(text), -1)
	sections := regexp.MustCompile(`(?m)^### ((\d+)\. (.*))$`).FindAllStringSubmatch(string(text), -1)
	if len(rows) == 0 || len(rows) != len(sections) {
		t.Fatalf("%d rows, %d sections", len(rows), len(sections))
	}
	for i, row := range rows {
		if s := sections[i]; row[1] != s[2] || row[3] != s[3] || row[2] != anchor(s[1]) {
			t.Errorf("row %v leads to section %q, anchor %s", row[1:], s[1], anchor(s[1]))
		}
	}
}

// anchor is the name by which a heading is linked to.
func anchor(heading string) string {
	kept := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(heading), "")
	return strings.ReplaceAll(kept, " ", "-")
}
