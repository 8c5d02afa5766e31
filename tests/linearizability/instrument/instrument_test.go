package instrument

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	root   = "../../.."
	sample = "tests/linearizability/instrument/testdata/sample"
)

// TestSample: all kinds of points are found, each once, and the overlay compiles.
func TestSample(t *testing.T) {
	s, err := load(root, sample)
	if err != nil {
		t.Fatal(err)
	}
	w := newWalker(s)
	w.file(s.files["sample.go"])
	if len(w.problems) > 0 {
		t.Fatal(w.problems)
	}
	var got []string
	for _, site := range w.sites {
		got = append(got, string(site.Kind)+" "+site.Callee)
	}
	slices.Sort(got)
	want := []string{
		"acquire Mutex.Lock", "acquire RWMutex.RLock",
		"atomic Bool.CompareAndSwap", "atomic Int64.Add", "atomic Pointer.Load", "atomic Pointer.Store",
		"call driver.Ask", "call func",
		"release Mutex.Unlock", "release RWMutex.RUnlock", "spin func",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the points are %q, not %q", got, want)
	}
	text := w.edits.Apply(s.texts["sample.go"], 0, len(s.texts["sample.go"]))
	if lines, before := strings.Count(text, "\n"), strings.Count(s.texts["sample.go"], "\n"); lines != before+2 {
		t.Errorf("%d lines became %d", before, lines)
	}
	for _, access := range []string{
		`(*instrumented_points.W(&s.pairs[1].a, "sample.go:42"))++`,
		`instrumented_points.MapW((*instrumented_points.R(&s.names, "sample.go:44")), "sample.go:44")[name]`,
		`range (*instrumented_points.R(&s.list, "sample.go:46"))`,
		`local[0].a = 5`,
	} {
		if !strings.Contains(text, access) {
			t.Errorf("%s is not in\n%s", access, text)
		}
	}
}

// TestMutant: the changed function is built in beside the other, and called by it.
func TestMutant(t *testing.T) {
	s, err := load(root, sample)
	if err != nil {
		t.Fatal(err)
	}
	mutant := Mutant{"early", "sample.go", strings.Replace(s.texts["sample.go"], "	s.mu.Lock()\n	defer s.mu.Unlock()\n", "", 1)}
	overlay, err := Overlay(root, sample, t.TempDir(), []Mutant{mutant})
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-overlay", overlay, "./"+sample)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	texts, err := s.instrumented([]Mutant{mutant})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`if instrumented_points.Mutant == "early" { return s.Do__early(name, unused) };`, "func (s *shared) Do__early(", "//line sample.go:36"} {
		if !strings.Contains(texts["sample.go"], part) {
			t.Errorf("%s is not in\n%s", part, texts["sample.go"])
		}
	}
	same := Mutant{"none", "sample.go", s.texts["sample.go"]}
	if _, err := s.instrumented([]Mutant{same}); err == nil {
		t.Error("a mutant that changes nothing was built in")
	}
}

// TestRefused: what is no point is an error, not left out.
func TestRefused(t *testing.T) {
	for _, added := range []string{
		"func f() { go f() }",
		"func f(c chan int) { c <- 1 }",
		"func f(c <-chan int) int { return <-c }",
		"func f() { select {} }",
		"var once sync.Once",
		"func f(n *int64) { atomic.AddInt64(n, 1) }",
		"func f(s *shared) func() { return s.mu.Unlock }",
		"func f(n *atomic.Int64) { n.And(1) }",
	} {
		s, err := load(root, sample)
		if err != nil {
			t.Fatal(err)
		}
		s.texts["sample.go"] += "\n" + added + "\n"
		if err := s.check(); err != nil {
			t.Fatalf("%s: %v", added, err)
		}
		if _, err := s.instrumented(nil); err == nil {
			t.Errorf("%s is accepted", added)
		}
	}
}
