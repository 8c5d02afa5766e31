package examine

import (
	"fmt"

	"gaugeblock/spec"
)

// What an allocator may do that PyTorch's plugged-in ones do not: the interfaces of package perform.

// Aligns implements perform.Aligner.
func (a *allocator) Aligns() bool { return a.subject.can().aligns }

// MallocAligned calls the function that allocates at a multiple of so many bytes.
func (a *allocator) MallocAligned(r spec.Request, align uint64) (spec.Ptr, error) {
	return a.ask(r, align)
}

// Resizes implements perform.Resizer.
func (a *allocator) Resizes() bool { return a.subject.can().resizes }

// Resize calls the function that lets memory grow or shrink where it is.
func (a *allocator) Resize(p spec.Ptr, bytes uint64) error {
	m, live := a.live[p]
	if !live {
		return &spec.InvalidPointerError{Op: "resize", Ptr: p}
	}
	words, exception := a.call(message{
		Type:  orderResize,
		Words: [8]uint64{uint64(p), m.bytes, uint64(m.device), uint64(m.stream), uint64(a.current(m.device)), bytes},
	})
	switch {
	case exception != "":
		return threw("resize", exception)
	case words[0] == 0:
		return &spec.OutOfMemoryError{Device: m.device, Requested: bytes}
	}
	m.bytes = bytes
	a.live[p] = m
	return nil
}

// Sleeps implements perform.Sleeper.
func (a *allocator) Sleeps() bool { return a.subject.can().sleeps }

// Sleep calls the function that gives all memory up.
func (a *allocator) Sleep() error { return a.bare("sleep", orderSleep) }

// Wake calls the function that gets memory for all that is allocated.
func (a *allocator) Wake() error { return a.bare("wake", orderWake) }

// EndsFull implements conformance.FullEnder: so do programs with an odd number of requests.
func (a *allocator) EndsFull() bool { return a.subject.can().ends && a.requests%2 == 1 }

// Close calls the function that ends the allocator, if there is one. What the driver has to get back
// then comes back when streams are through with it.
func (a *allocator) Close() error {
	if !a.subject.can().ends {
		return nil
	}
	for dev := range spec.Device(a.devices) {
		held, may := a.gpu.InUse(dev), a.contract.Keeps
		if a.warm != nil {
			may += a.warm[dev]
		}
		if a.subject.empties() && !a.EndsFull() && held > may && len(a.live) == 0 {
			return &spec.DriverError{Call: "empty_cache", Name: "memory that is kept", Detail: fmt.Sprintf("device %d has %d bytes in use", dev, held)}
		}
	}
	if err := a.bare("end", orderEnd); err != nil {
		return err
	}
	a.subject.settle()
	return nil
}

// bare calls a function that takes nothing.
func (a *allocator) bare(name string, order int32) error {
	if _, exception := a.call(message{Type: order}); exception != "" {
		return threw(name, exception)
	}
	return nil
}
