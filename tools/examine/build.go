package examine

import (
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"gaugeblock/fakegpu/cuda"
	"gaugeblock/fakegpu/cuda/host"
)

//go:embed host/host.cc
var hostSource string

//go:embed host/host.py
var pythonSource string

// hostName is the program that loads a library, in the directory of Build, and pythonName that which
// imports a module in Python.
const (
	hostName   = "gaugeblock-host"
	pythonName = "host.py"
)

// An UnavailableError says why libraries cannot be examined here.
type UnavailableError struct{ Reason string }

func (e *UnavailableError) Error() string { return "examine: " + e.Reason }

// Build builds in a directory the libraries of the fake GPU and the program that loads
// libraries to be examined. Without a compiler, or cgo, the error is an *UnavailableError.
func Build(dir string) error {
	if !host.Available {
		return &UnavailableError{"gaugeblock was built without cgo, or not for Linux"}
	}
	compiler, err := cuda.Compiler("CXX", "c++", "g++", "clang++")
	if err != nil {
		return &UnavailableError{"there is no C++ compiler (set CXX, or install c++)"}
	}
	if err := cuda.Build(dir); errors.Is(err, cuda.ErrNoCompiler) {
		return &UnavailableError{err.Error()}
	} else if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	source := filepath.Join(dir, "host.cc")
	if err := os.WriteFile(source, []byte(hostSource), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, pythonName), []byte(pythonSource), 0o644); err != nil {
		return err
	}
	const part = "libgaugeblock-host.so"
	command := func(name string, options ...string) *exec.Cmd {
		args := []string{"-std=c++17", "-O2", "-Wall", "-Wextra", "-I" + filepath.Join(dir, "include"), "-o", filepath.Join(dir, name), source, "-ldl", "-pthread"}
		return exec.Command(compiler, append(args, options...)...)
	}
	return cuda.Kept(dir, []string{part, hostName}, append(cuda.Headers(), hostSource),
		command(part, "-shared", "-fPIC", "-DGAUGEBLOCK_PART"), command(hostName, "-rdynamic"))
}
