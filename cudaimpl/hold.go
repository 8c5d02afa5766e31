//go:build cgo && linux

package cudaimpl

/*
#include "driver.h"

static CUresult host_alloc(CUcontext c, void **p, size_t bytes) { return IN(c, cu.MemHostAlloc(p, bytes, HOST_PORTABLE_MAPPED)); }
static CUresult host_free(CUcontext c, void *p) { return IN(c, cu.MemFreeHost(p)); }
static CUresult device_pointer(CUcontext c, CUdeviceptr *d, void *p) { return IN(c, cu.MemHostGetDevicePointer(d, p, 0)); }
static CUresult wait_value(CUcontext c, CUstream s, CUdeviceptr p, uint32_t value) {
	return IN(c, cu.StreamWaitValue32(s, p, value, WAIT_VALUE_GEQ));
}
*/
import "C"

import (
	"errors"
	"sync"
	"sync/atomic"
	"unsafe"

	"gaugeblock/spec"
)

// Holding streams back. A test of what happens while work is not done needs work that
// is not done for as long as the test likes. The stream is made to wait until a word
// of host memory that the device sees has reached a number (cuStreamWaitValue32), and
// the host writes that number when it likes.
//
// Whoever holds a stream must not wait for it, nor for the device: Free does, and so
// may other calls of the driver. Streams also share queues of the hardware, 8 unless
// CUDA_DEVICE_MAX_CONNECTIONS says otherwise; one that is held can hold up another.

// holdSlots is how many holds there can be at a time.
const holdSlots = 1024

// holds are the words. A word only grows: each hold waits for one more than the hold
// before it on the same word has, so a stream that has not looked yet when its word is
// used again is not held a second time.
type holds struct {
	mu      sync.Mutex
	memory  unsafe.Pointer
	context C.CUcontext // that the memory was obtained in
	last    [holdSlots]uint32
	open    [holdSlots]bool
	next    int
}

// A Hold keeps a stream's later work from being done, until Release.
type Hold struct {
	word  *uint32
	value uint32
	holds *holds
	slot  int
}

// Hold makes what is given to the stream from here on wait for Release. The stream must
// not be captured.
func (g *GPU) Hold(dev spec.Device, s spec.Stream) (*Hold, error) {
	const method = "Hold"
	context, err := g.context(method, dev)
	if err != nil {
		return nil, err
	}
	h := &g.holds
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.memory == nil {
		if err := check(method, "cuMemHostAlloc", C.host_alloc(context, &h.memory, 4*holdSlots)); err != nil {
			return nil, err
		}
		h.context = context
		clear(unsafe.Slice((*uint32)(h.memory), holdSlots))
	}
	slot, err := h.slot()
	if err != nil {
		return nil, err
	}
	word := unsafe.Add(h.memory, 4*slot)
	var at C.CUdeviceptr
	if err := check(method, "cuMemHostGetDevicePointer", C.device_pointer(context, &at, word)); err != nil {
		return nil, err
	}
	value := h.last[slot] + 1
	if err := check(method, "cuStreamWaitValue32", C.wait_value(context, C.CUstream(s), at, C.uint32_t(value))); err != nil {
		return nil, err
	}
	h.last[slot], h.open[slot] = value, true
	return &Hold{word: (*uint32)(word), value: value, holds: h, slot: slot}, nil
}

// slot finds a word that holds nothing.
func (h *holds) slot() (int, error) {
	for range holdSlots {
		h.next = (h.next + 1) % holdSlots
		if !h.open[h.next] {
			return h.next, nil
		}
	}
	return 0, &spec.InvalidStateError{Op: "Hold", Reason: "too many streams are held"}
}

// Release lets the stream go on. It can be called more than once.
func (h *Hold) Release() {
	h.holds.mu.Lock()
	defer h.holds.mu.Unlock()
	if h.holds.open[h.slot] && h.holds.last[h.slot] == h.value {
		h.holds.open[h.slot] = false
		atomic.StoreUint32(h.word, h.value)
	}
}

// closeHolds lets everything go on, waits until it has, and gives the memory back.
func (g *GPU) closeHolds() error {
	h := &g.holds
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.memory == nil {
		return nil
	}
	words := unsafe.Slice((*uint32)(h.memory), holdSlots)
	for i := range words {
		atomic.StoreUint32(&words[i], h.last[i])
		h.open[i] = false
	}
	var failures error
	for i, d := range g.devices {
		if d.context.Load() != 0 {
			failures = errors.Join(failures, g.SynchronizeDevice(spec.Device(i)))
		}
	}
	failures = errors.Join(failures, check("Close", "cuMemFreeHost", C.host_free(h.context, h.memory)))
	h.memory = nil
	return failures
}
