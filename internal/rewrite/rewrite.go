// Package rewrite changes Go sources for a build: texts that are inserted or replaced, copies of
// functions beside the functions, and the overlay with which the go command sees the changed files.
package rewrite

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Edits are changes of one text.
type Edits struct {
	list    []edit
	callers map[*ast.FuncDecl]*Caller
}

// An edit replaces the bytes from begin to end. Edits of one place are applied in the order in
// which they were added, but those that close an expression before those that open one, the
// inner one first.
type edit struct {
	begin, end int
	text       string
	order      int // below 0 of those that close
}

func (e *Edits) Replace(begin, end int, text string) {
	e.list = append(e.list, edit{begin: begin, end: end, text: text, order: len(e.list)})
}

func (e *Edits) Insert(at int, text string) { e.Replace(at, at, text) }

// Wrap puts texts around an expression. An outer expression is wrapped before an inner one.
func (e *Edits) Wrap(begin, end int, before, after string) {
	e.Insert(begin, before)
	e.list = append(e.list, edit{begin: end, end: end, text: after, order: -len(e.list)})
}

// Apply is the part of a text from begin to end, with the edits in it, those at its ends included.
func (e *Edits) Apply(text string, begin, end int) string {
	inside := slices.DeleteFunc(slices.Clone(e.list), func(x edit) bool { return x.begin < begin || x.end > end })
	slices.SortStableFunc(inside, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.order, b.order))
	})
	var out strings.Builder
	at := begin
	for _, x := range inside {
		out.WriteString(text[at:x.begin])
		out.WriteString(x.text)
		at = x.end
	}
	out.WriteString(text[at:end])
	return out.String()
}

// A Caller calls copies of a function with the function's own arguments.
type Caller struct {
	call    string // with %s for the name
	results bool
}

// Call is a statement that calls a copy and returns.
func (c *Caller) Call(name string) string {
	call := fmt.Sprintf(c.call, name)
	if c.results {
		return "return " + call
	}
	return call + "; return"
}

// Caller calls copies of a function of the text. Parameters without names get some.
func (e *Edits) Caller(f *ast.FuncDecl, offset func(token.Pos) int) *Caller {
	if e.callers[f] != nil {
		return e.callers[f]
	}
	c := &Caller{call: "%s", results: f.Type.Results != nil}
	if f.Recv != nil {
		c.call = e.named(f.Recv, offset, "receiver")[0] + "." + c.call
	}
	if f.Type.TypeParams != nil {
		c.call += "[" + strings.Join(e.named(f.Type.TypeParams, offset, "type"), ", ") + "]"
	}
	arguments := e.named(f.Type.Params, offset, "parameter")
	if n := len(f.Type.Params.List); n > 0 {
		if _, variadic := f.Type.Params.List[n-1].Type.(*ast.Ellipsis); variadic {
			arguments[len(arguments)-1] += "..."
		}
	}
	c.call += "(" + strings.Join(arguments, ", ") + ")"
	if e.callers == nil {
		e.callers = map[*ast.FuncDecl]*Caller{}
	}
	e.callers[f] = c
	return c
}

// named lists the names of parameters, and gives those without a name one.
func (e *Edits) named(fields *ast.FieldList, offset func(token.Pos) int, prefix string) (names []string) {
	add := func(begin, end int, after string) {
		name := fmt.Sprintf("%s%d", prefix, len(names))
		e.Replace(begin, end, name+after)
		names = append(names, name)
	}
	for _, field := range fields.List {
		if len(field.Names) == 0 {
			add(offset(field.Type.Pos()), offset(field.Type.Pos()), " ")
		}
		for _, name := range field.Names {
			if name.Name == "_" {
				add(offset(name.Pos()), offset(name.End()), "")
			} else {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// FunctionName is the name of a function, "T.f" of a method of T or *T.
func FunctionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	return typeName(f.Recv.List[0].Type) + "." + f.Name.Name
}

// typeName leaves out a star and type parameters.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// Overlay writes to dir what makes a build see files with other texts, or more files, and returns
// the argument of go build's -overlay. Each is written under its own base name.
func Overlay(dir string, texts map[string]string) (string, error) {
	replace := map[string]string{}
	for i, file := range slices.Sorted(maps.Keys(texts)) {
		folder := filepath.Join(dir, fmt.Sprintf("overlay%d", i))
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return "", err
		}
		replace[file] = filepath.Join(folder, filepath.Base(file))
		if err := os.WriteFile(replace[file], []byte(texts[file]), 0o666); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	return list, os.WriteFile(list, text, 0o666)
}

// Same is the number of the copy of a function that is the same, where copies have numbers.
const Same = -1
