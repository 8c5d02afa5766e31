package instrument

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"

	"gaugeblock/internal/rewrite"
	"gaugeblock/tests/linearizability/points"
)

// prefix is the name by which the instrumented sources import package points.
const prefix = "instrumented_points."

// replaced are the types of sync and sync/atomic that package points has.
var replaced = []string{
	"Mutex", "RWMutex", "Bool", "Pointer", "Int32", "Int64", "Uint32", "Uint64", "Uintptr",
}

// A walker collects what is to be inserted into one file, and its points.
type walker struct {
	*source
	edits    rewrite.Edits
	function string                // that is being walked through
	mutant   string                // if it is one
	literals map[types.Object]bool // variables that are function literals of the same function
	sites    []points.Site
	problems []error
}

func newWalker(s *source) *walker { return &walker{source: s, literals: map[types.Object]bool{}} }

func (w *walker) problem(at token.Pos, format string, args ...any) {
	w.problems = append(w.problems, fmt.Errorf("%s: %s", w.position(at), fmt.Sprintf(format, args...)))
}

// place is a position as an argument in the source.
func (w *walker) place(p token.Pos) string {
	at := w.position(p)
	if w.mutant != "" {
		at += " of mutant " + w.mutant
	}
	return at
}

// site adds a point and returns its position as an argument.
func (w *walker) site(kind points.Kind, call *ast.CallExpr) string {
	at, callee := w.place(call.Pos()), "func"
	if fun, is := ast.Unparen(call.Fun).(*ast.SelectorExpr); is && w.info.Selections[fun] != nil && w.info.Selections[fun].Kind() == types.MethodVal {
		callee = typeName(w.info.Selections[fun].Obj().(*types.Func)) + "." + fun.Sel.Name
	}
	w.sites = append(w.sites, points.Site{Kind: kind, Position: at, Function: w.function, Callee: callee, Text: w.written(call)})
	return strconv.Quote(at)
}

// typeName is the name of the type that a method is of.
func typeName(method *types.Func) string {
	t := method.Signature().Recv().Type()
	if p, is := t.(*types.Pointer); is {
		t = p.Elem()
	}
	return t.(*types.Named).Obj().Name()
}

// file walks through a file.
func (w *walker) file(f *ast.File) {
	w.edits.Insert(w.offset(f.Name.End()), "; import "+prefix[:len(prefix)-1]+" \"gaugeblock/tests/linearizability/points\"")
	w.edits.Insert(w.offset(f.FileEnd), "\nvar _ = "+prefix+"Register\n")
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			w.functionDecl(d)
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				w.imports(d)
			} else {
				w.node(d)
			}
		}
	}
}

// imports leaves out what is replaced.
func (w *walker) imports(d *ast.GenDecl) {
	gone := 0
	for _, spec := range d.Specs {
		path := spec.(*ast.ImportSpec).Path
		if name, _ := strconv.Unquote(path.Value); name == "sync" || name == "sync/atomic" || name == "runtime" {
			w.edits.Replace(w.offset(path.Pos()), w.offset(path.End()), "")
			gone++
		}
	}
	if !d.Lparen.IsValid() && gone > 0 {
		w.edits.Replace(w.offset(d.Pos()), w.offset(d.Pos())+len("import"), "")
	}
}

// functionDecl walks through a function.
func (w *walker) functionDecl(f *ast.FuncDecl) {
	w.function = rewrite.FunctionName(f)
	if f.Recv != nil {
		w.typeOf(f.Recv)
	}
	w.typeOf(f.Type)
	if f.Body != nil {
		w.node(f.Body)
	}
	w.function = ""
}

// node walks through statements and declarations.
func (w *walker) node(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.SendStmt, *ast.SelectStmt, *ast.CommClause:
			w.problem(n.Pos(), "goroutines and channels are not points")
		case *ast.ChanType:
			w.problem(n.Pos(), "channels are not points")
		case *ast.AssignStmt:
			w.assignment(n)
			return false
		case *ast.IncDecStmt:
			w.expr(n.X, write)
			return false
		case *ast.RangeStmt:
			w.rangeStmt(n)
			return false
		case *ast.FieldList:
			w.typeOf(n)
			return false
		case ast.Expr:
			w.expr(n, read)
			return false
		}
		return true
	})
}

func (w *walker) assignment(s *ast.AssignStmt) {
	for i, left := range s.Lhs {
		if s.Tok != token.DEFINE {
			w.expr(left, write)
			continue
		}
		if _, is := s.Rhs[min(i, len(s.Rhs)-1)].(*ast.FuncLit); is {
			w.literals[w.info.Defs[left.(*ast.Ident)]] = true
		}
	}
	for _, right := range s.Rhs {
		w.expr(right, read)
	}
}

func (w *walker) rangeStmt(s *ast.RangeStmt) {
	if s.Tok == token.ASSIGN {
		for _, e := range []ast.Expr{s.Key, s.Value} {
			if e != nil {
				w.expr(e, write)
			}
		}
	}
	w.mapOr(s.X, "MapR")
	w.node(s.Body)
}

// mapOr walks through an expression; if it is a map, all of the map is accessed.
func (w *walker) mapOr(e ast.Expr, access string) {
	t := w.info.TypeOf(e)
	if t == nil {
		return
	}
	if _, is := t.Underlying().(*types.Map); is {
		w.wrap(e, prefix+access+"(", ", "+strconv.Quote(w.place(e.Pos()))+")")
	}
	w.expr(e, read)
}

func (w *walker) wrap(e ast.Expr, before, after string) {
	w.edits.Wrap(w.offset(e.Pos()), w.offset(e.End()), before, after)
}

// typeOf walks through a type.
func (w *walker) typeOf(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ChanType:
			w.problem(n.Pos(), "channels are not points")
		case *ast.SelectorExpr:
			w.qualified(n)
			return false
		}
		return true
	})
}

// qualified replaces a name of package sync or sync/atomic.
func (w *walker) qualified(e *ast.SelectorExpr) {
	x, ok := e.X.(*ast.Ident)
	if !ok {
		return
	}
	pkg, ok := w.info.Uses[x].(*types.PkgName)
	if !ok {
		return
	}
	switch path := pkg.Imported().Path(); {
	case path != "sync" && path != "sync/atomic":
		if path == "runtime" || path == "time" && e.Sel.Name == "Sleep" {
			w.problem(e.Pos(), "%s.%s has no counterpart in package points", x.Name, e.Sel.Name)
		}
	case slices.Contains(replaced, e.Sel.Name):
		w.edits.Replace(w.offset(x.Pos()), w.offset(x.End()), prefix[:len(prefix)-1])
	default:
		w.problem(e.Pos(), "%s.%s has no counterpart in package points", x.Name, e.Sel.Name)
	}
}
