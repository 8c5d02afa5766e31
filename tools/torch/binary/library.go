package binary

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"gaugeblock/fakegpu/cuda"
)

//go:embed adaptor
var adaptor embed.FS

// ReleaseHeader is C++ that hides how PyTorch's releases differ: adaptor/release.h.
//
//go:embed adaptor/release.h
var ReleaseHeader string

// An UnavailableError says why PyTorch's allocator cannot be had.
type UnavailableError struct{ Reason string }

func (e *UnavailableError) Error() string { return "PyTorch's allocator: " + e.Reason }

// Options says where PyTorch is.
type Options struct {
	// Libraries is the directory with libc10_cuda.so and libc10.so.
	Libraries string
	// Headers is the directory with c10/ and torch/ in it.
	Headers string
	// CUDAHeaders, if given, is the directory of CUDA's own headers; this project's
	// declarations are used otherwise.
	CUDAHeaders string
	// Work is a directory to build in, which is made if need be.
	Work string
}

// Build builds the libraries of the fake GPU and the adaptor in o.Work. If it cannot, because
// there is no compiler or no PyTorch, or nothing could be loaded, the error is an
// *UnavailableError.
func Build(o Options) error {
	if missing != "" {
		return &UnavailableError{missing}
	}
	for _, name := range []string{"libc10_cuda.so", "libc10.so"} {
		if _, err := os.Stat(filepath.Join(o.Libraries, name)); err != nil {
			return &UnavailableError{err.Error()}
		}
	}
	if err := os.MkdirAll(o.Work, 0o755); err != nil {
		return err
	}
	if err := cuda.Build(o.Work); errors.Is(err, cuda.ErrNoCompiler) {
		return &UnavailableError{err.Error()}
	} else if err != nil {
		return err
	}
	compiler, err := cuda.Compiler("CXX", "c++", "g++", "clang++")
	if err != nil {
		return &UnavailableError{"there is no C++ compiler (set CXX, or install c++)"}
	}
	from := filepath.Join(o.Work, "src")
	if err := os.RemoveAll(from); err != nil {
		return err
	}
	if err := os.CopyFS(from, adaptor); err != nil {
		return err
	}
	const arena, library = "libgaugeblock_arena.so", "libgaugeblock_torch_adaptor.so"
	first := exec.Command(compiler, "-std=c++20", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-fvisibility=hidden", "-ftls-model=initial-exec",
		"-I"+filepath.Join(from, "adaptor"), "-Wl,-soname,"+arena, "-o", filepath.Join(o.Work, arena), filepath.Join(from, "adaptor", "arena.cc"))
	second := exec.Command(compiler, slices.Concat(o.Compile(), []string{"-O2", "-shared", "-fPIC",
		"-o", filepath.Join(o.Work, library), filepath.Join(from, "adaptor", "adaptor.cc"),
		filepath.Join(o.Work, arena)}, o.Link(), []string{"-ldl", "-Wl,--disable-new-dtags,-rpath,$ORIGIN"})...)
	if err := cuda.Kept(o.Work, []string{arena, library}, o.builtOf(), first, second); err != nil {
		return fmt.Errorf("building the adaptor to PyTorch: %w", err)
	}
	return nil
}

// builtOf is what the adaptor is built of: its sources, CUDA's declarations, and this PyTorch.
func (o Options) builtOf() []string {
	texts := append(cuda.Headers(), cuda.Texts(adaptor, ".")...)
	for _, path := range []string{filepath.Join(o.Libraries, "libc10_cuda.so"), filepath.Join(o.Libraries, "libc10.so"), filepath.Join(o.Headers, "c10"), o.CUDAHeaders} {
		texts = append(texts, cuda.Identity(path))
	}
	return texts
}

// Compile are the compiler's options for C++ with PyTorch's headers and, if PyTorch has not CUDA's,
// this project's. Headers from 2.12 on are in C++20.
func (o Options) Compile() []string {
	args := []string{"-std=c++20", "-I" + filepath.Join(o.Work, "src", "adaptor"), "-isystem", o.Headers}
	if o.CUDAHeaders != "" {
		args = append(args, "-I"+o.CUDAHeaders)
	}
	return append(args, "-I"+filepath.Join(o.Work, "include"))
}

// Link are the linker's options for PyTorch's libraries with the fake CUDA runtime.
func (o Options) Link() []string {
	return []string{"-L" + o.Libraries, "-lc10_cuda", "-lc10", o.runtime()}
}
