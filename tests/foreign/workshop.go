package foreign

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gaugeblock/fakegpu/cuda"
)

// A Workshop is where recipes are built: the fake GPU's libraries, the sources, and a
// folder for what is built. The project's own folder must be the current one.
type Workshop struct {
	Sources   string
	Libraries string
	To        string
	Options   string // of the C++ compiler
	built     map[string]string
}

// Open builds the fake GPU's libraries in a folder. Src is a folder of sources, or one that
// has sources.tar.xz, which is unpacked beside what is built. If the sources are not there,
// recipes are missing them.
func Open(src, to, options string) (*Workshop, error) {
	w := &Workshop{Sources: src, Libraries: filepath.Join(to, "fake-cuda"), To: to, Options: options, built: map[string]string{}}
	if err := os.MkdirAll(w.Libraries, 0o755); err != nil {
		return nil, err
	}
	if archive := filepath.Join(src, "sources.tar.xz"); exists(archive) {
		w.Sources = filepath.Join(to, "sources")
		if !exists(w.Sources) {
			if err := os.MkdirAll(w.Sources, 0o755); err != nil {
				return nil, err
			}
			if err := Unpack(archive, w.Sources); err != nil {
				return nil, err
			}
		}
	}
	return w, errors.Join(cuda.Build(w.Libraries), cuda.BuildMachine(".", w.Libraries))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Build builds a recipe, once.
func (w *Workshop) Build(r Recipe) (file string, err error) {
	if file, done := w.built[r.Name]; done {
		return file, nil
	}
	if file, err = r.Build(filepath.Join("tests", "foreign"), w.Sources, w.Libraries, w.To, w.Options); err == nil {
		w.built[r.Name] = file
	}
	return file, err
}

// Programs builds the programs of tests/foreign/program: each is one file.
func (w *Workshop) Programs() error {
	compiler, err := cuda.Compiler("CXX", "c++", "g++", "clang++")
	if err != nil {
		return err
	}
	libraries, err := filepath.Abs(w.Libraries)
	if err != nil {
		return err
	}
	return fs.WalkDir(os.DirFS(filepath.Join("tests", "foreign", "program")), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".cc" {
			return err
		}
		return cuda.Run(exec.Command(compiler, "-std=c++17", "-O1", "-Wall", "-Wextra", "-I"+filepath.Join(libraries, "include"),
			"-o", filepath.Join(w.To, strings.TrimSuffix(name, ".cc")), filepath.Join("tests", "foreign", "program", name),
			"-L"+libraries, "-lcudart", "-lcuda", "-Wl,-rpath,"+libraries, "-ldl", "-lpthread"))
	})
}
