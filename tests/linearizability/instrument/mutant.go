package instrument

import (
	"fmt"
	"go/ast"
	"maps"

	"gaugeblock/internal/rewrite"
	"gaugeblock/tests/linearizability/points"
)

// A Mutant is a file of the package with mistakes in some of its functions.
type Mutant struct {
	Name string // of letters, digits and _
	File string
	Text string // the whole file
}

// functionsOf are the functions of a file by name, with their texts.
func (s *source) functionsOf(file string) map[string]*ast.FuncDecl {
	functions := map[string]*ast.FuncDecl{}
	for _, d := range s.files[file].Decls {
		if f, is := d.(*ast.FuncDecl); is {
			functions[rewrite.FunctionName(f)] = f
		}
	}
	return functions
}

func (s *source) textOf(f *ast.FuncDecl) string {
	at := s.fset.Position(f.Pos())
	return s.texts[at.Filename][at.Offset:s.offset(f.End())]
}

// build adds the changed functions of a mutant to a file of the reference, each under a name of
// its own, and lets the function that is changed begin with a call of it if the mutant is in force.
func (m *Mutant) build(reference *source, w *walker, functions map[string]*ast.FuncDecl) (text string, sites []points.Site, err error) {
	mutated := *reference
	mutated.texts = maps.Clone(reference.texts)
	mutated.texts[m.File] = m.Text
	if err := mutated.check(); err != nil {
		return "", nil, fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	in := newWalker(&mutated)
	in.mutant = m.Name
	changed := 0
	for _, d := range mutated.files[m.File].Decls {
		f, is := d.(*ast.FuncDecl)
		if !is {
			continue
		}
		original := functions[rewrite.FunctionName(f)]
		if original != nil && reference.textOf(original) == mutated.textOf(f) {
			continue
		}
		changed++
		if original != nil {
			in.edits.Insert(mutated.offset(f.Name.End()), "__"+m.Name)
			call := w.edits.Caller(original, reference.offset).Call(f.Name.Name + "__" + m.Name)
			w.edits.Insert(reference.offset(original.Body.Lbrace)+1, " if "+prefix+"Mutant == \""+m.Name+"\" { "+call+" };")
		}
		in.functionDecl(f)
		at := mutated.fset.Position(f.Pos())
		text += fmt.Sprintf("\n//line %s:%d\n%s\n", m.File, at.Line, in.edits.Apply(m.Text, at.Offset, mutated.offset(f.End())))
	}
	if changed == 0 {
		return "", nil, fmt.Errorf("mutant %s changes no function", m.Name)
	}
	if len(in.problems) > 0 {
		return "", nil, fmt.Errorf("mutant %s: %w", m.Name, in.problems[0])
	}
	return text, in.sites, nil
}
