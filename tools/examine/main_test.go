package examine

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gaugeblock/fakegpu/cuda"
	"gaugeblock/internal/testfolder"
)

// scratch is a directory that is there while tests run.
var scratch string

func TestMain(m *testing.M) { testfolder.Run(m, &scratch) }

var built = sync.OnceValue(func() error { return Build(scratch) })

// build makes sure that libraries can be examined, and returns a C++ compiler; the test is
// skipped where they cannot.
func build(t *testing.T) (compiler string) {
	t.Helper()
	var unavailable *UnavailableError
	if err := built(); errors.As(err, &unavailable) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	compiler, err := cuda.Compiler("CXX", "c++", "g++", "clang++")
	if err != nil {
		t.Fatal(err)
	}
	return compiler
}

// libraries has those of testdata/libraries that were built, by what the compiler was given.
var libraries = map[string]string{}

// compile builds a library of testdata/libraries, unless a test has done so.
func compile(t *testing.T, source string, options ...string) (library string) {
	t.Helper()
	compiler := build(t)
	given := strings.Join(append([]string{source}, options...), " ")
	if libraries[given] != "" {
		return libraries[given]
	}
	dir, err := os.MkdirTemp(scratch, "library")
	if err != nil {
		t.Fatal(err)
	}
	library = filepath.Join(dir, strings.TrimSuffix(filepath.Base(source), filepath.Ext(source))+".so")
	args := append([]string{"-std=c++17", "-shared", "-fPIC", "-Wall", "-o", library, filepath.Join("testdata", "libraries", source),
		"-I" + filepath.Join(scratch, "include"), "-L" + scratch, "-lcudart"}, options...)
	if err := cuda.Run(exec.Command(compiler, args...)); err != nil {
		t.Fatal(err)
	}
	libraries[given] = library
	return library
}

// plant sets variables of the environment, such as FAULT=crashes, by which the libraries of
// testdata/libraries are made faulty, until the end of the test.
func plant(t *testing.T, variables string) {
	t.Helper()
	for _, v := range strings.Fields(variables) {
		if name, value, _ := strings.Cut(v, "="); !strings.HasPrefix(v, "-") {
			t.Setenv(name, value)
		}
	}
}
