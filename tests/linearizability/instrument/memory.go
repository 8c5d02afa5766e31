package instrument

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
)

// How an expression is used.
type use int

const (
	read    use = iota
	write       // assigned to, or its address goes to a function of another package
	address     // its address is taken: not an access in itself
)

// expr walks through an expression that is used in a way.
func (w *walker) expr(e ast.Expr, how use) {
	if tv, known := w.info.Types[e]; known && tv.IsType() {
		w.typeOf(e)
		return
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		w.expr(e.X, how)
	case *ast.FuncLit:
		w.typeOf(e.Type)
		w.node(e.Body)
	case *ast.CompositeLit:
		w.composite(e)
	case *ast.SelectorExpr:
		w.selector(e, how)
	case *ast.IndexExpr:
		w.index(e, how)
	case *ast.StarExpr:
		w.access(e, how)
		w.expr(e.X, read)
	case *ast.SliceExpr:
		w.operand(e.X)
		for _, i := range []ast.Expr{e.Low, e.High, e.Max} {
			if i != nil {
				w.expr(i, read)
			}
		}
	case *ast.UnaryExpr:
		switch e.Op {
		case token.AND:
			w.expr(e.X, address)
		case token.ARROW:
			w.problem(e.Pos(), "channels are not points")
		default:
			w.expr(e.X, read)
		}
	case *ast.BinaryExpr:
		w.expr(e.X, read)
		w.expr(e.Y, read)
	case *ast.CallExpr:
		w.call(e)
	case *ast.TypeAssertExpr:
		w.expr(e.X, read)
		if e.Type != nil {
			w.typeOf(e.Type)
		}
	}
}

func (w *walker) composite(e *ast.CompositeLit) {
	if e.Type != nil {
		w.typeOf(e.Type)
	}
	t := w.info.TypeOf(e)
	if p, is := t.Underlying().(*types.Pointer); is {
		t = p.Elem()
	}
	_, isStruct := t.Underlying().(*types.Struct)
	for _, part := range e.Elts {
		if kv, is := part.(*ast.KeyValueExpr); is {
			if !isStruct {
				w.expr(kv.Key, read)
			}
			part = kv.Value
		}
		w.expr(part, read)
	}
}

func (w *walker) selector(e *ast.SelectorExpr, how use) {
	s := w.info.Selections[e]
	switch {
	case s == nil:
		w.qualified(e)
	case s.Kind() == types.FieldVal:
		w.access(e, how)
		w.operand(e.X)
	case s.Kind() == types.MethodVal:
		if isSync(s.Obj()) {
			w.problem(e.Pos(), "%s is used without being called", w.written(e))
		}
		w.operand(e.X)
	}
}

func (w *walker) index(e *ast.IndexExpr, how use) {
	w.expr(e.Index, read)
	switch w.info.TypeOf(e.X).Underlying().(type) {
	case *types.Signature: // of a generic function
		w.expr(e.X, read)
	case *types.Map:
		if how == write {
			w.mapOr(e.X, "MapW")
		} else {
			w.mapOr(e.X, "MapR")
		}
	default:
		w.access(e, how)
		w.operand(e.X)
	}
}

// operand walks through what a field or an element is taken of: if it is a pointer, a slice or a
// value it is read, if it is a variable only the part is.
func (w *walker) operand(e ast.Expr) {
	switch w.info.TypeOf(e).Underlying().(type) {
	case *types.Struct, *types.Array:
		if w.shared(e) {
			if w.isElement(e) {
				w.wrap(e, "(&", ")")
			}
			w.expr(e, address)
			return
		}
	}
	w.expr(e, read)
}

// isElement reports whether an expression is an element of a slice. A part of it is written as one
// of a pointer to the element: for the address of s[i].f alone, Go 1.26 may keep what is appended
// to s on the stack, and move it later.
func (w *walker) isElement(e ast.Expr) bool {
	index, is := ast.Unparen(e).(*ast.IndexExpr)
	if !is {
		return false
	}
	_, is = w.info.TypeOf(index.X).Underlying().(*types.Slice)
	return is
}

// access reports that an expression is read or written, if threads can share what it stands for.
func (w *walker) access(e ast.Expr, how use) {
	if how == address || !w.shared(e) {
		return
	}
	letter := "R"
	if how == write {
		letter = "W"
	}
	place := ", " + strconv.Quote(w.place(e.Pos())) + "))"
	if star, is := e.(*ast.StarExpr); is {
		at := w.offset(star.Pos())
		w.edits.Wrap(at, w.offset(star.End()), "(*"+prefix+letter+"(", place)
		w.edits.Replace(at, at+1, "") // the star itself
		return
	}
	w.wrap(e, "(*"+prefix+letter+"(&", place)
}

// shared reports whether an expression stands for memory that is reached through a pointer or a
// slice, so that other threads may have it as well.
func (w *walker) shared(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return w.shared(e.X)
	case *ast.StarExpr:
		return true
	case *ast.SelectorExpr:
		s := w.info.Selections[e]
		return s != nil && s.Kind() == types.FieldVal && (s.Indirect() || w.shared(e.X))
	case *ast.IndexExpr:
		switch w.info.TypeOf(e.X).Underlying().(type) {
		case *types.Slice, *types.Pointer:
			return true
		case *types.Array:
			return w.shared(e.X)
		}
	}
	return false
}
