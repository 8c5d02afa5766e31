package mutants

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"

	"gaugeblock/internal/rewrite"
)

// environment is the variable that chooses the mutant of a build with all of them.
const environment = "GAUGEBLOCK_MISTAKE"

// switchable are the files of the model with all mutants, by name: each changed function is
// there once more, with the name of the mutant, and the original begins with a test whether
// it is to be called.
func switchable(root string, list []mutant) (files map[string]string, err error) {
	texts, edits := map[string]string{}, map[string]*rewrite.Edits{}
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
				texts[p.file], edits[p.file] = string(text), &rewrite.Edits{}
			}
			if err := switchFunction(edits[p.file], texts[p.file], list[i].name, &p); err != nil {
				return nil, fmt.Errorf("%s: %w", list[i].name, err)
			}
			chosen := path.Join(path.Dir(p.file), "chosen_mutant.go")
			files[chosen] = fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar chosenMutant = os.Getenv(%q)\n", path.Base(path.Dir(p.file)), environment)
		}
	}
	for file, text := range texts {
		files[file] = edits[file].Apply(text, 0, len(text))
	}
	return files, nil
}

// switchFunction adds the changed function, and the test in the original.
func switchFunction(edits *rewrite.Edits, text, mutant string, p *piece) error {
	if _, err := p.apply(text); err != nil {
		return err
	}
	at := strings.Index(text, p.before)
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, p.file, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	offset := func(pos token.Pos) int { return set.Position(pos).Offset }
	for _, d := range file.Decls {
		f, is := d.(*ast.FuncDecl)
		if !is || at < offset(f.Pos()) || at+len(p.before) > offset(f.End())+1 {
			continue
		}
		name := f.Name.Name + "_" + mutant
		changed := strings.Replace(text[offset(f.Pos()):offset(f.End())+1], p.before, p.after, 1)
		// in its first line
		changed = strings.Replace(changed, " "+f.Name.Name+"(", " "+name+"(", 1)
		call := edits.Caller(f, offset).Call(name)
		edits.Insert(offset(f.Body.Lbrace)+1, fmt.Sprintf("\n\tif chosenMutant == %q {\n\t\t%s\n\t}\n", mutant, call))
		edits.Insert(offset(f.End())+1, "\n"+changed)
		return nil
	}
	return fmt.Errorf("%s: the piece is not within a function", p.file)
}
