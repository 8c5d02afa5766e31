package imports

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	placeInText = regexp.MustCompile("`((?:spec|alloc|model|fakegpu|cudaimpl|conformance|tools|internal|tests|snapshot|tla|docs|upstream)/[A-Za-z0-9_./-]*)`")
	nameInText  = regexp.MustCompile("`([A-Za-z]+)`")
)

// testDirs are the folders of the packages whose tests docs/changing.md names.
var testDirs = map[string][]string{
	"bounded": {"model/bounded"}, "tla": {"tla", "tests/tla"},
	"perform": {"conformance/perform"}, "refinement": {"internal/refinement"},
}

// TestChanging: every file, folder and test that docs/changing.md names is there.
func TestChanging(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "changing.md"))
	if err != nil {
		t.Fatal(err)
	}
	test := regexp.MustCompile("`([a-z]+)\\.(Test[A-Za-z]+)`")
	places, tests := 0, 0
	for i, line := range strings.Split(string(page), "\n") {
		for _, m := range placeInText.FindAllStringSubmatch(line, -1) {
			places++
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("docs/changing.md:%d: %s is not there", i+1, m[1])
			}
		}
		for _, m := range test.FindAllStringSubmatch(line, -1) {
			tests++
			dirs := testDirs[m[1]]
			if dirs == nil {
				dirs = []string{packageDirs[m[1]]}
			}
			var files []string
			for _, dir := range dirs {
				in, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, in...)
			}
			found := false
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				found = found || strings.Contains(string(text), "func "+m[2]+"(t *testing.T)")
			}
			if !found {
				t.Errorf("docs/changing.md:%d: package %s has no %s", i+1, m[1], m[2])
			}
		}
	}
	if places < 25 || tests < 2 {
		t.Errorf("only %d places and %d tests found", places, tests)
	}
}

// TestChangingNames: in a row of docs/changing.md whose first column names files, each name
// of the second column occurs in one of them.
func TestChangingNames(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "changing.md"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for i, row := range strings.Split(string(page), "\n") {
		cells := strings.Split(row, "|")
		if len(cells) < 4 {
			continue
		}
		text := textOfFiles(t, cells[1])
		for _, m := range nameInText.FindAllStringSubmatch(cells[2], -1) {
			if text == "" {
				continue
			}
			checked++
			if !regexp.MustCompile(`\b` + m[1] + `\b`).MatchString(text) {
				t.Errorf("docs/changing.md:%d: %s does not occur in%s", i+1, m[1], cells[1])
			}
		}
	}
	if checked < 15 {
		t.Errorf("only %d names found", checked)
	}
}

// textOfFiles is the text of the files, not the folders, that a cell names.
func textOfFiles(t *testing.T, cell string) (text string) {
	for _, m := range placeInText.FindAllStringSubmatch(cell, -1) {
		name := filepath.Join(root, filepath.FromSlash(m[1]))
		if info, err := os.Stat(name); err != nil || info.IsDir() {
			continue // TestChanging reports what is missing
		}
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text += string(content)
	}
	return text
}
