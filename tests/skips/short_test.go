package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestShortSkipsAreListed: what a test skips with -short or the race detector only, which come together, is on the list. Without this, "make race"
// would be the first to notice that a line is missing, and "make test" would pass.
func TestShortSkipsAreListed(t *testing.T) {
	text, err := os.ReadFile("skips.txt")
	if err != nil {
		t.Fatal(err)
	}
	list, err := readList(string(text))
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join("..", "..")
	found := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, s := range shortSkips(t, path) {
			if found++; !listed(list, module+filepath.ToSlash(dir), s) {
				t.Errorf("%s: %q, which %s says with -short, is not in skips.txt", s.at, s.says, s.function)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 20 {
		t.Errorf("only %d skips found: this test does not see how tests ask for -short any more", found)
	}
}

// shortSkip is a skip of a test that runs without -short and the race detector.
type shortSkip struct {
	at       token.Position
	function string // the function that skips: a test, or what tests call
	says     string
}

// shortSkips finds "if testing.Short() { t.Skip(TEXT) }", and the same with race.Enabled, in a file.
func shortSkips(t *testing.T, path string) (skips []shortSkip) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if branch, ok := n.(*ast.IfStmt); ok && asksShort(branch.Cond) {
				for _, text := range skipTexts(branch.Body) {
					skips = append(skips, shortSkip{files.Position(branch.Pos()), f.Name.Name, text})
				}
			}
			return true
		})
	}
	return skips
}

// asksShort reports whether a condition holds with -short only: it is testing.Short() or race.Enabled, or has one beside "&&".
func asksShort(cond ast.Expr) bool {
	switch e := cond.(type) {
	case *ast.CallExpr:
		return called(e) == "Short"
	case *ast.SelectorExpr:
		return e.Sel.Name == "Enabled"
	case *ast.BinaryExpr:
		return e.Op == token.LAND && (asksShort(e.X) || asksShort(e.Y))
	}
	return false
}

// skipTexts are the texts that a branch skips with, as far as they are constant.
func skipTexts(body *ast.BlockStmt) (texts []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 || called(call) != "Skip" && called(call) != "Skipf" {
			return true
		}
		if text, ok := call.Args[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
			if s, err := strconv.Unquote(text.Value); err == nil {
				texts = append(texts, s)
			}
		}
		return true
	})
	return texts
}

// called is the name of the method or of the package's function that is called, or "".
func called(call *ast.CallExpr) string {
	if f, ok := call.Fun.(*ast.SelectorExpr); ok {
		return f.Sel.Name
	}
	return ""
}

// listed reports whether a line of the list is of this package, says this, and can be of this test. A line may
// name subtests only; what a helper skips may be of any test.
func listed(list []*entry, pkg string, s shortSkip) bool {
	for _, e := range list {
		if e.pkg != pkg || !strings.Contains(s.says, e.says) {
			continue
		}
		subtests := strings.Contains(e.test.String(), s.function+"/")
		if !strings.HasPrefix(s.function, "Test") || subtests || e.test.MatchString(s.function) {
			return true
		}
	}
	return false
}
