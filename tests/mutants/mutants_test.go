package mutants

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const example = `package p

func f(mu locker, xs []int) (int, error) {
	mu.Lock()
	defer mu.Unlock()
	n := 0
	for _, x := range xs {
		if x < 3 && p.ok {
			n += x
			count++
			p.a = 7
			p.b = 8
			p.c += int64(len(xs))
		}
	}
	if err := g(n); err != nil {
		return 0, fmt.Errorf("g: %w", err)
	}
	if len(xs) == 0 {
		return 0, errors.New("none")
	}
	sort(xs[:n], n, len(xs))
	n = min(n, 9)
	panic("never")
}
`

// TestMutants: each kind finds what it is for, every mutant can be parsed, and differs from the
// source in one place.
func TestMutants(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "p.go"), []byte(example), 0o644); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"compare":    {"if x <= 3 && p.ok {", "if x < 3 || p.ok {", "if err := g(n); err == nil {"},
		"arithmetic": {"n -= x", "count--"},
		"negate":     {"if !(x < 3 && p.ok) {", "if err := g(n); !(err != nil) {"},
		"constant":   {"n := 1", "if x < 4 && p.ok {"},
		"drop":       {"{\n\t\t\t\n\t\t\tcount++"},
		"swap":       {"count++\n\t\t\tn += x"}, // and not p.a with p.b, nor p.b with p.c

		"half":      {"if x < 3 {", "if p.ok {"},
		"force":     {"if (x < 3 && p.ok) || true {", "if (x < 3 && p.ok) && false {"},
		"bound":     {"if x < 2 && p.ok {", "sort(xs[:(n)-1], n, len(xs))"},
		"arguments": {"sort(n, xs[:n], len(xs))", "sort(xs[:n], len(xs), n)"},
		"once":      {"p.c += int64(len(xs))\n\t\t}\n\t; break; }"},

		"wrap": {`fmt.Errorf("g: %v", err)`, "return 0, nil"},
		"lock": {"error) {\n\t\n\t\n\tn := 0"},
	}
	for _, k := range kinds {
		found, err := findAll(root, ".", []string{k.name})
		if err != nil {
			t.Fatal(err)
		}
		var changed []string
		for _, m := range found {
			text := m.apply(example)
			changed = append(changed, text)
			if _, err := parser.ParseFile(token.NewFileSet(), "p.go", text, 0); err != nil {
				t.Errorf("%s: %v", m.name(), err)
			}
			if k.name == "swap" && (strings.Contains(text, "p.b = 8\n\t\t\tp.a = 7") || strings.Contains(text, "p.c += int64(len(xs))\n\t\t\tp.b")) {
				t.Errorf("%s cannot matter", m.name())
			}
			if text == example || strings.Contains(m.text, "never") || strings.Contains(text, "min(9, n)") {
				t.Errorf("%s changes nothing, or what is impossible", m.name())
			}
		}
		for _, piece := range want[k.name] {
			if !slices.ContainsFunc(changed, func(text string) bool { return strings.Contains(text, piece) }) {
				t.Errorf("no %s mutant has %q", k.name, piece)
			}
		}
	}
}

