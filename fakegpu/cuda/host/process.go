//go:build cgo && linux

package host

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"gaugeblock/fakegpu"
	"gaugeblock/fakegpu/cuda/gpus"
	"gaugeblock/spec"
)

// WaitPolicy says what becomes of a call that waits for a stream which is held.
type WaitPolicy int

const (
	// WaitsBlock: it waits until another thread lets the stream go on, as on a real device.
	WaitsBlock WaitPolicy = iota
	// WaitsAnswer: the GPU's own answer is given (fakegpu.Config.Waits).
	WaitsAnswer
)

// A Process is one process's view of a fake machine, as CUDA's calls see it.
type Process struct {
	GPU   *fakegpu.GPU
	Waits WaitPolicy
	// Illegal: work that has touched memory to which it had no right makes every later call
	// fail (cudaErrorIllegalAddress), as a real device does.
	Illegal bool
	// InHost: the host finds the devices' memory at its addresses.
	InHost bool
	// NoBytes: what memory holds is not kept, and reads as zeros. Copies and fills are work that
	// names no memory.
	NoBytes bool
	// Threads: what a thread has waited for orders only what that thread does later, and what
	// others do that it has told (gaugeblock_release, gaugeblock_acquire).
	Threads bool
	// CallersDiffer: what a capture forbids depends on which thread began it and which one
	// calls. A Go program cannot say so: its goroutines change threads.
	CallersDiffer bool
	// Blocking: streams that are not created as non-blocking order with the legacy default stream.
	Blocking bool
	// WatchdogLate is by how much NCCL's watchdog is late, in a schedule by time.
	WatchdogLate time.Duration
	// Attributes are the devices' attributes, by CUDA's numbers.
	Attributes map[int]int
	// Log, if given, hears the names of functions that were called and are not there, each
	// once. Report, if given, is written when the program ends.
	Log    io.Writer
	Report func() error
	// CallFunction, if given, hears of functions of the host (cudaLaunchHostFunc) that are due, and of their
	// arguments: the program is another process. It must not call the GPU.
	CallFunction func(function, argument uint64)
	// AroundMalloc, if given, makes the driver's call of cudaMalloc, on the calling thread, by the
	// function that it is given. It may let other threads go on before and after.
	AroundMalloc func(malloc func() (spec.Ptr, error)) (spec.Ptr, error)

	function  atomic.Int32 // the thread that is in a function of the host
	lacking   sync.Map     // names that have been logged
	shareable sync.Map     // events that other processes can open
	lost      atomic.Bool  // see Illegal

	remote *remote         // the machine is another process's
	served *fakegpu.Caller // who makes the call of another process that is under way
	modes  sync.Map        // the capture modes of threads that are in a call, but for global

	watchdog *watchdog // nil: what it sees is not for the fake GPU to say

	turn    sync.Mutex // a thread's, from the saying which it is to the end of its call
	mu      sync.Mutex
	streams streams
	held    []waitValue  // streams that wait for a word of host memory, oldest first
	holding atomic.Int32 // how many
	pools   driverPools
}

// NewProcess is a process whose GPU is given. It has the attributes of an H200.
func NewProcess(gpu *fakegpu.GPU) *Process {
	p := &Process{GPU: gpu, Waits: WaitsAnswer, Attributes: gpus.All[0].Attributes()}
	gpu.SetCallers(p.caller)
	return p
}

// waitValue is a stream that goes on when a word of host memory has reached a value
// (cuStreamWaitValue32).
type waitValue struct {
	device spec.Device
	stream spec.Stream
	word   *uint32
	value  uint32
}

func (w *waitValue) reached() bool { return int32(atomic.LoadUint32(w.word)-w.value) >= 0 }

// hold makes a stream wait for a word.
func (p *Process) hold(w waitValue) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.GPU.Busy(w.device, w.stream); err != nil {
		return err
	}
	p.held = append(p.held, w)
	p.holding.Store(int32(len(p.held)))
	return nil
}

// look lets streams go on whose words have reached their values. A stream's gates open in
// their order, so a word that is reached behind one that is not has to wait.
func (p *Process) look() {
	if p.holding.Load() == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	type key struct {
		device spec.Device
		stream spec.Stream
	}
	waiting := map[key]bool{}
	kept := p.held[:0]
	for _, w := range p.held {
		k := key{w.device, w.stream}
		if waiting[k] || !w.reached() {
			waiting[k] = true
			kept = append(kept, w)
			continue
		}
		p.GPU.OpenGate(w.device, w.stream)
	}
	p.held = kept
	p.holding.Store(int32(len(p.held)))
}

// await makes a call that may have to wait for a stream which is held.
func (p *Process) await(call func() error) error {
	for {
		err := call()
		if p.Waits != WaitsBlock || !errors.Is(err, fakegpu.ErrEndlessWait) {
			return err
		}
		p.leave()
		time.Sleep(50 * time.Microsecond)
		p.enter()
		p.look()
	}
}

// ruined reports whether the process can do nothing any more, because of work that has been
// done meanwhile.
func (p *Process) ruined() bool {
	if p.Illegal && !p.lost.Load() && len(p.GPU.Violations()) > 0 {
		p.lost.Store(true)
	}
	return p.lost.Load()
}

// lacks logs a function that is not there.
func (p *Process) lacks(name string) {
	if _, known := p.lacking.LoadOrStore(name, true); !known && p.Log != nil {
		fmt.Fprintf(p.Log, "fake CUDA: %s is not supported\n", name)
	}
}

// number is CUDA's number of an error.
func number(err error) int {
	if err == nil {
		return 0
	}
	driver, is := errors.AsType[*spec.DriverError](err)
	switch {
	case is:
		return driver.Code
	case errors.Is(err, spec.ErrNotSupported):
		return notSupported
	}
	return unknown
}

// CUDA's numbers of errors that arise here.
const (
	invalidValue       = 1
	outOfMemory        = 2
	unloading          = 4
	invalidDevice      = 101
	invalidHandle      = 400
	notReady           = 600
	illegalAddress     = 700
	notSupported       = 801
	notPermitted       = 800
	captureUnsupported = 900
	unknown            = 999
)
