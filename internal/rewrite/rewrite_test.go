package rewrite

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestApply: edits of one place are nested as expressions are.
func TestApply(t *testing.T) {
	var e Edits
	const text = "f(a + b)"
	e.Wrap(2, 7, "outer(", ")")
	e.Wrap(2, 3, "inner(", ")")
	e.Replace(6, 7, "c")
	e.Insert(8, ";")
	if got, want := e.Apply(text, 0, len(text)), "f(outer(inner(a) + c));"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	if got, want := e.Apply(text, 6, 7), "c)"; got != want {
		t.Errorf("the last operand is %s, not %s", got, want)
	}
	var beside Edits
	beside.Wrap(3, 6, "<", ">")
	beside.Wrap(2, 3, "(", ")")
	if got, want := beside.Apply(text, 0, len(text)), "f((a)< + >b)"; got != want {
		t.Errorf("beside each other: %s, not %s", got, want)
	}
}

// TestCaller: a copy is called with the arguments of its function, whatever has no name.
func TestCaller(t *testing.T) {
	for _, test := range []struct{ text, name, call, named string }{
		{"func f(a, b int, c ...string) error {}", "f", "return copy(a, b, c...)", "func f(a, b int, c ...string) error {}"},
		{"func (x *T[K]) f() {}", "T.f", "x.copy(); return", "func (x *T[K]) f() {}"},
		{"func f[K, V any](m map[K]V) {}", "f", "copy[K, V](m); return", "func f[K, V any](m map[K]V) {}"},
		{"func (T) f(_ int, _ string) {}", "T.f", "receiver0.copy(parameter0, parameter1); return", "func (receiver0 T) f(parameter0 int, parameter1 string) {}"},
	} {
		set := token.NewFileSet()
		text := "package p\n" + test.text
		tree, err := parser.ParseFile(set, "p.go", text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		f := tree.Decls[0].(*ast.FuncDecl)
		var e Edits
		offset := func(p token.Pos) int { return set.Position(p).Offset }
		if got := FunctionName(f); got != test.name {
			t.Errorf("%s: its name is %s", test.text, got)
		}
		e.Caller(f, offset)
		if got := e.Caller(f, offset).Call("copy"); got != test.call {
			t.Errorf("%s: %s, not %s", test.text, got, test.call)
		}
		if got := strings.TrimPrefix(e.Apply(text, 0, len(text)), "package p\n"); got != test.named {
			t.Errorf("%s becomes %s, not %s", test.text, got, test.named)
		}
	}
}

// TestOverlay: files of one name do not get into each other's way.
func TestOverlay(t *testing.T) {
	list, err := Overlay(t.TempDir(), map[string]string{"/a/x.go": "package a", "/b/x.go": "package b"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(list)
	if err != nil || strings.Count(string(text), "x.go") != 4 {
		t.Errorf("%s, %v", text, err)
	}
	for _, taken := range []string{"overlay0/x.go", "overlay0/x.go/within", "overlay.json/within"} { // a folder where a file is to be
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, taken), 0o777); err != nil {
			t.Fatal(err)
		}
		if _, err := Overlay(dir, map[string]string{"/a/x.go": "package a"}); err == nil {
			t.Errorf("%s is there, and nothing is said", taken)
		}
	}
	if _, err := Overlay(list, map[string]string{"/a/x.go": "package a"}); err == nil {
		t.Error("in a file, and nothing is said")
	}
}
