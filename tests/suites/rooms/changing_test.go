package rooms

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestChanging: every file and folder that docs/changing.md names is there, and so is
// every test and function.
func TestChanging(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "changing.md"))
	if err != nil {
		t.Fatal(err)
	}
	place := regexp.MustCompile("`((?:spec|alloc|model|fakegpu|cudaimpl|tests|snapshot|tla|docs)/[A-Za-z0-9_./-]*)`")
	test := regexp.MustCompile("`([a-z]+)\\.(Test[A-Za-z]+)`")
	places, tests := 0, 0
	for i, line := range strings.Split(string(page), "\n") {
		for _, m := range place.FindAllStringSubmatch(line, -1) {
			places++
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("docs/changing.md:%d: %s is not there", i+1, m[1])
			}
		}
		for _, m := range test.FindAllStringSubmatch(line, -1) {
			tests++
			dir := packageDirs[m[1]]
			if dir == "" {
				dir = m[1]
			}
			files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
			if err != nil {
				t.Fatal(err)
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
