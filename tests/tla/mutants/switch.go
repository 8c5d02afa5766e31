package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// environment is the variable that chooses the mutant of a build with all of them.
const environment = "GAUGEBLOCK_MUTANT"

// switchable are the files of the model with all mutants, by name: each changed function is
// there once more, with the name of the mutant, and the original begins with a test whether
// it is to be called.
func switchable(root string, list []mutant) (files map[string]string, err error) {
	texts, edits := map[string]string{}, map[string][]edit{}
	files = map[string]string{}
	for i := range list {
		for _, p := range list[i].pieces {
			if path.Ext(p.file) != ".go" {
				continue
			}
			if texts[p.file] == "" {
				text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p.file)))
				if err != nil {
					return nil, err
				}
				texts[p.file] = string(text)
			}
			both, err := switchFunction(texts[p.file], list[i].name, &p)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", list[i].name, err)
			}
			edits[p.file] = append(edits[p.file], both...)
			chosen := path.Join(path.Dir(p.file), "chosen_mutant.go")
			files[chosen] = fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar chosenMutant = os.Getenv(%q)\n", path.Base(path.Dir(p.file)), environment)
		}
	}
	for file, text := range texts {
		files[file] = insertAll(text, edits[file])
	}
	return files, nil
}

// An edit inserts a text.
type edit struct {
	at   int
	text string
}

func insertAll(text string, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int { return b.at - a.at }) // from the end
	for _, e := range edits {
		text = text[:e.at] + e.text + text[e.at:]
	}
	return text
}

// switchFunction is the changed function, and the test in the original.
func switchFunction(text, mutant string, p *piece) ([]edit, error) {
	if _, err := p.apply(text); err != nil {
		return nil, err
	}
	at := strings.Index(text, p.before)
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, p.file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	offset := func(pos token.Pos) int { return set.Position(pos).Offset }
	for _, d := range file.Decls {
		f, is := d.(*ast.FuncDecl)
		if !is || at < offset(f.Pos()) || at+len(p.before) > offset(f.End())+1 {
			continue
		}
		name := f.Name.Name + "_" + mutant
		call, err := callOf(f, name)
		if err != nil {
			return nil, err
		}
		changed := strings.Replace(text[offset(f.Pos()):offset(f.End())+1], p.before, p.after, 1)
		changed = strings.Replace(changed, " "+f.Name.Name+"(", " "+name+"(", 1) // in its first line
		return []edit{
			{offset(f.Body.Lbrace) + 1, fmt.Sprintf("\n\tif chosenMutant == %q {\n\t\t%s\n\t}\n", mutant, call)},
			{offset(f.End()) + 1, "\n" + changed},
		}, nil
	}
	return nil, fmt.Errorf("%s: the piece is not within a function", p.file)
}

// callOf calls a function with the arguments of another, and returns.
func callOf(f *ast.FuncDecl, name string) (string, error) {
	var arguments []string
	for _, field := range f.Type.Params.List {
		for _, n := range field.Names {
			argument := n.Name
			if _, isVariadic := field.Type.(*ast.Ellipsis); isVariadic {
				argument += "..."
			}
			arguments = append(arguments, argument)
		}
	}
	if f.Recv != nil {
		if len(f.Recv.List[0].Names) == 0 {
			return "", fmt.Errorf("the receiver of %s has no name", f.Name.Name)
		}
		name = f.Recv.List[0].Names[0].Name + "." + name
	}
	call := name + "(" + strings.Join(arguments, ", ") + ")"
	if f.Type.Results == nil {
		return call + "\n\t\treturn", nil
	}
	return "return " + call, nil
}
