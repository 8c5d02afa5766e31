package fakegpu

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLocking holds the package to its rule: exported methods take the machine's lock
// first of all and hold it until they return, nothing else takes it, and nobody who
// holds it calls one that does.
func TestLocking(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var methods []*ast.FuncDecl
	locking := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods = append(methods, f)
				locking[f.Name.Name] = locking[f.Name.Name] || takesLock(t, fset, f)
			}
		}
	}
	if !locking["Malloc"] || !locking["NewProcess"] || locking["enter"] {
		t.Errorf("these take the lock: %v", locking)
	}
	for _, f := range methods {
		if f.Name.IsExported() && !locking[f.Name.Name] {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && len(f.Recv.List[0].Names) > 0 {
				called, _ := call.Fun.(*ast.SelectorExpr)
				if called != nil && locking[called.Sel.Name] && isIdent(called.X, f.Recv.List[0].Names[0].Name) {
					t.Errorf("%v: %s calls %s, which takes the lock", fset.Position(n.Pos()), f.Name.Name, called.Sel.Name)
				}
			}
			return true
		})
	}
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// takesLock looks how a method takes the lock, if it does.
func takesLock(t *testing.T, fset *token.FileSet, f *ast.FuncDecl) (takes bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		block, ok := n.(*ast.BlockStmt)
		if !ok {
			return true
		}
		for i, s := range block.List {
			if !locks(s, "Lock") {
				continue
			}
			takes = true
			deferred, ok := slices.Concat(block.List[i+1:], []ast.Stmt{nil})[0].(*ast.DeferStmt)
			if i > 0 || !ok || !locks(&ast.ExprStmt{X: deferred.Call}, "Unlock") || !f.Name.IsExported() {
				t.Errorf("%v: %s takes the lock against the rule", fset.Position(s.Pos()), f.Name.Name)
			}
		}
		return true
	})
	return takes
}

// locks reports whether a statement calls Lock or Unlock.
func locks(s ast.Stmt, method string) bool {
	e, ok := s.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := e.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && f.Sel.Name == method
}
