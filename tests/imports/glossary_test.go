package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// packageDirs are the folders of the packages that documents name by their last
// element only.
var packageDirs = map[string]string{
	"spec": "spec", "trace": "spec/trace", "invariant": "spec/invariant", "settings": "spec/settings",
	"alloc": "alloc", "fakegpu": "fakegpu", "model": "model", "conformance": "conformance",
	"snapshot": "snapshot", "report": "snapshot/report",
}

// TestGlossary: what the last column of docs/glossary.md names is declared.
func TestGlossary(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("`([a-z]+)\\.([A-Za-z.]+)`")
	declared := map[string]map[string]bool{}
	checked := 0
	for i, row := range strings.Split(string(page), "\n") {
		cells := strings.Split(row, "|")
		if len(cells) < 4 {
			continue
		}
		for _, m := range name.FindAllStringSubmatch(cells[len(cells)-2], -1) {
			if declared[m[1]] == nil {
				declared[m[1]] = declarations(t, filepath.Join(root, packageDirs[m[1]]))
			}
			checked++
			if !declared[m[1]][m[2]] {
				t.Errorf("docs/glossary.md:%d: package %s does not declare %s", i+1, m[1], m[2])
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d names found", checked)
	}
}

// declarations lists what the files of a package declare: "name" for what stands at
// the top, "Type.name" for fields and methods.
func declarations(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no Go files in %s (%v)", dir, err)
	}
	names := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			declare(names, d)
		}
	}
	return names
}

func declare(names map[string]bool, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		names[receiver(d)+d.Name.Name] = true
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names[s.Name.Name] = true
				for _, member := range members(s.Type) {
					names[s.Name.Name+"."+member] = true
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names[n.Name] = true
				}
			}
		}
	}
}

// receiver is the type of a method and a period, "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	typ := f.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if name, ok := typ.(*ast.Ident); ok {
		return name.Name + "."
	}
	return "?."
}

// members are the named fields of a struct or methods of an interface.
func members(typ ast.Expr) (names []string) {
	var list *ast.FieldList
	switch typ := typ.(type) {
	case *ast.StructType:
		list = typ.Fields
	case *ast.InterfaceType:
		list = typ.Methods
	default:
		return nil
	}
	for _, field := range list.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}
