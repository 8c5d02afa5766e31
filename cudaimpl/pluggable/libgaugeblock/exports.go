//go:build cgo && linux

package main

/*
#define GAUGEBLOCK_TYPES_ONLY
#include "gaugeblock.h"
#include <stdlib.h>
#include <unistd.h>

typedef int (*gaugeblock_accepts)(void *filter, void *stream);
typedef void (*gaugeblock_drop)(void *filter);

static int call_accepts(gaugeblock_accepts f, void *filter, uintptr_t stream) { return f(filter, (void *)stream); }
static void call_drop(gaugeblock_drop f, void *filter) { f(filter); }

extern int gaugeblock_close_log(void);

// The log is finished when the program ends. A process that was forked off it has the
// library, but none of the threads that Go needs.
static pid_t loaded_in;
__attribute__((constructor)) static void at_the_beginning(void) { loaded_in = getpid(); }
__attribute__((destructor)) static void at_the_end(void) {
	if (getpid() == loaded_in) gaugeblock_close_log();
}
*/
import "C"

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"gaugeblock/cudaimpl"
	"gaugeblock/cudaimpl/pluggable"
	"gaugeblock/internal/getenv"
	"gaugeblock/spec"
)

// library is made at the first call. Without a GPU, or with settings that are refused,
// nothing can be allocated, and C has no way to hear why: the program is told on its error
// output, and ends.
var library = sync.OnceValue(func() *pluggable.Library {
	gpu, err := cudaimpl.Open()
	var l *pluggable.Library
	if err == nil {
		l, err = pluggable.NewLibrary(gpu, pluggable.ReadEnvironment(getenv.Get))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "libgaugeblock:", err)
		os.Exit(1)
	}
	inUse.Store(true)
	return l
})

// inUse: the library has been made.
var inUse atomic.Bool

//export gaugeblock_malloc
func gaugeblock_malloc(size C.size_t, device C.int, stream uintptr) uintptr {
	return uintptr(library().Malloc(uint64(size), spec.Device(device), spec.Stream(stream)))
}

//export gaugeblock_free
func gaugeblock_free(ptr uintptr, size C.size_t, device C.int, stream uintptr) {
	library().Free(spec.Ptr(ptr))
}

//export gaugeblock_init
func gaugeblock_init(devices C.int) { library() }

//export gaugeblock_reset
func gaugeblock_reset() { library().Reset() }

//export gaugeblock_memory_fraction
func gaugeblock_memory_fraction(fraction C.double, device C.int) {
	library().MemoryFraction(float64(fraction), spec.Device(device))
}

//export gaugeblock_base_alloc
func gaugeblock_base_alloc(ptr uintptr, size *C.size_t) uintptr {
	base, bytes := library().BaseAllocation(spec.Ptr(ptr))
	if size != nil {
		*size = C.size_t(bytes)
	}
	return uintptr(base)
}

//export gaugeblock_record_stream
func gaugeblock_record_stream(ptr, stream uintptr) {
	library().RecordStream(spec.Ptr(ptr), spec.Stream(stream))
}

func poolID(p C.gaugeblock_pool) spec.PoolID {
	return spec.PoolID{Capture: uint64(p.capture), User: uint64(p.user)}
}

// filters are those of pools that are begun, to be dropped when that ends.
var filters struct {
	sync.Mutex
	drop map[begun]func()
}

type begun struct {
	device C.int
	pool   C.gaugeblock_pool
}

//export gaugeblock_begin_allocate_to_pool
func gaugeblock_begin_allocate_to_pool(device C.int, pool C.gaugeblock_pool, accepts C.gaugeblock_accepts, drop C.gaugeblock_drop, filter unsafe.Pointer) {
	filters.Lock()
	if filters.drop == nil {
		filters.drop = map[begun]func(){}
	}
	filters.drop[begun{device, pool}] = func() { C.call_drop(drop, filter) }
	filters.Unlock()
	library().BeginAllocateToPool(spec.Device(device), poolID(pool), func(s spec.Stream) bool {
		return C.call_accepts(accepts, filter, C.uintptr_t(s)) != 0
	})
}

//export gaugeblock_end_allocate_to_pool
func gaugeblock_end_allocate_to_pool(device C.int, pool C.gaugeblock_pool) {
	library().EndAllocateToPool(spec.Device(device), poolID(pool))
	filters.Lock()
	defer filters.Unlock()
	if drop := filters.drop[begun{device, pool}]; drop != nil {
		drop()
		delete(filters.drop, begun{device, pool})
	}
}

//export gaugeblock_release_pool
func gaugeblock_release_pool(device C.int, pool C.gaugeblock_pool) {
	library().ReleasePool(spec.Device(device), poolID(pool))
}

//export gaugeblock_enable_peer_access
func gaugeblock_enable_peer_access(device, peer C.int) {
	library().EnablePeerAccess(spec.Device(device), spec.Device(peer))
}

//export gaugeblock_last_error
func gaugeblock_last_error() *C.char {
	if err := library().LastError(); err != nil {
		return C.CString(err.Error())
	}
	return C.CString("")
}

// text is a text for C, or what went wrong as JSON.
func text(json []byte, err error) *C.char {
	if err != nil {
		return C.CString(fmt.Sprintf("{\"error\": %q}", err.Error()))
	}
	return C.CString(string(json))
}

//export gaugeblock_stats
func gaugeblock_stats(device C.int) *C.char { return text(library().Stats(spec.Device(device))) }

//export gaugeblock_snapshot
func gaugeblock_snapshot() *C.char { return text(library().Snapshot()) }

//export gaugeblock_free_text
func gaugeblock_free_text(t *C.char) { C.free(unsafe.Pointer(t)) }

//export gaugeblock_reset_peak_stats
func gaugeblock_reset_peak_stats(device C.int) { library().ResetPeakStats(spec.Device(device)) }

//export gaugeblock_close_log
func gaugeblock_close_log() C.int {
	if !inUse.Load() {
		return 0
	}
	if err := library().CloseLog(); err != nil {
		fmt.Fprintln(os.Stderr, "libgaugeblock: the trace is not written:", err)
		return 1
	}
	return 0
}
