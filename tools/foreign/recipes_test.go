package foreign

import (
	"errors"
	"os"
	"os/exec"
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
	if r.File() != "a.so" || (Recipe{Name: "a", Kind: "driver"}).File() != "a" || strings.Join(r.Sources, " ") != "src more" || r.Commit != "0123abc" || len(r.Needs) != 2 || len(r.Contract) != 2 || !r.CI {
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

// TestBuild: a recipe's script finds its variables, is run once, and what it does wrong is said.
func TestBuild(t *testing.T) {
	compiler, err := cuda.Compiler("CXX", "c++", "g++", "clang++")
	if err != nil {
		t.Skip("there is no C++ compiler")
	}
	src, to, top := t.TempDir(), t.TempDir(), t.TempDir()
	recipe := filepath.Join(top, "tools", "foreign", "one")
	if err := os.MkdirAll(recipe, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(top)
	r := Recipe{Name: "a", Folder: "one", Kind: "pluggable"}
	built := filepath.Join(to, r.File())
	w := &Workshop{Sources: src, Libraries: "libraries", To: to, Options: "-O1", built: map[string]string{}}
	for _, c := range []struct{ name, script, want string }{
		{"no script", "", "a: "},
		{"fails", "echo no luck; exit 3", "no luck"},
		{"builds nothing", "true", "a: build.sh ended well and has not built " + built},
		{"builds", `echo "$NAME $SRC $CUDA $OUT $CXX $OPT" > "$OUT"`, ""},
		{"was built", "exit 3", ""}, // it is not run again
	} {
		if c.script != "" {
			if err := os.WriteFile(filepath.Join(recipe, "build.sh"), []byte(c.script), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		file, err := w.Build(r)
		switch {
		case c.want != "" && (err == nil || file != "" || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %q, %v, not %s", c.name, file, err, c.want)
		case c.want == "" && (err != nil || file != built):
			t.Errorf("%s: %q, %v", c.name, file, err)
		}
	}
	want := strings.Join([]string{"a", src, filepath.Join(top, "libraries"), built, compiler, "-O1\n"}, " ")
	if text, err := os.ReadFile(built); err != nil || string(text) != want {
		t.Errorf("the script found %q, not %q (%v)", text, want, err)
	}
}

// TestUnpack: what is missing is named; what is there is unpacked.
func TestUnpack(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	archive := filepath.Join(from, "sources.tar.xz")
	missing := func(want string) {
		t.Helper()
		if err := Unpack(archive, to); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, not %s", err, want)
		}
	}
	missing(archive + " is")
	if err := os.WriteFile(filepath.Join(from, "one"), []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("tar", "-C", from, "-cJf", archive, "one").Run(); err != nil {
		t.Skip("tar cannot pack")
	}
	if err := Unpack(archive, to); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(to, "one")); string(text) != "1" {
		t.Errorf("%q is unpacked: %v", text, err)
	}
	t.Setenv("PATH", "")
	missing("the program tar is")
}

// TestOpen: a folder that cannot be made, or an archive that is none, is an error.
func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sources.tar.xz")
	if err := os.WriteFile(file, []byte("no archive"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.TempDir(), file, ""); err == nil {
		t.Error("a file is taken for a folder")
	}
	if _, err := Open(filepath.Dir(file), t.TempDir(), ""); err == nil {
		t.Error("what is no archive is unpacked")
	}
}
