package main

import (
	"fmt"
	"go/ast"
	"strings"
)

// All mutants of a run are in one build: each is a copy of its function, and the function calls
// the copy whose number is in the environment. Number 0 is the source as it is. same calls a
// copy of each changed function that is the same, and writes which mutants it reaches.

const (
	variable     = "GAUGEBLOCK_MUTANT"
	reachedFile  = "GAUGEBLOCK_MUTANTS_REACHED"
	same         = -1
	addedPackage = `package %s

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
)

var (
	activeMutant, _  = strconv.Atoi(os.Getenv("` + variable + `"))
	mutantsReached   [%d]atomic.Bool
	mutantsFile, _   = os.OpenFile(os.Getenv("` + reachedFile + `"), os.O_APPEND|os.O_WRONLY, 0)
)

func mutantReached(number int) {
	if !mutantsReached[number].Load() && !mutantsReached[number].Swap(true) {
		fmt.Fprintln(mutantsFile, number)
	}
}
`
)

// function is where a function stands in its file, and how a copy of it is called.
type function struct {
	name             string
	start, end       int // of the declaration, without its comment
	nameAt, nameEnds int
	body             int // the opening brace
	call             string
	results          bool
	names            []edit // for parameters without names
	statements       []span
}

type span struct{ start, end int }

// newFunction describes a declaration.
func (f *finder) newFunction(d *ast.FuncDecl) *function {
	at := &function{
		name: d.Name.Name, start: f.offset(d.Pos()), end: f.offset(d.End()),
		nameAt: f.offset(d.Name.Pos()), nameEnds: f.offset(d.Name.End()), body: f.offset(d.Body.Pos()),
		results: d.Type.Results != nil,
	}
	if d.Recv != nil {
		at.call = at.named(f, d.Recv)[0] + "."
	}
	at.call += "%s"
	if d.Type.TypeParams != nil {
		at.call += "[" + strings.Join(at.named(f, d.Type.TypeParams), ", ") + "]"
	}
	arguments := at.named(f, d.Type.Params)
	if n := len(d.Type.Params.List); n > 0 {
		if _, variadic := d.Type.Params.List[n-1].Type.(*ast.Ellipsis); variadic {
			arguments[len(arguments)-1] += "..."
		}
	}
	at.call += "(" + strings.Join(arguments, ", ") + ")"
	ast.Inspect(d.Body, func(n ast.Node) bool {
		for _, s := range blockOf(n) {
			switch s.(type) {
			case *ast.CaseClause, *ast.CommClause: // no statement can stand before them
			default:
				at.statements = append(at.statements, span{f.offset(s.Pos()), f.offset(s.End())})
			}
		}
		return true
	})
	return at
}

// statement is where the innermost statement starts that has an offset in it.
func (at *function) statement(offset int) (start int) {
	for _, s := range at.statements {
		if s.start <= offset && offset < s.end {
			start = max(start, s.start)
		}
	}
	return start
}

// named lists the names of parameters, and gives those without a name one.
func (at *function) named(f *finder, fields *ast.FieldList) (names []string) {
	add := func(start, end int, after string) {
		name := fmt.Sprintf("parameter%d", len(at.names))
		at.names = append(at.names, edit{start, end, name + after})
		names = append(names, name)
	}
	for _, field := range fields.List {
		if len(field.Names) == 0 {
			start := f.offset(field.Type.Pos())
			add(start, start, " ")
		}
		for _, name := range field.Names {
			if name.Name == "_" {
				add(f.offset(name.Pos()), f.offset(name.End()), "")
			} else {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// variants is a file with all its mutants.
type variants struct {
	text   string
	owners []int // the mutant of each line, from line 1; same and 0 as above
}

// newVariants writes the file of all chosen mutants, by number, of one source file.
func newVariants(source []byte, chosen map[int]*mutant, order []int) *variants {
	v := &variants{}
	calls := map[*function]string{}
	var edits []edit
	var functions []*function
	call := func(f *function, number int) {
		text := fmt.Sprintf(f.call, variantName(f, number))
		if f.results {
			text = "return " + text
		} else {
			text += "; return"
		}
		calls[f] += fmt.Sprintf("case %d: %s; ", number, text)
	}
	for _, number := range order {
		f := chosen[number].in
		if calls[f] == "" {
			functions = append(functions, f)
			call(f, same)
		}
		call(f, number)
	}
	for _, f := range functions {
		edits = append(append(edits, f.names...), edit{f.body + 1, f.body + 1, " switch activeMutant { " + calls[f] + "}; "})
	}
	sortEdits(edits)
	original := mutant{edits: edits}
	v.add(0, string(original.apply(source)))
	for _, f := range functions {
		unchanged := mutant{in: f}
		for _, number := range order {
			if m := chosen[number]; m.in == f {
				v.add(number, m.variant(source, number))
				at := f.statement(m.edits[0].start)
				unchanged.edits = append(unchanged.edits, edit{at, at, fmt.Sprintf("mutantReached(%d); ", number)})
			}
		}
		sortEdits(unchanged.edits)
		v.add(same, unchanged.variant(source, same))
	}
	return v
}

// add adds the text of a variant, after a line feed.
func (v *variants) add(owner int, text string) {
	if v.text != "" {
		text = "\n" + text
	}
	v.text += text
	for len(v.owners) <= strings.Count(v.text, "\n") {
		v.owners = append(v.owners, owner)
	}
}

func variantName(f *function, number int) string {
	if number == same {
		return fmt.Sprintf("mutantSame%d_%s", f.start, f.name)
	}
	return fmt.Sprintf("mutant%d_%s", number, f.name)
}

// variant is a copy of the mutant's function with its change.
func (m *mutant) variant(source []byte, number int) string {
	rename := edit{m.in.nameAt, m.in.nameEnds, variantName(m.in, number)}
	changed := mutant{edits: append([]edit{rename}, m.edits...)}
	tail := len(source) - m.in.end
	text := changed.apply(source)
	return string(text[m.in.start : len(text)-tail])
}
