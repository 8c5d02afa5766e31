package foreign

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFlags: what commands that build recipes are told by default, and what a wrong expression is.
func TestFlags(t *testing.T) {
	defer func(all *flag.FlagSet) { flag.CommandLine = all }(flag.CommandLine)
	flag.CommandLine = flag.NewFlagSet("", flag.ContinueOnError)
	f := NewFlags("bugs")
	said := ""
	flag.VisitAll(func(f *flag.Flag) { said += fmt.Sprintf("%s %s: %s\n", f.Name, f.DefValue, f.Usage) })
	const want = `only : only bugs whose names match this expression
options -O1: options of the C++ compiler
src ../shared/foreign: the folder of sources, or of sources.tar.xz, which is unpacked beside what is built
to build/foreign: where to build
`
	if said != want {
		t.Errorf("%s", said)
	}
	*f.Only = "("
	if _, _, _, err := f.Open(); err == nil || !strings.Contains(err.Error(), "missing closing )") {
		t.Error(err)
	}
	t.Setenv("CC", "false")
	to := filepath.Join(t.TempDir(), "new")
	*f.Only, *f.Src, *f.To, *f.Options = "^rmm", "none", to, "-O3"
	w, match, list, err := f.Open()
	if err == nil || !strings.Contains(err.Error(), "false") || match.String() != "^rmm" || len(list) == 0 || w.Options != "-O3" || w.To != to || w.Sources != "none" || w.Libraries != filepath.Join(to, "fake-cuda") {
		t.Errorf("%+v, %v, %d recipes, %v", w, match, len(list), err)
	}
}

// TestSources: an archive of sources is unpacked, once, and used; without one the folder itself is.
func TestSources(t *testing.T) {
	t.Setenv("CC", "false") // no library is built
	src, to := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(src, "one"), []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	if w, err := Open(src, to, ""); err == nil || w.Sources != src {
		t.Errorf("%+v, %v", w, err)
	}
	archive := filepath.Join(src, "sources.tar.xz")
	if err := exec.Command("tar", "-C", src, "-cJf", archive, "one").Run(); err != nil {
		t.Skip("tar cannot pack")
	}
	for range 2 {
		w, err := Open(src, to, "")
		if err == nil || strings.Contains(err.Error(), "tar") || w.Sources != filepath.Join(to, "sources") {
			t.Fatalf("%+v, %v", w, err)
		}
		if text, err := os.ReadFile(filepath.Join(w.Sources, "one")); string(text) != "1" {
			t.Errorf("%q, %v", text, err)
		}
		if err := os.WriteFile(archive, []byte("what is unpacked is not read again"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestProgram: how a program is built that loads a recipe's library, and that it is built once.
func TestProgram(t *testing.T) {
	to := t.TempDir()
	t.Chdir(to)
	compiler := filepath.Join(to, "compiler")
	if err := os.WriteFile(compiler, []byte("#!/bin/sh\necho \"$@\" >> said; echo no luck; exit $STATUS\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CXX", compiler)
	w := &Workshop{Libraries: "libraries", To: to, built: map[string]string{}}
	t.Setenv("STATUS", "0")
	for range 2 {
		if err := w.Program("one"); err != nil {
			t.Fatal(err)
		}
	}
	want := strings.ReplaceAll("-std=c++17 -O1 -Wall -Wextra -ITO/libraries/include -o TO/one tools/foreign/program/one.cc "+
		"-LTO/libraries -lcudart -lcuda -Wl,--disable-new-dtags,-rpath,TO/libraries -ldl -lpthread\n", "TO", to)
	if said, err := os.ReadFile("said"); string(said) != want {
		t.Errorf("%s, not %s, %v", said, want, err)
	}
	t.Setenv("STATUS", "3")
	if err := w.Program("two"); err == nil || !strings.Contains(err.Error(), "exit status 3\nno luck") {
		t.Error(err)
	}
	t.Setenv("PATH", "")
	t.Setenv("CXX", "")
	if err := w.Program("three"); err == nil {
		t.Error("a program is built without a compiler")
	}
	if err := (Recipe{Name: "a"}).Missing(to); err == nil || err.Error() != "a: a C++ compiler is not here" {
		t.Error(err)
	}
}
