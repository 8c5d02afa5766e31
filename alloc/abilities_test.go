package alloc_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"gaugeblock/alloc"
)

// TestAbilities: each interface of spec whose methods an Allocator has is in Abilities, so
// the compiler checks it, and a watched allocator has it.
func TestAbilities(t *testing.T) {
	allocator, listed := reflect.TypeFor[*alloc.Allocator](), reflect.TypeFor[alloc.Abilities]()
	found := 0
	interfaces := interfacesOf(t, filepath.Join("..", "spec"))
	for _, name := range slices.Sorted(maps.Keys(interfaces)) {
		if !hasAll(allocator, interfaces[name]) {
			continue
		}
		found++
		if !hasAll(listed, interfaces[name]) {
			t.Errorf("an Allocator has the methods of spec.%s: it belongs in Abilities", name)
		}
	}
	if found < 15 {
		t.Errorf("only %d interfaces found", found)
	}
}

// hasAll reports whether a type has methods with all of the names.
func hasAll(typ reflect.Type, names []string) bool {
	for _, name := range names {
		if _, has := typ.MethodByName(name); !has {
			return false
		}
	}
	return true
}

// interfacesOf has the names of the methods of each interface that a folder declares,
// without those of embedded interfaces.
func interfacesOf(t *testing.T, dir string) map[string][]string {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	methods := map[string][]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, is := n.(*ast.TypeSpec); is {
				if typ, is := spec.Type.(*ast.InterfaceType); is {
					methods[spec.Name.Name] = methodsOf(typ)
				}
			}
			return true
		})
	}
	return methods
}

func methodsOf(typ *ast.InterfaceType) (names []string) {
	for _, m := range typ.Methods.List {
		for _, name := range m.Names {
			names = append(names, name.Name)
		}
	}
	return names
}
