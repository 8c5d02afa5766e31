//go:build cgo && linux

package main

/*
#cgo CFLAGS: -I${SRCDIR}/native
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include "loops.h"
#include <dlfcn.h>
#include <stdlib.h>

static const char *load(const char *path) { return dlopen(path, RTLD_NOW | RTLD_GLOBAL) == NULL ? dlerror() : NULL; }

static loops_function loops;

static const char *find(void) {
	loops = (loops_function)dlsym(RTLD_DEFAULT, "gaugeblock_loops");
	return loops == NULL ? dlerror() : NULL;
}

static int call(int operation, loops_call *c) { return loops(operation, c); }

static int counts(char *text, size_t bytes) {
	void (*f)(char *, size_t) = (void (*)(char *, size_t))dlsym(RTLD_DEFAULT, "gaugeblock_counts");
	if (f == NULL) {
		return 0;
	}
	f(text, bytes);
	return 1;
}

static loops_call *make(void) { return calloc(1, sizeof(loops_call)); }
*/
import "C"

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"gaugeblock/fakegpu"
	"gaugeblock/fakegpu/cuda"
	"gaugeblock/fakegpu/cuda/host"
	"gaugeblock/tools/torch/binary"
)

//go:embed native
var native embed.FS

// build builds the fake CUDA libraries, with options of the compiler, and the loops, in the
// directory o.Work.
func build(o binary.Options, options ...string) error {
	if err := cuda.Build(o.Work, options...); err != nil {
		return err
	}
	compiler, err := cuda.Compiler("CXX", "c++", "g++", "clang++")
	if err != nil {
		return &binary.UnavailableError{Reason: "there is no C++ compiler (set CXX, or install c++)"}
	}
	if err := os.CopyFS(o.Work, native); err != nil {
		return err
	}
	header := filepath.Join(o.Work, "native", "release.h")
	if err := os.WriteFile(header, []byte(binary.ReleaseHeader), 0o644); err != nil {
		return err
	}
	args := slices.Concat(o.Compile(), []string{"-O3", "-shared", "-fPIC", "-o", filepath.Join(o.Work, "libgaugeblock_loops.so"),
		filepath.Join(o.Work, "native", "loops.cc")}, o.Link())
	return cuda.Run(exec.Command(compiler, args...))
}

// buildCounter builds, behind build, the library that is preloaded to count.
func buildCounter(o binary.Options) (path string, err error) {
	compiler, err := cuda.Compiler("CC", "cc", "gcc", "clang")
	if err != nil {
		return "", err
	}
	path = filepath.Join(o.Work, "libgaugeblock_counter.so")
	return path, cuda.Run(exec.Command(compiler, "-std=gnu11", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC",
		"-o", path, filepath.Join(o.Work, "native", "counter.c"), "-ldl"))
}

// pytorch is PyTorch's allocator, of which a process has one.
type pytorch struct {
	gpu    *fakegpu.GPU // nil: the real one
	thread int          // that has called cudaSetDevice, of the operating system
	c      *C.loops_call
}

// newPyTorch loads what was built, on a fake GPU, or, if the path of CUDA's own runtime library
// is given, on the real one.
//
// The calling goroutine stays on its thread, as a thread of a PyTorch program stays what it is:
// that has called cudaSetDevice, and so has a current context. On any other thread cudaGetDevice,
// which PyTorch calls in each malloc, takes a microsecond and more with CUDA's own runtime.
func newPyTorch(o binary.Options, cudart string) (*pytorch, error) {
	runtime.LockOSThread()
	p := &pytorch{thread: unix.Gettid(), c: C.make()}
	libraries := []string{cudart}
	if cudart == "" {
		libraries = nil
		p.gpu = newGPU()
		host.Attach(host.NewProcess(p.gpu))
		if err := host.Load(o.Work); err != nil {
			return nil, err
		}
	}
	for _, path := range append(libraries,
		filepath.Join(o.Libraries, "libc10.so"), filepath.Join(o.Libraries, "libc10_cuda.so"),
		filepath.Join(o.Work, "libgaugeblock_loops.so"),
	) {
		text := C.CString(path)
		problem := C.load(text)
		C.free(unsafe.Pointer(text))
		if problem != nil {
			return nil, errors.New(C.GoString(problem))
		}
	}
	if problem := C.find(); problem != nil {
		return nil, errors.New(C.GoString(problem))
	}
	p.say("")
	return p, p.call(C.LOOPS_START)
}

func (p *pytorch) say(text string) {
	room := unsafe.Slice((*byte)(unsafe.Pointer(&p.c.text)), C.LOOPS_TEXT)
	room[copy(room[:len(room)-1], text)] = 0
}

func (p *pytorch) call(operation C.int) error {
	if now := unix.Gettid(); now != p.thread {
		return fmt.Errorf("PyTorch's allocator is called on thread %d, and cudaSetDevice was called on thread %d", now, p.thread)
	}
	if C.call(operation, p.c) != 0 {
		return fmt.Errorf("PyTorch's allocator: %s", C.GoString(&p.c.text[0]))
	}
	return nil
}

func (p *pytorch) configure(settings string) error {
	p.say(settings)
	return p.call(C.LOOPS_CONFIGURE)
}

func (p *pytorch) begin(w workload) error {
	p.c.workload = C.loops_workload{
		bytes: C.uint64_t(w.bytes), live: C.uint64_t(w.live), threads: C.uint64_t(w.threads), seed: seed,
	}
	if w.smallOnly {
		p.c.workload.small_only = 1
	}
	return p.call(C.LOOPS_BEGIN)
}

func (p *pytorch) run(steps int) (time.Duration, error) {
	p.c.steps = C.uint64_t(steps)
	err := p.call(C.LOOPS_RUN)
	return time.Duration(p.c.nanoseconds), err
}

func (p *pytorch) end() error { return p.call(C.LOOPS_END) }

func (p *pytorch) figures() (figures, error) {
	err := p.call(C.LOOPS_FIGURES)
	f := &p.c.figures
	return figures{
		allocations: int64(f.allocations), frees: int64(f.frees),
		allocatedBytes: int64(f.allocated_bytes), requestedBytes: int64(f.requested_bytes),
		reservedBytes: int64(f.reserved_bytes),
	}, err
}

func (p *pytorch) driverCalls() uint64 {
	if p.gpu == nil {
		return 0
	}
	return callsOf(p.gpu)
}

const callFigures = C.LOOPS_FIGURES

// The parts of an operation that can be timed alone.
const (
	partNothing        = C.PART_NOTHING
	partEntry          = C.PART_ENTRY
	partRuntimeDevice  = C.PART_RUNTIME_DEVICE
	partC10Device      = C.PART_C10_DEVICE
	partRecursiveMutex = C.PART_RECURSIVE_MUTEX
	partMutex          = C.PART_MUTEX
	partHeap           = C.PART_HEAP
)

// part makes one of the calls of an operation (loops.h) so often.
func (p *pytorch) part(number, times int) error {
	p.c.workload.bytes, p.c.steps = C.uint64_t(number), C.uint64_t(times)
	return p.call(C.LOOPS_PART)
}

// counts are lines, each a number and a name, in a process with the counter.
func counts() (string, error) {
	var text [1 << 16]C.char
	if C.counts(&text[0], C.size_t(len(text))) == 0 {
		return "", errors.New("the counter has not been preloaded")
	}
	return C.GoString(&text[0]), nil
}
