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
)

// scratch is a directory that is there while tests run.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "gaugeblock-examine-test-"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(scratch)
	os.Exit(status)
}

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

// compile builds a library of testdata/libraries.
func compile(t *testing.T, source string, options ...string) (library string) {
	t.Helper()
	compiler := build(t)
	library = filepath.Join(t.TempDir(), strings.TrimSuffix(source, filepath.Ext(source))+".so")
	args := append([]string{"-std=c++17", "-shared", "-fPIC", "-Wall", "-o", library, filepath.Join("testdata", "libraries", source),
		"-I" + filepath.Join(scratch, "include"), "-L" + scratch, "-lcudart"}, options...)
	if err := cuda.Run(exec.Command(compiler, args...)); err != nil {
		t.Fatal(err)
	}
	return library
}
