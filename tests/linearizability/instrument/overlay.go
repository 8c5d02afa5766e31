package instrument

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"gaugeblock/internal/rewrite"
	"gaugeblock/tests/linearizability/points"
)

// registration is the file that the overlay adds to the package.
const registration = "instrumented.go"

// Overlay instruments the package in a folder of the module at root, with the mutants built in. It
// writes the files to dir, and returns the argument of go build's -overlay.
func Overlay(root, pkg, dir string, mutants []Mutant) (string, error) {
	s, err := load(root, pkg)
	if err != nil {
		return "", err
	}
	texts, err := s.instrumented(mutants)
	if err != nil {
		return "", err
	}
	files := map[string]string{}
	for name, text := range texts {
		files[filepath.Join(root, filepath.FromSlash(pkg), name)] = text
	}
	return rewrite.Overlay(dir, files)
}

// instrumented are the files of the package, and the one that registers the points.
func (s *source) instrumented(mutants []Mutant) (map[string]string, error) {
	texts := map[string]string{}
	var sites []points.Site
	var names []string
	var problems []error
	for _, name := range s.names {
		w := newWalker(s)
		w.file(s.files[name])
		var added string
		for i := range mutants {
			if mutants[i].File != name {
				continue
			}
			text, more, err := mutants[i].build(s, w, s.functionsOf(name))
			if err != nil {
				return nil, err
			}
			added += text
			sites = append(sites, more...)
			names = append(names, mutants[i].Name)
		}
		sites = append(sites, w.sites...)
		problems = append(problems, w.problems...)
		texts[name] = w.edits.Apply(s.texts[name], 0, len(s.texts[name])) + added
	}
	texts[registration] = s.registration(sites, names)
	return texts, errors.Join(problems...)
}

func (s *source) registration(sites []points.Site, mutants []string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "package %s\n\nimport %q\n\nfunc init() {\n\tpoints.Register([]points.Site{\n", s.types.Name(), "gaugeblock/tests/linearizability/points")
	for _, x := range sites {
		fmt.Fprintf(&text, "\t\t{%q, %q, %q, %q, %q},\n", x.Kind, x.Position, x.Function, x.Callee, x.Text)
	}
	fmt.Fprintf(&text, "\t}, %#v)\n}\n", append([]string{}, mutants...))
	return text.String()
}
