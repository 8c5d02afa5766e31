package zoo

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/fakegpu/cuda"
	"gaugeblock/internal/allrows"
	"gaugeblock/tools/foreign"
)

// TestBugs: the table can be read, its recipes are there, and tools/zoo/README.md has a row for
// each bug.
func TestBugs(t *testing.T) {
	bugs, err := Bugs()
	if err != nil {
		t.Fatal(err)
	}
	recipes, err := foreign.Recipes()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Bug{Name: "a", Before: "-", After: "none"}).Recipes(recipes); err == nil || err.Error() != "a: there is no recipe none" {
		t.Error(err)
	}
	page, err := os.ReadFile("../../tools/zoo/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bugs {
		list, err := b.Recipes(recipes)
		if err != nil {
			t.Error(err)
			continue
		}
		names := ""
		for _, r := range list {
			names += r.Name + " "
		}
		if want := strings.ReplaceAll(b.Before+" "+b.After+" ", "- ", ""); names != want {
			t.Errorf("%s: the recipes are %s, not %s", b.Name, names, want)
		}
		if b.What == "" {
			t.Errorf("%s: what is wrong is not said", b.Name)
		}
		if program := b.Program(); program != "" {
			if _, err := os.Stat(filepath.Join("..", "foreign", "program", program+".cc")); err != nil {
				t.Errorf("%s: %v", b.Name, err)
			}
		}
		if !strings.Contains(string(page), "| "+b.Name+" | ") {
			t.Errorf("%s has no row in tools/zoo/README.md", b.Name)
		}
	}
}

func TestParse(t *testing.T) {
	good := "a | before | - | A_B=1 streams renews | 10x200 | hazard, other\n| wrong\n| in two lines\n"
	bugs, err := parse("# comment\n\t " + good + " b | x | y | itself | 1x2 | one\n")
	if err != nil || len(bugs) != 2 || bugs[1].Program() != "" || bugs[1].Name != "b" {
		t.Fatal(err)
	}
	b := bugs[0]
	if b.What != "wrong in two lines" || b.Program() != "streams" || b.Seeds != 10 || b.Operations != 200 || strings.Join(b.Rules, "+") != "hazard+other" || strings.Join(b.By, "+") != "streams+renews" || b.Environment[0] != "A_B=1" {
		t.Errorf("it is read as %+v", b)
	}
	for text, want := range map[string]string{
		"a | b": "zoo.txt:1: 2 columns, not 6", good + good: `zoo.txt:4: the name "a" is used twice`,
		strings.Replace(good, "10x200", "many", 1):            `zoo.txt:1: "A_B=1 streams renews" and "many" are not a program and SEEDSxOPERATIONS`,
		"\n" + strings.Replace(good, "streams renews", "", 1): `zoo.txt:2: "A_B=1" and "10x200" are not`,
		"| wrong\n" + good: "zoo.txt:1: 2 columns",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, not %q", text, err, want)
		}
	}
}

