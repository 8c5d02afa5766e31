package foreign

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

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

// Flags are the flags of the commands that build recipes.
type Flags struct {
	Src, To, Only, Options *string
}

// NewFlags makes the flags. What says what they are about: "recipes", "bugs".
func NewFlags(what string) Flags {
	return Flags{
		Src:     flag.String("src", filepath.Join("..", "shared", "foreign"), "the folder of sources, or of sources.tar.xz, which is unpacked beside what is built"),
		To:      flag.String("to", filepath.Join("build", "foreign"), "where to build"),
		Only:    flag.String("only", "", "only "+what+" whose names match this expression"),
		Options: flag.String("options", "-O1", "options of the C++ compiler"),
	}
}

// Open opens the workshop that the flags describe; match is Only, list all recipes.
func (f Flags) Open() (w *Workshop, match *regexp.Regexp, list []Recipe, err error) {
	if match, err = regexp.Compile(*f.Only); err != nil {
		return nil, nil, nil, err
	}
	if list, err = Recipes(); err != nil {
		return nil, nil, nil, err
	}
	w, err = Open(*f.Src, *f.To, *f.Options)
	return w, match, list, err
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
	if file, err = r.Build(filepath.Join("tools", "foreign"), w.Sources, w.Libraries, w.To, w.Options); err == nil {
		w.built[r.Name] = file
	}
	return file, err
}

// Program builds a program of tools/foreign/program that loads a recipe's library, once.
func (w *Workshop) Program(name string) error {
	if w.built["program "+name] != "" {
		return nil
	}
	compiler, err := cuda.Compiler("CXX", "c++", "g++", "clang++")
	if err != nil {
		return err
	}
	libraries, err := filepath.Abs(w.Libraries)
	if err != nil {
		return err
	}
	file := filepath.Join(w.To, name)
	w.built["program "+name] = file
	return cuda.Run(exec.Command(compiler, "-std=c++17", "-O1", "-Wall", "-Wextra", "-I"+filepath.Join(libraries, "include"),
		"-o", file, filepath.Join("tools", "foreign", "program", name+".cc"),
		"-L"+libraries, "-lcudart", "-lcuda", "-Wl,--disable-new-dtags,-rpath,"+libraries, "-ldl", "-lpthread"))
}
