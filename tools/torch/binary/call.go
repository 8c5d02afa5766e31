//go:build cgo && linux

package binary

/*
#include "adaptor.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"gaugeblock/fakegpu"
	"gaugeblock/fakegpu/cuda/host"
	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

// An Allocator is PyTorch's, on a fake GPU, as a caller uses it.
type Allocator struct {
	*state
	caller spec.Caller
}

// state is what all callers have in common.
type state struct {
	gpu     *fakegpu.GPU
	process *host.Process
	x       *C.gaugeblock_torch // what a call is given and answers
	steps   Steps               // of mallocs; nil: they have none

	figuresOf spec.Device // the figures come with every call; -1: they do not
	fresh     bool        // and have come at least once

	request  spec.Request // of the malloc that is under way
	filters  []spec.RequestFilter
	onTrace  []func(spec.HistoryEntry)
	onOOM    []func(spec.OutOfMemoryReport)
	onNeed   []func() bool
	settings spec.Config
	grammar  settings.Grammar // of the release
	enabled  bool             // caching is on
}

// current is the allocator of this process.
var current *state

// For is the allocator as a caller uses it: its current stream is the caller's.
func (a *Allocator) For(c spec.Caller) spec.Allocator { return &Allocator{a.state, c} }

var errReplaced = errors.New("another allocator has been made since: PyTorch has one a process")

// New makes an allocator with settings (PYTORCH_ALLOC_CONF), which are in the grammar of its
// release, for all devices of a fake GPU. Load comes before. The allocator that was made before is
// not to be used any more.
func New(driver spec.Driver, conf string, grammar settings.Grammar) (spec.Allocator, error) {
	loaded.Lock()
	defer loaded.Unlock()
	gpu, fake := driver.(*fakegpu.GPU)
	switch {
	case !loaded.done:
		return nil, &UnavailableError{"it has not been loaded"}
	case !fake:
		return nil, &spec.NotSupportedError{Op: "new allocator", Reason: fmt.Sprintf("PyTorch's allocator runs on a fake GPU, not on a %T", driver)}
	}
	config, err := grammar.Parse(conf, spec.DefaultGeometry())
	if err != nil {
		return nil, err
	}
	a := &Allocator{state: &state{
		gpu: gpu, process: host.NewProcess(gpu), x: loaded.x, figuresOf: -1, settings: config, grammar: grammar, enabled: true,
	}}
	host.Attach(a.process)
	current = a.state
	a.give(uint64(gpu.DeviceCount()))
	a.say(conf)
	if err := a.call(C.TORCH_RESET); err != nil {
		return nil, err
	}
	return a, nil
}

// give sets what the call is given.
func (a *Allocator) give(words ...uint64) {
	for i, w := range words {
		a.x.given[i] = C.uint64_t(w)
	}
}

func (a *Allocator) say(text string) {
	n := copy(unsafe.Slice((*byte)(unsafe.Pointer(&a.x.text)), C.TORCH_TEXT), text)
	a.x.text_bytes = C.uint64_t(n)
}

func (a *Allocator) said() string {
	return string(unsafe.Slice((*byte)(unsafe.Pointer(&a.x.text)), a.x.text_bytes))
}

// words are the answer's.
func (a *Allocator) words() []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(a.x.words)), a.x.num_words)
}

// call performs an operation and lets the observers know.
func (a *Allocator) call(operation C.int) error {
	if current != a.state {
		return errReplaced
	}
	a.x.figures_of = C.int32_t(a.figuresOf)
	a.x.current_device, a.x.current_stream = C.int32_t(a.caller.Current.Device), C.uint64_t(a.caller.Current.Stream)
	perform(operation, a.x)
	return a.answered()
}

// answered takes the answer of an operation, and lets the observers know.
func (a *Allocator) answered() error {
	x := a.x
	a.fresh = a.figuresOf >= 0
	err := a.failure()
	if x.num_entries > 0 && len(a.onTrace) > 0 {
		for _, e := range unsafe.Slice((*C.gaugeblock_torch_entry)(unsafe.Pointer(x.entries)), x.num_entries) {
			entry := entryOf(&e)
			for _, f := range a.onTrace {
				f(entry)
			}
		}
	}
	if x.oom_calls > 0 {
		report := spec.OutOfMemoryReport{
			Device: spec.Device(x.oom_device), SegmentSize: uint64(x.oom_size),
			Allowed: uint64(x.oom_total), DeviceFree: uint64(x.oom_free),
		}
		for _, f := range a.onOOM {
			f(report)
		}
	}
	return err
}

// UseSteps implements Stepper.
func (a *Allocator) UseSteps(s Steps) {
	a.steps = s
	a.process.AroundMalloc = s.AroundDriver
}

// Waits implements Stepper.
func (a *Allocator) Waits(spec.Request) {
	if err := a.call(C.TORCH_WAITS); err != nil {
		panic(err) // the operation cannot fail
	}
}

// GoesOn implements Stepper.
func (a *Allocator) GoesOn(r spec.Request) {
	a.request = r
	perform(C.TORCH_GOES_ON, a.x)
}

func entryOf(e *C.gaugeblock_torch_entry) spec.HistoryEntry {
	return spec.HistoryEntry{
		TraceEntry: spec.TraceEntry{
			Action: spec.Action(e.action), Addr: spec.Ptr(e.address), Size: uint64(e.size), Stream: spec.Stream(e.stream),
		},
		Device: spec.Device(int64(e.device)),
		Pool:   spec.PoolID{Capture: uint64(e.pool[0]), User: uint64(e.pool[1])},
	}
}

// failure is the call's error.
func (a *Allocator) failure() error {
	x := a.x
	if x.kind == C.TORCH_OK {
		return nil
	}
	message := string(unsafe.Slice((*byte)(unsafe.Pointer(&x.message)), x.message_bytes))
	switch x.kind {
	case C.TORCH_OUT_OF_MEMORY:
		e := &OutOfMemory{Message: message, figures: spec.OutOfMemoryError{Device: a.request.Device, Requested: a.request.Bytes}}
		if x.oom_calls > 0 {
			e.figures.SegmentSize, e.figures.DeviceFree = uint64(x.oom_size), uint64(x.oom_free)
		}
		if _, total, err := a.gpu.MemInfo(a.request.Device); err == nil {
			e.figures.DeviceTotal = total
		}
		return e
	case C.TORCH_CUDA:
		return driverError(int(x.code), message)
	}
	return &Refusal{message}
}

//export gaugeblockTorchFilter
func gaugeblockTorchFilter(number, stream C.uint64_t) C.int {
	a := current
	r := a.request
	r.Stream = spec.Stream(stream)
	if a.filters[number](r) {
		return 1
	}
	return 0
}

//export gaugeblockTorchNeedMemory
func gaugeblockTorchNeedMemory() C.int {
	a := current
	if len(a.onNeed) == 0 {
		return 0
	}
	freed := C.int(0)
	for _, f := range a.onNeed {
		if f() {
			freed = 1
		}
	}
	return freed
}
