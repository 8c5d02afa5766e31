package binary

import "gaugeblock/spec"

// Steps are mallocs that wait around their driver calls, each in a goroutine of its own. While one
// waits other operations are performed; only one goroutine runs at a time.
type Steps interface {
	// Malloc lets a malloc begin, by the function that it is given, or go on.
	Malloc(r spec.Request, malloc func(spec.Request) (spec.Ptr, error)) (spec.Ptr, error)
	// AroundDriver makes the driver call of the malloc that runs.
	AroundDriver(malloc func() (spec.Ptr, error)) (spec.Ptr, error)
}

// A Stepper is an allocator whose mallocs can have steps.
type Stepper interface {
	// UseSteps makes mallocs wait around their driver calls. The settings must release the lock
	// there.
	UseSteps(s Steps)
	// Waits is to be called when a malloc has come to wait: what it has done so far is the answer
	// of an operation.
	Waits(r spec.Request)
	// GoesOn is to be called before a malloc goes on that waits.
	GoesOn(r spec.Request)
}
