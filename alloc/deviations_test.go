package alloc_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDeviationsAreHeld: every line of the tables in docs/deviations.md names a test or
// a transcript, and every one that is named exists.
func TestDeviationsAreHeld(t *testing.T) {
	page, err := os.ReadFile("../docs/deviations.md")
	if err != nil {
		t.Fatal(err)
	}
	goTest := regexp.MustCompile("`([a-z/]+)\\.(Test[A-Za-z0-9]+)`")
	transcript := regexp.MustCompile(`\]\(\.\./alloc/testdata/([a-z_]+)\)`)
	tests := map[string]map[string]bool{} // of the packages named so far
	rows := 0
	for i, row := range strings.Split(string(page), "\n") {
		if !strings.HasPrefix(row, "| ") || strings.HasPrefix(row, "| upstream") {
			continue
		}
		rows++
		named := 0
		for _, m := range goTest.FindAllStringSubmatch(row, -1) {
			named++
			if tests[m[1]] == nil {
				tests[m[1]] = testsOf(t, filepath.Join("..", filepath.FromSlash(m[1])))
			}
			if !tests[m[1]][m[2]] {
				t.Errorf("docs/deviations.md:%d: package %s has no %s", i+1, m[1], m[2])
			}
		}
		for _, m := range transcript.FindAllStringSubmatch(row, -1) {
			named++
			if _, err := os.Stat(filepath.Join("testdata", m[1])); err != nil {
				t.Errorf("docs/deviations.md:%d: %v", i+1, err)
			}
		}
		if named == 0 {
			t.Errorf("docs/deviations.md:%d: nothing holds this line: %s", i+1, row)
		}
	}
	if rows < 50 {
		t.Errorf("docs/deviations.md has %d lines in its tables", rows)
	}
}

// testsOf lists the tests of the package in a directory.
func testsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	declaration := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(t \*testing\.T\)`)
	names := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declaration.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
	}
	return names
}
