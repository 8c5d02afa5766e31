package foreign

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"gaugeblock/fakegpu/cuda"
)

//go:embed recipes.txt
var table string

// A Recipe builds one allocator at one commit.
type Recipe struct {
	Name     string
	Folder   string   // of tools/foreign
	Kind     string   // pluggable, driver, program
	Sources  []string // folders of the checkout, the allocator's own first
	Commit   string   // of the allocator
	Needs    []string // commands, and headers in <>
	Contract []string // options of "gaugeblock examine"
	Fault    string   // "-": none is known
	CI       bool     // the tests of tools/zoo build it
}

// Recipes are the lines of recipes.txt, in their order.
func Recipes() ([]Recipe, error) { return parse(table) }

var (
	kinds  = map[string]bool{"pluggable": true, "driver": true, "program": true}
	source = regexp.MustCompile(`^([a-z0-9.-]+)@([0-9a-f]{7,40})((?: [a-z0-9.-]+)*)$`)
)

func parse(text string) (recipes []Recipe, err error) {
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		fail := func(format string, args ...any) ([]Recipe, error) {
			return nil, fmt.Errorf("recipes.txt:%d: %s", i+1, fmt.Sprintf(format, args...))
		}
		c := strings.Split(line, "|")
		if len(c) != 8 {
			return fail("%d columns, not 8", len(c))
		}
		for k := range c {
			c[k] = strings.TrimSpace(c[k])
		}
		from := source.FindStringSubmatch(c[3])
		switch {
		case seen[c[0]] || c[0] == "":
			return fail("the name %q is empty or used twice", c[0])
		case !kinds[c[2]]:
			return fail("there is no kind %q", c[2])
		case from == nil:
			return fail("the sources %q are not FOLDER@COMMIT and further folders", c[3])
		case c[6] == "":
			return fail("the fault is missing; - if none is known")
		case c[7] != "yes" && c[7] != "no":
			return fail("%q is neither yes nor no", c[7])
		}
		seen[c[0]] = true
		recipes = append(recipes, Recipe{
			Name: c[0], Folder: c[1], Kind: c[2],
			Sources: append([]string{from[1]}, strings.Fields(from[3])...), Commit: from[2],
			Needs: strings.Fields(c[4]), Contract: strings.Fields(c[5]), Fault: c[6], CI: c[7] == "yes",
		})
	}
	return recipes, nil
}

// File is the name of what the recipe builds.
func (r Recipe) File() string {
	if r.Kind == "pluggable" {
		return r.Name + ".so"
	}
	return r.Name
}

// ErrMissing says that a recipe cannot be built here: sources or tools are missing.
var ErrMissing = errors.New("not here")

// Missing is nil if the recipe can be built from the folder of sources, and otherwise an
// ErrMissing that names what is missing.
func (r Recipe) Missing(sources string) error {
	for _, s := range r.Sources {
		if info, err := os.Stat(filepath.Join(sources, s)); err != nil || !info.IsDir() {
			return fmt.Errorf("%s: the sources %s are %w", r.Name, s, ErrMissing)
		}
	}
	compiler, err := cuda.Compiler("CXX", "c++", "g++", "clang++")
	if err != nil {
		return fmt.Errorf("%s: a C++ compiler is %w", r.Name, ErrMissing)
	}
	for _, need := range r.Needs {
		if need[0] != '<' {
			path, err := exec.LookPath(need)
			if err == nil && (need == "cargo" || need == "rustc") { // which may be there without a toolchain
				err = exec.Command(path, "--version").Run()
			}
			if err != nil {
				return fmt.Errorf("%s: %s is %w", r.Name, need, ErrMissing)
			}
			continue
		}
		look := exec.Command(compiler, "-E", "-x", "c++", "-", "-o", os.DevNull)
		look.Stdin = strings.NewReader("#if !__has_include(" + need + ")\n#error\n#endif\n")
		if look.Run() != nil {
			return fmt.Errorf("%s: the header %s is %w", r.Name, need, ErrMissing)
		}
	}
	return nil
}

// Build builds the recipe: it runs build.sh in the recipe's folder, which finds these
// variables.
//
//	NAME  the recipe's name
//	SRC   the folder that has the sources' folders
//	CUDA  the fake GPU's libraries, and its headers in CUDA/include (fakegpu/cuda/README.md)
//	OUT   the file to build; the script may put others beside it, named after it
//	CXX   the C++ compiler, and OPT its options for speed
//
// Recipes is the folder tools/foreign. The result is the path of the file.
func (r Recipe) Build(recipes, sources, libraries, to, options string) (file string, err error) {
	if err := r.Missing(sources); err != nil {
		return "", err
	}
	compiler, err := cuda.Compiler("CXX", "c++", "g++", "clang++")
	if err != nil {
		return "", err
	}
	var paths []string
	for _, p := range []string{sources, libraries, to} {
		if p, err = filepath.Abs(p); err != nil {
			return "", err
		}
		paths = append(paths, p)
	}
	file = filepath.Join(paths[2], r.File())
	build := exec.Command("sh", "-eu", "build.sh")
	build.Dir = filepath.Join(recipes, r.Folder)
	build.Env = append(os.Environ(), "NAME="+r.Name, "SRC="+paths[0], "CUDA="+paths[1], "OUT="+file, "CXX="+compiler, "OPT="+options)
	if err := cuda.Run(build); err != nil {
		return "", fmt.Errorf("%s: %w", r.Name, err)
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: build.sh ended well and has not built %s", r.Name, file)
	}
	return file, nil
}

// Unpack unpacks an archive of sources (tar, compressed with xz) into a folder; the error is
// ErrMissing if there is no such archive, or no program to unpack it.
func Unpack(archive, to string) error {
	if _, err := os.Stat(archive); err != nil {
		return fmt.Errorf("%s is %w", archive, ErrMissing)
	}
	for _, tool := range []string{"tar", "xz"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("the program %s is %w", tool, ErrMissing)
		}
	}
	return cuda.Run(exec.Command("tar", "-C", to, "-xJf", archive))
}
