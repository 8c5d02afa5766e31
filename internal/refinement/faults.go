package refinement

import (
	"errors"
	"fmt"

	"gaugeblock/fakegpu"
	"gaugeblock/model/bounded"
	"gaugeblock/spec"
)

// Failing driver calls. The model says which call of an operation fails in a step. Where it
// counts several calls as one, each of them fails in some steps.

// alternatives are the driver calls that one of the model stands for.
var alternatives = map[string][]string{
	"MapPage":     {"CreatePage", "MapPage", "SetAccess"},
	"UnmapPage":   {"UnmapPage", "ReleasePage"},
	"RecordEvent": {"CreateEvent", "RecordEvent"},
}

// A fault is a failure that is planned for an operation.
type fault struct {
	operation string

	call   string // in the model
	nth    int    // among the calls that count as this one
	fails  string // one of its alternatives
	reason func(call string) error

	then *fault // that is planned for the calls after this one has failed

	made     map[string]int // by call in the model
	creating bool           // the last call was to create a page
	met      bool
}

// isDue counts a driver call, and reports whether it is to fail. Creating the first page of
// all fails twice: the allocator tries another kind of page.
func (f *fault) isDue(call string) bool {
	counts, nth := call, 0
	switch call {
	case "CreatePage":
		if !f.creating {
			f.made["MapPage"]++
		}
		counts = "MapPage"
	case "MapPage", "SetAccess":
		counts = "MapPage"
	case "ReleasePage":
		counts = "UnmapPage"
	case "CreateEvent":
		counts, nth = "RecordEvent", 1
	default:
		f.made[call]++
	}
	f.creating = call == "CreatePage"
	if f.met && call != "CreatePage" || counts != f.call || f.made[counts]+nth != f.nth {
		return false
	}
	return call == f.fails || f.fails == "CreateEvent" && call == "RecordEvent"
}

// A callAfter is a driver call that an operation makes although one has failed.
type callAfter struct{ operation, failed, call string }

// about comes before a driver call.
func (r *recordingDriver) about(call string) {
	f := r.fault
	if f == nil {
		return
	}
	if f.met {
		r.after[callAfter{f.operation, f.fails, call}]++
	}
	if f.isDue(call) {
		f.met = true
		if err := r.FailCall(call, 1, f.reason(call)); err != nil {
			panic(err)
		}
		if f.then != nil {
			r.fault = f.then
		}
	}
}

// plan plans failures: each is that of the last of some calls of the model, counted from the
// failure before on.
func (sys *System) plan(failures ...*fault) {
	for i := range failures[1:] {
		failures[i].then = failures[i+1]
	}
	sys.driver.fault = failures[0]
}

// failing is the failure of the last of some calls of the model.
func (sys *System) failing(operation string, calls []string, reason func(call string) error) *fault {
	f := &fault{operation: operation, call: calls[len(calls)-1], made: map[string]int{}, reason: reason}
	mapping := f.call == "CreatePage" || f.call == "MapPage"
	for _, call := range calls {
		if call == f.call || mapping && (call == "CreatePage" || call == "MapPage") {
			f.nth++
		}
	}
	f.fails = f.call
	if all := alternatives[f.call]; len(all) > 0 {
		f.fails = all[sys.faults%len(all)]
	}
	if mapping {
		f.call = "MapPage"
	}
	sys.faults++
	return f
}

// refusal is the failure of the next call for memory: the driver has none.
func (sys *System) refusal(operation string) *fault {
	call := "Malloc"
	if sys.initial.Config.ExpandableSegments {
		call = "CreatePage"
	}
	return sys.failing(operation, []string{call}, fakegpu.OutOfMemory)
}

