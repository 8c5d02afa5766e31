package mutants

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"

	"gaugeblock/internal/rewrite"
)

// All mutants of a run are in one build: each is a copy of its function, and the function calls
// the copy whose number is in the environment. Number 0 is the source as it is. same calls a
// copy of each changed function that is the same, and writes which mutants it reaches.

const (
	variable     = "GAUGEBLOCK_MUTANT"
	reachedFile  = "GAUGEBLOCK_MUTANTS_REACHED"
	same         = rewrite.Same
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

// ActivateMutant makes the calls that follow those of a mutant, in a process of one thread.
func ActivateMutant(number int) { activeMutant = number }

// MutantsReached are the mutants that were reached since it was called.
func MutantsReached() (numbers []int) {
	for i := range mutantsReached {
		if mutantsReached[i].Load() {
			mutantsReached[i].Store(false)
			numbers = append(numbers, i)
		}
	}
	return numbers
}
`
)

// function is where a function stands in its file.
type function struct {
	*ast.FuncDecl
	pkg        string // the name of its package
	offset     func(token.Pos) int
	start, end int // of the declaration, without its comment
	statements []span
}

type span struct{ start, end int }

// newFunction describes a declaration.
func (f *finder) newFunction(pkg string, d *ast.FuncDecl) *function {
	at := &function{FuncDecl: d, pkg: pkg, offset: f.offset, start: f.offset(d.Pos()), end: f.offset(d.End())}
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

// variants is a file with all its mutants.
type variants struct {
	text   string
	owners []int // the mutant of each line, from line 1; same and 0 as above
}

// newVariants writes the file of all chosen mutants, by number, of one source file.
func newVariants(source string, chosen map[int]*mutant, order []int) *variants {
	var original rewrite.Edits
	cases := map[*function]string{}
	var functions []*function
	add := func(f *function, number int) {
		call := original.Caller(f.FuncDecl, f.offset).Call(variantName(f, number))
		cases[f] += fmt.Sprintf("case %d: %s; ", number, call)
	}
	for _, number := range order {
		f := chosen[number].in
		if cases[f] == "" {
			functions = append(functions, f)
			add(f, same)
		}
		add(f, number)
	}
	for _, f := range functions {
		original.Insert(f.offset(f.Body.Lbrace)+1, " switch activeMutant { "+cases[f]+"}; ")
	}
	v := &variants{}
	v.add(0, original.Apply(source, 0, len(source)))
	for _, f := range functions {
		var unchanged rewrite.Edits
		for _, number := range order {
			if m := chosen[number]; m.in == f {
				v.add(number, f.variant(source, m.rewritten(), number))
				unchanged.Insert(f.statement(m.edits[0].start), fmt.Sprintf("mutantReached(%d); ", number))
			}
		}
		v.add(same, f.variant(source, &unchanged, same))
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
		return fmt.Sprintf("mutantSame%d_%s", f.start, f.Name.Name)
	}
	return fmt.Sprintf("mutant%d_%s", number, f.Name.Name)
}

// variant is a copy of the function with changes.
func (at *function) variant(source string, changes *rewrite.Edits, number int) string {
	changes.Replace(at.offset(at.Name.Pos()), at.offset(at.Name.End()), variantName(at, number))
	return changes.Apply(source, at.start, at.end)
}
