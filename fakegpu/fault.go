package fakegpu

import (
	"errors"
	"fmt"
	"slices"

	"gaugeblock/spec"
)

// Faults: calls that fail because a test wants them to. A call that fails so does
// nothing else.

// fault is a failure that is planned.
type fault struct {
	call call
	at   uint64 // the call's count when it happens
	err  error
}

// FailCall makes the nth call of a kind, counted from 1 and from now on, fail with
// the error. Failures may be planned for several calls; of two for the same one,
// the first planned counts. An error made by LaunchFailure (or any other that CUDA
// calls sticky) makes every later call of the process fail as well.
//
// It is an error to name a call that does not exist, or an nth below 1.
func (g *GPU) FailCall(name string, nth int, err error) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	c, unknown := parseCall(name)
	switch {
	case unknown != nil:
		return unknown
	case nth < 1:
		return fmt.Errorf("fakegpu: call number %d cannot fail, they are counted from 1", nth)
	case err == nil:
		return fmt.Errorf("fakegpu: call number %d of %s cannot fail without an error", nth, name)
	}
	g.calls.faults = append(g.calls.faults, fault{c, g.calls.made[c] + uint64(nth), err})
	return nil
}

// PendingFaults is the number of planned failures that have not happened.
func (g *GPU) PendingFaults() int {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	return len(g.calls.faults)
}

// takeFault gives the failure planned for the present call, if any.
func (k *calls) takeFault(c call) error {
	due := func(f fault) bool { return f.call == c && f.at == k.made[c] }
	i := slices.IndexFunc(k.faults, due)
	if i < 0 {
		return nil
	}
	err := k.faults[i].err
	k.faults = slices.DeleteFunc(k.faults, due)
	var driver *spec.DriverError
	if errors.As(err, &driver) && (code{number: driver.Code}).sticky() {
		k.lost = driver
	}
	return err
}

// OutOfMemory is the error of a call for which the device has no memory left.
func OutOfMemory(call string) error {
	return injected(call, cudaErrorMemoryAllocation, driverOutOfMemory)
}

// NotSupported is the error of a call that the device cannot serve.
func NotSupported(call string) error {
	return injected(call, cudaErrorNotSupported, driverNotSupported)
}

// UnknownError is the error of a call that failed for a reason that is not known.
func UnknownError(call string) error {
	return injected(call, cudaErrorUnknown, driverUnknown)
}

// LaunchFailure is the error by which a call reports that earlier work has crashed.
// It is sticky.
func LaunchFailure(call string) error {
	return injected(call, cudaErrorLaunchFailure, driverLaunchFailed)
}

func injected(name string, runtime, driver code) error {
	if c, err := parseCall(name); err == nil && c.virtual() {
		runtime = driver
	}
	return &spec.DriverError{Call: name, Name: runtime.name, Code: runtime.number, Detail: "injected", Kind: runtime.kind}
}

// obtains lists the calls that need memory, of the device or of the driver's own,
// and so can run out of it.
var obtains = []call{
	callMalloc, callCreateEvent, callReserveAddress, callCreatePage, callMapPage, callSetAccess,
	callOpenMemory, callImportPage, callEnablePeerAccess, callCreateStream, callInstantiate, callLaunchGraph,
}

// optional lists the calls for something that not every device or process has.
var optional = []call{
	callReserveAddress, callCreatePage, callMapPage, callSetAccess, callShareMemory, callOpenMemory,
	callExportPage, callImportPage, callEnablePeerAccess,
}

// PossibleFaults lists the errors that a call can give whatever its arguments: out
// of memory and not supported where CUDA's documentation allows for them, and in
// any case an unknown error and an earlier launch failure. It is nil for a name
// that is no call.
func PossibleFaults(name string) []error {
	c, err := parseCall(name)
	if err != nil {
		return nil
	}
	var faults []error
	if slices.Contains(obtains, c) {
		faults = append(faults, OutOfMemory(name))
	}
	if slices.Contains(optional, c) {
		faults = append(faults, NotSupported(name))
	}
	return append(faults, UnknownError(name), LaunchFailure(name))
}

// faultErrors makes the errors that faults of traces name.
var faultErrors = map[string]func(call string) error{
	spec.FaultOutOfMemory:  OutOfMemory,
	spec.FaultNotSupported: NotSupported,
	spec.FaultUnknown:      UnknownError,
}

// Inject plans the failure that a trace's fault operation describes. It is an error to
// name what a trace cannot: a call that is not one of spec.DriverCalls, or an error
// that is not one of spec.FaultErrors. FailCall knows more of both.
func (g *GPU) Inject(f spec.FaultSpec) error {
	construct, known := faultErrors[f.Error]
	switch {
	case !slices.Contains(spec.DriverCalls(), f.Call):
		return fmt.Errorf("fakegpu: there is no driver call %q", f.Call)
	case !known:
		return fmt.Errorf("fakegpu: there is no error %q to inject", f.Error)
	}
	return g.FailCall(f.Call, f.Nth, construct(f.Call))
}
