package foreign

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/fakegpu/cuda"
)

// TestRecipes: the table can be read, and every recipe has its script.
func TestRecipes(t *testing.T) {
	recipes, err := Recipes()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recipes {
		if _, err := os.Stat(filepath.Join(r.Folder, "build.sh")); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
}

func TestParse(t *testing.T) {
	good := "a | f | pluggable | src@0123abc more | rustc <fmt/core.h> | --x y | - | yes"
	recipes, err := parse("# comment\n\n" + good + "\n")
	if err != nil {
		t.Fatal(err)
	}
	r := recipes[0]
	if r.File() != "a.so" || strings.Join(r.Sources, " ") != "src more" || r.Commit != "0123abc" || len(r.Needs) != 2 || len(r.Contract) != 2 || !r.CI {
		t.Errorf("it is read as %+v", r)
	}
	for line, want := range map[string]string{
		"a | f":            "recipes.txt:1: 2 columns, not 8",
		good + "\n" + good: `recipes.txt:2: the name "a" is empty or used twice`,
		strings.Replace(good, "pluggable", "plug", 1): `there is no kind "plug"`,
		strings.Replace(good, "@0123abc", "", 1):      "are not FOLDER@COMMIT",
		strings.Replace(good, "| - |", "| |", 1):      "the fault is missing",
		strings.Replace(good, "yes", "maybe", 1):      `"maybe" is neither yes nor no`,
	} {
		if _, err := parse(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, not %q", line, err, want)
		}
	}
}

// TestMissing: what is missing is named, and nothing is built.
func TestMissing(t *testing.T) {
	if _, err := cuda.Compiler("CXX", "c++", "g++", "clang++"); err != nil {
		t.Skip("there is no C++ compiler")
	}
	src := t.TempDir()
	r := Recipe{Name: "a", Sources: []string{"one"}}
	if err := r.Missing(src); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "the sources one are") {
		t.Errorf("without sources the error is %v", err)
	}
	if err := os.Mkdir(filepath.Join(src, "one"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ need, want string }{
		{"<vector>", ""}, {"sh", ""}, {"<no/such.h>", "the header <no/such.h> is"}, {"no-such-command", "no-such-command is"},
	} {
		r.Needs = []string{c.need}
		err := r.Missing(src)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("with the need %s the error is %v", c.need, err)
		}
	}
}