// TestLook: a program gets its words and variables, and what it says, or does wrong, is told.
func TestLook(t *testing.T) {
	directory := t.TempDir()
	for _, c := range []struct{ program, script, want string }{
		{"itself", `echo "{\"seed\":3,\"found\":\"hazard\",\"text\":\"$* $A_B $GAUGEBLOCK_CUDA_HAZARDS\"}"; echo '{"seed":4}'`, "3 hazard renews --seeds 3-4 --operations 200 1 owners\n4  \n"},
		{"finder", `echo "{\"text\":\"$0 $*\"}"`, "0  DIR/finder DIR/a renews --seeds 3-4 --operations 200\n"},
		{"itself", "echo hello", `says "hello"`},
		{"itself", "echo no luck >&2; exit 3", "exit status 3: no luck"},
		{"finder", "exit 3", "DIR/finder DIR/a renews --seeds 3-4 --operations 200: exit status 3"},
		{"nobody", "", "DIR/nobody DIR/a renews --seeds 3-4 --operations 200: fork/exec"},
	} {
		file := strings.NewReplacer("itself", "a", "nobody", "other").Replace(c.program)
		if err := os.WriteFile(filepath.Join(directory, file), []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		b := Bug{By: []string{c.program, "renews"}, Environment: []string{"A_B=1"}, Operations: 200}
		findings, err := b.Look(foreign.Recipe{Name: "a", Kind: "program"}, directory, 3, 4)
		said := ""
		for _, f := range findings {
			said += fmt.Sprintf("%d %s %s\n", f.Seed, f.Found, f.Text)
		}
		if err != nil {
			said = err.Error()
		}
		if said = strings.ReplaceAll(said, directory, "DIR"); said != c.want && (err == nil || !strings.Contains(said, c.want)) {
			t.Errorf("%s: %q, not %q", c.script, said, c.want)
		}
	}
}

func TestCount(t *testing.T) {
	if found, _, _, _ := Count(nil, nil); found != 0 {
		t.Error("something is found in nothing")
	}
	findings := []Finding{{Found: "hazard", Operations: 30}, {}, {Found: "hazard", Operations: 10}, {Found: "other", Operations: 5}}
	if found, fewest, median, most := Count(findings, []string{"hazard"}); found != 2 || fewest != 10 || median != 30 || most != 30 {
		t.Errorf("hazards: %d found, %d, %d, %d", found, fewest, median, most)
	}
	if found, fewest, _, _ := Count(findings, nil); found != 3 || fewest != 5 {
		t.Errorf("any rule: %d found, the fewest %d", found, fewest)
	}
}

var search = flag.Bool("search", false, "build RMM as well, whose templates take a compiler a minute")

// TestZoo builds the recipes of CI, as far as sources and tools are here, and looks for the
// bugs that need no others, with three seeds each. "make search" adds RMM, "make zoo" does all.
func TestZoo(t *testing.T) {
	if testing.Short() {
		t.Skip("builds allocators")
	}
	for _, variable := range []string{"CC", "CXX"} {
		if _, err := cuda.Compiler(variable, "cc", "c++"); err != nil {
			t.Skip(err)
		}
	}
	t.Chdir(filepath.Join("..", ".."))
	w, err := foreign.Open(filepath.Join("..", "shared", "foreign"), t.TempDir(), "-O0")
	if errors.Is(err, foreign.ErrMissing) || errors.Is(err, cuda.ErrNoCompiler) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	recipes, err := foreign.Recipes()
	if err != nil {
		t.Fatal(err)
	}
	bugs, err := Bugs()
	if err != nil {
		t.Fatal(err)
	}
	recipes = slices.DeleteFunc(recipes, func(r foreign.Recipe) bool { return !r.CI || strings.HasPrefix(r.Name, "rmm-") && !*search })
	for _, r := range recipes {
		t.Run(r.Name, func(t *testing.T) { built(t, w, r) })
	}
	for i, b := range bugs {
		if allrows.Without(i, 12) && !*search {
			continue
		}
		if list, err := b.Recipes(recipes); err == nil {
			t.Run(b.Name, func(t *testing.T) { found(t, w, b, list) })
		}
	}
}

// built builds a recipe, or skips the test by the name of what is missing.
func built(t *testing.T, w *foreign.Workshop, r foreign.Recipe) {
	if _, err := w.Build(r); errors.Is(err, foreign.ErrMissing) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
}

// found looks for a bug in the first recipe, and for nothing in the second.
func found(t *testing.T, w *foreign.Workshop, b Bug, list []foreign.Recipe) {
	const seeds = 3
	for _, r := range list {
		built(t, w, r)
	}
	if program := b.Program(); program != "" {
		if err := w.Program(program); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range list {
		findings, err := b.Look(r, w.To, 1, seeds)
		if err != nil {
			t.Fatal(err)
		}
		want := seeds
		rules := b.Rules
		if i > 0 {
			want, rules = 0, nil
		}
		if n, _, _, _ := Count(findings, rules); n != want {
			t.Errorf("%s: %d of %d seeds find something, not %d: %+v", r.Name, n, seeds, want, findings)
		}
	}
}
