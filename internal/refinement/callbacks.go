package refinement

import (
	"errors"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// A malloc that calls the program's callbacks is two steps (NeedMemory.tla). The callback waits until
// the second one, as a malloc waits whose lock is released around the driver call.

// callback is what the malloc calls.
func (sys *System) callback() bool {
	sys.calls.running.wait()
	return sys.freed
}

// doCallbacks does a step of a malloc. That the malloc is out of memory is no error here.
func (sys *System) doCallbacks(name string, n []int) error {
	r := spec.Request{}
	if name == "MallocSearch" {
		r.Stream, r.Bytes = spec.Stream(n[0]), uint64(n[1])
	} else if k := sys.calls.underWay[0]; k != nil {
		r, sys.freed = k.request, n[0] == 1
	}
	sys.driver.stream = r.Stream
	ptr, err := sys.calls.Malloc(r, sys.allocator.Malloc)
	switch {
	case errors.Is(err, ErrUnderWay), trace.ErrorName(err) == trace.ErrorOOM:
		return nil
	case err == nil:
		sys.hold(ptr, r)
	}
	return err
}
