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

	"gaugeblock/internal/allrows"
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
// specification: a property fails, and the shortest counterexample is as long as expected. Where only
// that property is to find it, the others find nothing. A mistake at a second failing driver call is not found where one call of an operation fails.
func TestMutants(t *testing.T) {
	list := mutants(t)
	command := os.Args[0]
	if os.Getenv(builtVariable) == "" {
		command = buildWithAll(t, list)
	}
	for i := range list {
		m := &list[i]
		if allrows.Without(i, 3) {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			want := fmt.Sprintf("found: %s %d\n", m.inModel, m.inStates)
			if m.alone {
				want += "others: nothing\n"
			}
			wantFound(t, want, command, environment+"="+m.name)
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
const moduleVariable = "GAUGEBLOCK_MISTAKE_MODULE"

// builtVariable says that this is a build with all mutants.
const builtVariable = "GAUGEBLOCK_MISTAKES_BUILT"

// TestUnchanged: without the mistake no property fails in these configurations, as far as
// the counterexample goes.
func TestUnchanged(t *testing.T) {
	for _, m := range mutants(t) {
		v, err := exploreTo(&m, max(m.states, m.inStates))
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
	if what := os.Getenv(apartVariable); what != "" {
		if err := runApart(what); err != nil {
			fmt.Fprintln(os.Stderr, "mutants:", err)
			os.Exit(1)
		}
		return
	}
	if *tools != "" || *into != "" {
		err := error(nil)
		if *into != "" {
			err = writeOverlay(*into)
		} else {
			err = run(*tools, flag.Args())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "mutants:", err)
			os.Exit(1)
		}
		return
	}
	if chosen == "" {
		os.Exit(m.Run())
	}
	list, err := readAll()
	i := slices.IndexFunc(list, func(m mutant) bool { return m.name == chosen })
	if err == nil && i < 0 {
		err = fmt.Errorf("there is no mutant %q", chosen)
	}
	if err == nil {
		list[i].module = cmp.Or(os.Getenv(moduleVariable), list[i].module)
		err = list[i].explore()
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// explore prints what the explorer finds, and, of a mutant that only one property is to find, what it
// finds with the others that hold at all bounds.
func (m *mutant) explore() error {
	v, err := exploreTo(m, 0)
	if err != nil {
		return err
	}
	fmt.Println("found:", toldOf(v))
	if !m.alone {
		return nil
	}
	m.onlyOthers = true
	if v, err = exploreTo(m, 0); err == nil {
		fmt.Println("others:", toldOf(v))
	}
	return err
}

func toldOf(v *explore.Violation[*bounded.State]) string {
	if v == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %d", v.Property, len(v.Trace))
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
	if m.onlyOthers {
		check.CheckAlways()
		leaveOut(&check.Options, m.inModel)
	}
	depth := 0
	check.Options.Progress = func(r explore.Result[*bounded.State]) { depth = r.Depth }
	check.Options.Stopped = func() bool { return levels > 0 && depth > levels }
	return explore.Explore(check.Module, check.Options).Violation, nil
}

// leaveOut leaves out the property with a name.
func leaveOut(o *explore.Options[*bounded.State], name string) {
	o.Invariants = slices.DeleteFunc(o.Invariants, func(i explore.Invariant[*bounded.State]) bool { return i.Name == name })
	o.Steps = slices.DeleteFunc(o.Steps, func(s explore.StepProperty[*bounded.State]) bool { return s.Name == name })
}

// buildWithAll builds the tests of this package with all mistakes in the model.
func buildWithAll(t *testing.T, list []mutant) string {
	dir := t.TempDir()
	overlay, err := overlayOf(list, dir)
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

// overlayOf writes an overlay with all mistakes into a folder.
func overlayOf(list []mutant, dir string) (string, error) {
	root, err := checkout.Root()
	if err != nil {
		return "", err
	}
	files, err := switchable(root, list)
	if err != nil {
		return "", err
	}
	texts := map[string]string{}
	for file, text := range files {
		texts[filepath.Join(root, filepath.FromSlash(file))] = text
	}
	return rewrite.Overlay(dir, texts)
}

// writeOverlay is overlayOf all mutants.
func writeOverlay(dir string) error {
	list, err := readAll()
	if err != nil {
		return err
	}
	_, err = overlayOf(list, dir)
	return err
}
