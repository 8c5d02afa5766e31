package instrument

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"gaugeblock/tests/linearizability/points"
)

// call walks through a call, and reports it if it is a point.
func (w *walker) call(c *ast.CallExpr) {
	fun := ast.Unparen(c.Fun)
	tv := w.info.Types[fun]
	if name, is := fun.(*ast.Ident); is && tv.IsBuiltin() && (name.Name == "delete" || name.Name == "clear") {
		w.mapOr(c.Args[0], "MapW")
		for _, a := range c.Args[1:] {
			w.expr(a, read)
		}
		return
	}
	foreign := false
	switch {
	case tv.IsType():
		w.typeOf(fun)
	case tv.IsBuiltin():
	default:
		foreign = w.callee(c, fun)
	}
	for _, a := range c.Args {
		w.argument(a, foreign)
	}
}

// argument walks through an argument. If the callee is of another package, it can read a map,
// and write what it has the address of.
func (w *walker) argument(a ast.Expr, foreign bool) {
	if u, is := ast.Unparen(a).(*ast.UnaryExpr); is && foreign && u.Op.String() == "&" {
		w.expr(u.X, w.throughPointer(w.info.TypeOf(u.X)))
		return
	}
	if foreign {
		w.mapOr(a, "MapR")
		return
	}
	w.expr(a, read)
}

// throughPointer is what a function of another package does with what it has the address of: it
// writes it, except for types that nothing changes in place.
func (w *walker) throughPointer(t types.Type) use {
	if named, is := t.(*types.Named); is && (named.Obj().Name() == "Geometry" || named.Obj().Name() == "Config") {
		return read
	}
	return write
}

// callee walks through what is called, and reports whether it is of another package.
func (w *walker) callee(c *ast.CallExpr, fun ast.Expr) (foreign bool) {
	if index, is := fun.(*ast.IndexExpr); is {
		if _, is := w.info.TypeOf(index.X).Underlying().(*types.Signature); is {
			fun = index.X
		}
	}
	if s, is := fun.(*ast.SelectorExpr); is && w.info.Selections[s] != nil && w.info.Selections[s].Kind() == types.MethodVal {
		return w.method(c, s, w.info.Selections[s])
	}
	var object types.Object
	switch f := fun.(type) {
	case *ast.Ident:
		object = w.info.Uses[f]
	case *ast.SelectorExpr:
		if w.info.Selections[f] == nil {
			object = w.info.Uses[f.Sel]
		}
	}
	if f, is := object.(*types.Func); is {
		if f.FullName() == "runtime.Gosched" {
			at := w.site(points.Spin, c)
			w.edits.Replace(w.offset(fun.Pos()), w.offset(fun.End()), prefix+"Gosched")
			w.edits.Insert(w.offset(c.Lparen)+1, at)
			return false
		}
		w.expr(fun, read)
		return f.Pkg() != w.types
	}
	_, isLiteral := fun.(*ast.FuncLit)
	if !isLiteral && !w.literals[object] && !w.isInternal(w.info.TypeOf(fun)) {
		w.dynamic(c, fun)
	}
	w.expr(fun, read)
	return false
}

// dynamic reports a call of what is known at run time only.
func (w *walker) dynamic(c *ast.CallExpr, fun ast.Expr) {
	w.wrap(fun, prefix+"Call(", ", "+w.site(points.Dynamic, c)+")")
}

// method walks through the call of a method.
func (w *walker) method(c *ast.CallExpr, fun *ast.SelectorExpr, s *types.Selection) (foreign bool) {
	receiver := s.Obj().(*types.Func).Signature().Recv().Type()
	_, takesPointer := receiver.(*types.Pointer)
	_, isPointer := w.info.TypeOf(fun.X).Underlying().(*types.Pointer)
	switch {
	case isSync(s.Obj()):
		w.synchronization(c, fun)
	case types.IsInterface(receiver):
		if s.Obj().Pkg() != nil { // not Error of an error
			w.dynamic(c, fun)
		}
		w.expr(fun.X, read)
		return s.Obj().Pkg() != nil
	case takesPointer && !isPointer && s.Obj().Pkg() == w.types:
		w.operand(fun.X)
	case takesPointer && !isPointer:
		w.expr(fun.X, w.throughPointer(w.info.TypeOf(fun.X)))
	default:
		w.expr(fun.X, read)
	}
	return s.Obj().Pkg() != w.types && !isSync(s.Obj())
}

// isSync reports whether a method is of a type of sync or sync/atomic.
func isSync(method types.Object) bool {
	return method.Pkg() != nil && (method.Pkg().Path() == "sync" || method.Pkg().Path() == "sync/atomic")
}

// synchronization replaces the call of a mutex's or an atomic's method.
func (w *walker) synchronization(c *ast.CallExpr, fun *ast.SelectorExpr) {
	kind := points.Atomic
	switch name := fun.Sel.Name; {
	case strings.HasSuffix(name, "Unlock"):
		kind = points.Release
	case strings.HasSuffix(name, "Lock"):
		kind = points.Acquire
	case !slices.Contains([]string{"Load", "Store", "Swap", "CompareAndSwap", "Add"}, name):
		w.problem(fun.Pos(), "%s has no counterpart in package points", name)
	}
	at := w.site(kind, c)
	if len(c.Args) > 0 {
		at += ", "
	}
	w.edits.Insert(w.offset(fun.Sel.End()), "At")
	w.edits.Insert(w.offset(c.Lparen)+1, at)
	w.operand(fun.X)
}

// isInternal reports whether the type of a function names a type that only the package knows, so
// that it cannot be a function of the program.
func (w *walker) isInternal(t types.Type) bool {
	switch t := t.(type) {
	case *types.Named:
		return t.Obj().Pkg() == w.types && !t.Obj().Exported()
	case *types.Pointer:
		return w.isInternal(t.Elem())
	case *types.Slice:
		return w.isInternal(t.Elem())
	case *types.Signature:
		for _, list := range []*types.Tuple{t.Params(), t.Results()} {
			for v := range list.Variables() {
				if w.isInternal(v.Type()) {
					return true
				}
			}
		}
	}
	return false
}