// doFaulty does a step in which a driver call fails.
func (sys *System) doFaulty(from *bounded.State, name string, n []int) error {
	defer func() { sys.driver.fault = nil }()
	request := func() spec.Request { return spec.Request{Stream: spec.Stream(n[0]), Bytes: uint64(n[1])} }
	switch name {
	case "RefusedMalloc":
		sys.plan(sys.refusal(name))
		return sys.checkMet(sys.malloc(request()))
	case "RefusedTwiceMalloc":
		sys.plan(sys.refusal(name), sys.refusal(name))
		return sys.checkMet(sys.malloc(request()))
	case "RefusedDriverMalloc":
		sys.plan(sys.refusal(name))
		return sys.checkMet(sys.doTwoStep("DriverMalloc", n))
	case "RefusedFailedMalloc":
		calls, before := bounded.CallsAfterRefusal(from, n)
		sys.plan(sys.refusal(name), sys.failing(name, calls[before:], fakegpu.UnknownError))
	default:
		sys.plan(sys.failing(name, bounded.DriverCalls(from, name, n), fakegpu.UnknownError))
	}
	err := sys.doFailing(name, n, request)
	var failure *spec.DriverError
	if !errors.As(err, &failure) {
		return fmt.Errorf("the driver's error is not returned, but %w", err)
	}
	return sys.checkMet(nil)
}

// doFailing does the operation of a step that ends with the driver's error.
func (sys *System) doFailing(name string, n []int, request func() spec.Request) (err error) {
	switch name {
	case "FailedMalloc", "RefusedFailedMalloc":
		return sys.malloc(request())
	case "FailedSearch":
		return sys.doTwoStep("MallocSearch", n)
	case "FailedDriverMalloc":
		// The call has failed when the malloc waits behind it, and says so when it has the lock
		// again.
		if err := sys.doTwoStep("DriverMalloc", n); err != nil {
			return err
		}
		return sys.doTwoStep("MallocResume", n)
	case "FailedResume":
		return sys.doTwoStep("MallocResume", n)
	case "FailedEmptyCache":
		return sys.allocator.EmptyCache()
	case "FailedFree":
		return sys.allocator.Free(sys.address(n[0]))
	case "FailedCheckpoint":
		_, err := sys.allocator.Checkpoint(0, bounded.PoolID(uint64(n[0])))
		return err
	}
	return fmt.Errorf("no action is called %q", name)
}

// checkMet is an error if the planned call was not made.
func (sys *System) checkMet(err error) error {
	if f := sys.driver.fault; err == nil && !f.met {
		return fmt.Errorf("%s number %d was not called", f.fails, f.nth)
	}
	return err
}

// CreateEvent implements spec.Driver.
func (r *recordingDriver) CreateEvent(dev spec.Device) (spec.EventHandle, error) {
	r.about("CreateEvent")
	e, err := r.GPU.CreateEvent(dev)
	if err == nil {
		r.events++
	}
	return e, err
}

// DestroyEvent implements spec.Driver.
func (r *recordingDriver) DestroyEvent(e spec.EventHandle) error {
	r.events--
	return r.GPU.DestroyEvent(e)
}

// ReserveAddress implements spec.VirtualMemory.
func (r *recordingDriver) ReserveAddress(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	r.about("ReserveAddress")
	return r.GPU.ReserveAddress(dev, bytes)
}

// FreeAddress implements spec.VirtualMemory.
func (r *recordingDriver) FreeAddress(ptr spec.Ptr, bytes uint64) error {
	r.about("FreeAddress")
	return r.GPU.FreeAddress(ptr, bytes)
}

// CreatePage implements spec.VirtualMemory.
func (r *recordingDriver) CreatePage(dev spec.Device, bytes uint64, share spec.ShareType) (spec.PageHandle, error) {
	r.about("CreatePage")
	page, err := r.GPU.CreatePage(dev, bytes, share)
	if r.fault != nil && errors.Is(err, spec.ErrDriverOutOfMemory) {
		r.fault.creating = false // the next page is for another attempt
	}
	return page, err
}

// SetAccess implements spec.VirtualMemory.
func (r *recordingDriver) SetAccess(ptr spec.Ptr, bytes uint64, dev spec.Device) error {
	r.about("SetAccess")
	return r.GPU.SetAccess(ptr, bytes, dev)
}

// ReleasePage implements spec.VirtualMemory.
func (r *recordingDriver) ReleasePage(page spec.PageHandle) error {
	r.about("ReleasePage")
	return r.GPU.ReleasePage(page)
}
