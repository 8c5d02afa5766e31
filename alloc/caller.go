package alloc

import (
	"errors"

	"gaugeblock/spec"
)

// A callerView is the allocator as one caller uses it (spec.CallerAware). The methods of Allocator
// with the same names are those for the zero Caller.
type callerView struct {
	*Allocator
	caller spec.Caller
}

var _ Abilities = callerView{}

// An operation is what a call gives to the steps of its operation: the context, the thread, the
// stream. Whoever takes the device's mutex sets it, and it is cleared when the mutex is released.
type operation struct {
	context gatheredContext // nil: not gathered
	thread  spec.Thread     // the calling thread
	stream  spec.Stream     // the current stream of the calling thread on the device

	callName   string // in the metadata of its trace entries (MallocAt)
	annotation string // the user metadata of its trace entry (AnnotateBlock)
}

// operation is an operation of the caller on a device.
func (v callerView) operation(d *device, context gatheredContext) operation {
	return operationOf(v.caller, d, context)
}

func operationOf(c spec.Caller, d *device, context gatheredContext) operation {
	return operation{context: context, thread: c.Thread, stream: c.CurrentOn(d.id)}
}

// For returns the allocator for one caller; see spec.CallerAware.
func (a *Allocator) For(c spec.Caller) spec.Allocator { return callerView{a, c} }

// noCaller is the allocator for the zero Caller.
func (a *Allocator) noCaller() callerView { return callerView{Allocator: a} }

// onDevice calls do for the caller with the device's mutex held. A context is gathered if the
// program has set that level, or a higher one.
func (v callerView) onDevice(
	op string, dev spec.Device, level spec.ContextLevel, do func(*device) error,
) error {
	d, err := v.device(op, dev)
	if err != nil {
		return err
	}
	context := d.maybeGatherContext(level)
	return d.withMutex(func(d *device) error {
		d.operation = v.operation(d, context)
		return do(d)
	})
}

// onEachDeviceWithContext calls do for the caller for each device with its mutex held, also after a
// failure. It is for functions that record trace entries: the context is gathered before the mutex
// is taken.
func (v callerView) onEachDeviceWithContext(do func(*device) error) (failures error) {
	for _, d := range v.devices {
		context := d.maybeGatherContext(spec.ContextAll)
		failures = errors.Join(failures, d.withMutex(func(d *device) error {
			d.operation = v.operation(d, context)
			return do(d)
		}))
	}
	return failures
}
