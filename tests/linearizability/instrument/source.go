package instrument

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A source is a package with its types.
type source struct {
	root, pkg string // the module's folder, and the package's below it
	path      string // the import path
	fset      *token.FileSet
	names     []string // of the files, in order
	texts     map[string]string
	files     map[string]*ast.File
	info      *types.Info
	types     *types.Package
	importer  types.Importer
}

// load reads the package in a folder of the module.
func load(root, pkg string) (*source, error) {
	s := &source{root: root, pkg: pkg, texts: map[string]string{}}
	paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		name := filepath.Base(path)
		s.names = append(s.names, name)
		s.texts[name] = string(text)
	}
	if s.importer, s.path, err = exports(root, pkg); err != nil {
		return nil, err
	}
	return s, s.check()
}

// exports imports what the package imports, as the go command has built it.
func exports(root, pkg string) (types.Importer, string, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./"+pkg)
	list.Dir = root
	var problems bytes.Buffer
	list.Stderr = &problems
	out, err := list.Output()
	if err != nil {
		return nil, "", fmt.Errorf("%v: %w\n%s", list, err, problems.Bytes())
	}
	files, path := map[string]string{}, ""
	for line := range strings.Lines(string(out)) {
		var file string
		path, file, _ = strings.Cut(strings.TrimSpace(line), " ") // the package itself is last
		files[path] = file
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
	return importer.ForCompiler(token.NewFileSet(), "gc", open), path, nil
}

// check parses and type-checks the texts.
func (s *source) check() error {
	s.fset, s.files = token.NewFileSet(), map[string]*ast.File{}
	s.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	var files []*ast.File
	for _, name := range s.names {
		file, err := parser.ParseFile(s.fset, name, s.texts[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		s.files[name] = file
		files = append(files, file)
	}
	config := types.Config{Importer: s.importer}
	var err error
	s.types, err = config.Check(s.path, s.fset, files, s.info)
	return err
}

// offset is the place in the text of its file.
func (s *source) offset(p token.Pos) int { return s.fset.Position(p).Offset }

// position is "file.go:12".
func (s *source) position(p token.Pos) string {
	at := s.fset.Position(p)
	return fmt.Sprintf("%s:%d", at.Filename, at.Line)
}

// written is an expression as it stands in the source.
func (s *source) written(e ast.Expr) string {
	at := s.fset.Position(e.Pos())
	return strings.Join(strings.Fields(s.texts[at.Filename][at.Offset:s.offset(e.End())]), " ")
}
