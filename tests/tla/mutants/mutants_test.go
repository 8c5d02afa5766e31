package mutants

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/internal/checkout"
	"gaugeblock/internal/rewrite"
	"gaugeblock/model/abstract/refinement"
	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/tla"
)

func mutants(t *testing.T) []mutant {
	list, err := readAll()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestMutants: the explorer finds each mistake in the model, as TLC finds it in the
// specification: a property fails, and the shortest counterexample is as long as expected. A
// mistake at a second failing driver call is not found where one call of an operation fails.
func TestMutants(t *testing.T) {
	list := mutants(t)
	command := buildWithAll(t, list)
	for i := range list {
		m := &list[i]
		t.Run(m.name, func(t *testing.T) {
			wantFound(t, fmt.Sprintf("found: %s %d\n", m.inModel, m.inStates), command, environment+"="+m.name)
			if one, is := m.withOneFailure(); is {
				wantFound(t, "found: nothing\n", command, environment+"="+m.name, moduleVariable+"="+one.module)
			}
		})
	}
}

// wantFound runs a build with all mutants.
func wantFound(t *testing.T, want, command string, variables ...string) {
	t.Helper()
	run := exec.Command(command)
	run.Env = append(os.Environ(), variables...)
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), want) {
		t.Errorf("want %s%s", want, out)
	}
}

// moduleVariable chooses another module for a mutant in a build with all of them.
const moduleVariable = "GAUGEBLOCK_MUTANT_MODULE"

// TestUnchanged: without the mistake no property fails in these configurations, as far as
// the counterexample goes.
func TestUnchanged(t *testing.T) {
	for _, m := range mutants(t) {
		v, err := exploreTo(&m, m.states)
		if err != nil {
			t.Fatal(err)
		}
		if v != nil {
			t.Errorf("%s: %s fails", m.name, v.Property)
		}
	}
}

// TestPieces: every piece is once in its file.
func TestPieces(t *testing.T) {
	root, err := checkout.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants(t) {
		for _, p := range m.pieces {
			text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p.file)))
			if err == nil {
				_, err = p.apply(string(text))
			}
			if err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		}
	}
}

// TestMain runs TLC if it is told where that is. It explores the model with one mistake if the
// environment names one; this is what TestMutants runs.
func TestMain(m *testing.M) {
	flag.Parse()
	chosen := os.Getenv(environment)
	switch {
	case *tools != "":
		if err := run(*tools, flag.Args()); err != nil {
			fmt.Fprintln(os.Stderr, "mutants:", err)
			os.Exit(1)
		}
		return
	case chosen == "":
		os.Exit(m.Run())
	}
	list, err := readAll()
	i := slices.IndexFunc(list, func(m mutant) bool { return m.name == chosen })
	if err == nil && i < 0 {
		err = fmt.Errorf("there is no mutant %q", chosen)
	}
	var v *explore.Violation[*bounded.State]
	if err == nil {
		list[i].module = cmp.Or(os.Getenv(moduleVariable), list[i].module)
		v, err = exploreTo(&list[i], 0)
	}
	switch {
	case err != nil:
		fmt.Println(err)
	case v == nil:
		fmt.Println("found: nothing")
	default:
		fmt.Printf("found: %s %d\n", v.Property, len(v.Trace))
	}
}

// exploreTo explores a mutant's configuration, up to a number of levels if it is not 0.
func exploreTo(m *mutant, levels int) (*explore.Violation[*bounded.State], error) {
	text, err := m.config()
	if err != nil {
		return nil, err
	}
	config, err := tla.ReadConfig([]byte(text), m.name+".cfg")
	if err != nil {
		return nil, err
	}
	refines := slices.Contains(config.Properties, refinement.IsAbstractMemory)
	config.Properties = slices.DeleteFunc(config.Properties, func(name string) bool { return name == refinement.IsAbstractMemory })
	check, err := bounded.NewCheck(modules[m.module].mirror, config)
	if err != nil {
		return nil, err
	}
	if refines {
		bounds, err := bounded.ReadBounds(config)
		if err != nil {
			return nil, err
		}
		refinement.Add(&check.Options, bounds)
	}
	depth := 0
	check.Options.Progress = func(r explore.Result[*bounded.State]) { depth = r.Depth }
	check.Options.Stopped = func() bool { return levels > 0 && depth > levels }
	return explore.Explore(check.Module, check.Options).Violation, nil
}

// buildWithAll builds the tests of this package with all mistakes in the model.
func buildWithAll(t *testing.T, list []mutant) string {
	root, err := checkout.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := switchable(root, list)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	texts := map[string]string{}
	for file, text := range files {
		texts[filepath.Join(root, filepath.FromSlash(file))] = text
	}
	overlay, err := rewrite.Overlay(dir, texts)
	if err != nil {
		t.Fatal(err)
	}
	command := filepath.Join(dir, "mutants.test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", command, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatal(errors.Join(err, errors.New(string(out))))
	}
	return command
}