// TestEquivalentMutantsExist: each mutant that is argued is one of the present source, and has a
// reason.
func TestEquivalentMutantsExist(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, equivalentFile)
	all, err := readEquivalent(file)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d mutants are argued: %v", len(all), err)
	}
	stale, err := all.stale(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stale {
		t.Errorf("%q is no mutant: go test ./tests/mutants -v -args -prune", name)
	}
	for name, reason := range all {
		if reason == "" {
			t.Errorf("%q has no reason", name)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != all.String() {
		t.Errorf("%s is not in order: go test ./tests/mutants -v -args -prune (%v)", equivalentFile, err)
	}
}

const (
	exampleC = `#define N 3
int f(int *a, int n) { // n < 3
	int sum = 0;
	if (a == NULL || n < 1) return BAD;
	for (int i = 0; i < n; i++) {
		sum += a[i];
		note("i == 1", i, sum);
	}
	p->sum = sum;
	return sum;
}
`
	examplePython = `def f(a, n):
    """n == 3"""
    if a is None and n > 1:
        raise ValueError("n is 3")  # in 3
    call(a, n)
    return n + 1
`
)

// TestLines: mutants of lines are of code, and name the function.
func TestLines(t *testing.T) {
	all := func(string) bool { return true }
	for file, want := range map[string][]string{
		"x/f.c": {
			"x f.c f\tresult: return sum; becomes return 0; in return sum;",
			"x f.c f\tcompare: || becomes && in if (a == NULL || n < 1) return BAD;",
			"x f.c f\tforce: if (a == NULL || n < 1) return BAD; becomes if ((a == NULL || n < 1) || 1) return BAD; in if (a == NULL || n < 1) return BAD;",
			"x f.c f\tnegate: if (a == NULL || n < 1) return BAD; becomes if (!(a == NULL || n < 1)) return BAD; in if (a == NULL || n < 1) return BAD;",
			"x f.c f\tarithmetic: ++ becomes -- in for (int i = 0; i < n; i++) {",
			"x f.c f\tdrop: note(\"i == 1\", i, sum); becomes ; in note(\"i == 1\", i, sum);",
			"x f.c f\tdrop: p->sum = sum; becomes ; in p->sum = sum;",
			"x f.c f\tconstant: 1 becomes 2 in if (a == NULL || n < 1) return BAD;",
		},
		"x/f.py": {
			"x f.py f\tcompare: is becomes is not in if a is None and n > 1:",
			"x f.py f\tforce: if a is None and n > 1: becomes if (a is None and n > 1) or True: in if a is None and n > 1:",
			"x f.py f\tdrop: raise ValueError(\"n is 3\") becomes pass in raise ValueError(\"n is 3\") # in 3",
			"x f.py f\targuments: l(a, n) becomes l(n, a) in call(a, n)",
			"x f.py f\tresult: return n + 1 becomes return None in return n + 1",
		},
	} {
		source := exampleC
		if strings.HasSuffix(file, ".py") {
			source = examplePython
		}
		var names []string
		for _, m := range lineMutants(file, source, all) {
			names = append(names, m.name())
			if text := m.apply(source); text == source || strings.Count(text, "\n") != strings.Count(source, "\n") {
				t.Errorf("%s: %q", m.name(), text)
			}
			if m.line == 1 && file == "x/f.c" || strings.Contains(m.text, "becomes <= in int f") {
				t.Errorf("%s is no code", m.name())
			}
		}
		for _, name := range want {
			if !slices.Contains(names, name) {
				t.Errorf("%q is not among\n%s", name, strings.Join(names, "\n"))
			}
		}
	}
}

// TestEveryRoom: each folder with functions, in Go, C, C++ or Python, is in the table.
func TestEveryRoom(t *testing.T) {
	const root = "../.."
	code := map[string]*regexp.Regexp{
		".go": regexp.MustCompile(`(?m)^func .*\{$`), ".c": regexp.MustCompile(`(?m)^\}`), ".cc": regexp.MustCompile(`(?m)^\}`), ".py": regexp.MustCompile(`(?m)^def `),
	}
	known := map[string]bool{}
	for _, f := range folders {
		known[f.dir] = true
	}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := entry.Name(); {
		case entry.IsDir() && path != "." && (name == "testdata" || name == "build" || path == "tests" || name[0] == '.'):
			return fs.SkipDir
		case entry.IsDir() || strings.HasSuffix(name, "_test.go") || code[filepath.Ext(name)] == nil:
			return nil
		}
		extension := filepath.Ext(path)
		dir := filepath.ToSlash(filepath.Dir(path))
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil || !code[extension].Match(text) {
			return err
		}
		folder := dir
		if extension != ".go" {
			folder += ":" + extension[1:]
		}
		if !known[folder] && !slices.Contains(ofDevelopers, dir) {
			t.Errorf("%s is in no folder of the table", path)
			known[folder] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
