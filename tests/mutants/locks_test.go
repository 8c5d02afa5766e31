package mutants

import (
	"go/ast"
	"strings"
)

// A lock is left out with its Unlock: the Unlocks of the same mutex that follow it, up to the next
// Lock of that mutex, or the end of the function.

// mutexCall takes x.mu.Lock() apart. unlock of alloc's devices, which also delivers trace entries,
// counts as Unlock.
func mutexCall(s ast.Stmt) (mutex, method string) {
	var call *ast.CallExpr
	switch s := s.(type) {
	case *ast.ExprStmt:
		call, _ = s.X.(*ast.CallExpr)
	case *ast.DeferStmt:
		call = s.Call
	}
	if call == nil {
		return "", ""
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	switch selector.Sel.Name {
	case "Lock", "Unlock", "RLock", "RUnlock":
		return expression(selector.X), strings.TrimPrefix(selector.Sel.Name, "R")
	case "unlock":
		return expression(selector.X) + ".mu", "unlock"
	}
	return "", ""
}

func isMutexCall(s ast.Stmt) bool {
	mutex, _ := mutexCall(s)
	return mutex != ""
}

// expression is a chain of names as it is written.
func expression(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return expression(e.X) + "." + e.Sel.Name
	}
	return "?"
}

func (f *finder) lock(n ast.Node) {
	list := blockOf(n)
	for i, s := range list {
		mutex, method := mutexCall(s)
		if method != "Lock" {
			continue
		}
		edits := []edit{{f.offset(s.Pos()), f.offset(s.End()), ""}}
		for _, later := range list[i+1:] {
			if other, method := mutexCall(later); other == mutex && method == "Lock" {
				break
			}
			ast.Inspect(later, func(n ast.Node) bool {
				statement, ok := n.(ast.Stmt)
				if !ok {
					return true
				}
				other, method := mutexCall(statement)
				if other == mutex && method != "Lock" {
					with := ""
					if method == "unlock" {
						with = strings.Replace(f.piece(statement), "unlock()", "deliverLocked()", 1)
					}
					edits = append(edits, edit{f.offset(statement.Pos()), f.offset(statement.End()), with})
				}
				return true
			})
		}
		if len(edits) > 1 {
			f.add(s, mutex, edits...)
		}
	}
}
