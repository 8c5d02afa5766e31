//go:build cgo && linux

package host

/*
#cgo LDFLAGS: -ldl
#include "gaugeblock_cuda_table.h"
#include <dlfcn.h>
#include <stdlib.h>

extern int gaugeblockHostCall(int operation, uint64_t *words);

static const char *load(const char *path, int registers) {
	void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (library == NULL) {
		return dlerror();
	}
	if (registers) {
		gaugeblock_register f = (gaugeblock_register)dlsym(library, "gaugeblock_cuda_register");
		if (f == NULL) {
			return dlerror();
		}
		f(gaugeblockHostCall);
	}
	return NULL;
}
*/
import "C"

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"unsafe"
)

// Available: the libraries can be loaded into this program.
const Available = true

// attached is whom the libraries of this process speak to.
var attached atomic.Pointer[Process]

// Attach makes a process the one that the libraries see.
func Attach(p *Process) { attached.Store(p) }

//export gaugeblockHostCall
func gaugeblockHostCall(operation C.int, w *C.uint64_t) C.int {
	p := attached.Load()
	if p == nil {
		return 3 // cudaErrorInitializationError
	}
	return C.int(p.call(operation, (*words)(unsafe.Pointer(w))))
}

// Call performs an operation for a machine in a library (../machine).
func Call(operation int32, w *[8]uint64) int32 {
	return int32(gaugeblockHostCall(C.int(operation), (*C.uint64_t)(unsafe.Pointer(w))))
}

// Load loads the libraries of a directory into this program, which is their machine from
// then on: whoever opens libcuda.so.1 or libcudart.so.13 afterwards gets these.
func Load(dir string) error {
	for i, name := range []string{"libcuda.so.1", "libcudart.so.13", "libcudart.so.12", "libnvidia-ml.so.1"} {
		path := C.CString(filepath.Join(dir, name))
		registers := C.int(0)
		if i == 0 {
			registers = 1
		}
		problem := C.load(path, registers)
		C.free(unsafe.Pointer(path))
		if problem != nil {
			return fmt.Errorf("loading the libraries of the fake GPU: %s", C.GoString(problem))
		}
	}
	return nil
}
