//go:build cgo && linux

package binary

/*
#cgo CFLAGS: -I${SRCDIR}/adaptor
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include "adaptor.h"
#include "arena.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>

extern int gaugeblockTorchFilter(uint64_t number, uint64_t stream);
extern int gaugeblockTorchNeedMemory(void);

static gaugeblock_torch_call perform;

static const char *load(const char *path) { return dlopen(path, RTLD_NOW | RTLD_GLOBAL) == NULL ? dlerror() : NULL; }

static const char *start(const char *path) {
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) {
		return dlerror();
	}
	gaugeblock_torch_start begin = (gaugeblock_torch_start)dlsym(library, "gaugeblock_torch_start_");
	perform = (gaugeblock_torch_call)dlsym(library, "gaugeblock_torch_call_");
	if (begin == NULL || perform == NULL) {
		return dlerror();
	}
	static const gaugeblock_torch_callbacks callbacks = {gaugeblockTorchFilter, gaugeblockTorchNeedMemory};
	return begin(&callbacks);
}

// The addresses of the arena are taken before Go's runtime begins, since its heap may be anywhere:
// Go 1.26 chooses its address at random.
static void *addresses = MAP_FAILED;
__attribute__((constructor)) static void take(void) {
	addresses = mmap((void *)GAUGEBLOCK_ARENA_PLACE, GAUGEBLOCK_ARENA_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}
static int taken(void) { return addresses == (void *)GAUGEBLOCK_ARENA_PLACE; }

// What is loaded between the two makes its objects in the arena.
static void arena(void *library, const char *what) {
	void (*f)(void) = (void (*)(void))dlsym(library, what);
	if (f != NULL) {
		f();
	}
}
static void begin(void) { arena(RTLD_DEFAULT, "gaugeblock_arena_begin"); }
static void enter(void) { arena(RTLD_DEFAULT, "gaugeblock_arena_enter"); }
static void leave(void) { arena(RTLD_DEFAULT, "gaugeblock_arena_leave"); }

static gaugeblock_torch *make(void) { return calloc(1, sizeof(gaugeblock_torch)); }
static void call(int operation, gaugeblock_torch *x) { perform(operation, x); }
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"unsafe"

	"gaugeblock/fakegpu"
	"gaugeblock/fakegpu/cuda/host"
)

// missing says why nothing can be loaded into this program.
const missing = ""

// loaded is what loading has led to; it is done once a process.
var loaded struct {
	sync.Mutex
	done    bool
	x       *C.gaugeblock_torch
	release string
}

// LoadedRelease is the name of the release that has been loaded into this process; "" if none has.
func LoadedRelease() string { return loaded.release }

// HasArena reports whether the process has the addresses that PyTorch's objects get. They are the
// same in every process, so that PyTorch's hash tables are too.
func HasArena() bool { return C.taken() != 0 }

// Load loads what Build has built, and PyTorch's libraries, into this program. A process can
// do so once: calling it again does nothing.
func Load(o Options) error {
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.done {
		return nil
	}
	if !HasArena() {
		return &UnavailableError{"the addresses of the arena could not be had"}
	}
	host.Attach(host.NewProcess(fakegpu.New(fakegpu.Config{Devices: make([]fakegpu.DeviceConfig, fakegpu.MaxDevices)})))
	if err := os.Setenv("GAUGEBLOCK_CUDA_DEVICES", fmt.Sprint(fakegpu.MaxDevices)); err != nil { // NVML goes by it
		return err
	}
	if err := host.Load(o.Work); err != nil {
		return err
	}
	// What is loaded makes objects, which have to be in the arena, on this thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	load := func(path *C.char) *C.char { return C.load(path) }
	if err := loading(filepath.Join(o.Work, "libgaugeblock_arena.so"), load); err != nil {
		return err
	}
	C.begin()
	C.enter()
	err := errors.Join(
		loading(filepath.Join(o.Libraries, "libc10.so"), load),
		loading(filepath.Join(o.Libraries, "libc10_cuda.so"), load),
		loading(filepath.Join(o.Work, "libgaugeblock_torch_adaptor.so"), load))
	C.leave()
	if err != nil {
		return err
	}
	if err := loading(filepath.Join(o.Work, "libgaugeblock_torch_adaptor.so"), func(path *C.char) *C.char { return C.start(path) }); err != nil {
		return err
	}
	loaded.x = C.make()
	loaded.release, loaded.done = o.Release().Name, true
	return nil
}

// perform calls the adaptor.
func perform(operation C.int, x *C.gaugeblock_torch) { C.call(operation, x) }

func loading(path string, load func(*C.char) *C.char) error {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	if problem := load(text); problem != nil {
		return &UnavailableError{C.GoString(problem)}
	}
	return nil
}
