package refinement

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/bounded"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// A malloc that releases the lock around its driver call is several steps (TwoStepMalloc.tla).

// doTwoStep does a step of a malloc. That the malloc is out of memory is no error here.
func (sys *System) doTwoStep(name string, n []int) (err error) {
	thread := spec.Thread(n[0])
	k := sys.calls.underWay[thread]
	switch {
	case sys.initial.FreeMemoryCallbacks:
		return sys.doCallbacks(name, n)
	case name == "MallocSearch" && k == nil:
		return sys.advance(spec.Request{Thread: thread, Stream: spec.Stream(n[1]), Bytes: uint64(n[2])})
	case name == "DriverMalloc" && k != nil && !k.answered, name == "MallocResume" && k != nil && k.answered:
		return sys.advance(k.request)
	}
	return fmt.Errorf("thread %d cannot do %s", thread, name)
}

// advance lets the malloc of a thread go on to where it waits next. At the last attempt it is
// counted as a retry before its driver call.
func (sys *System) advance(r spec.Request) error {
	before, err := sys.allocator.Stats(0)
	if err != nil {
		return err
	}
	sys.driver.stream = r.Stream
	ptr, err := sys.calls.Malloc(r, sys.allocator.Malloc)
	switch {
	case errors.Is(err, ErrUnderWay):
		after, err := sys.allocator.Stats(0)
		if after.NumAllocRetries > before.NumAllocRetries {
			sys.calls.underWay[r.Thread].attempt = lastAttempt
		}
		return err
	case trace.ErrorName(err) == trace.ErrorOOM:
		return nil
	case err == nil:
		sys.hold(ptr, r)
	}
	return err
}

// lastAttempt is the number of the attempt that counts as a retry.
const lastAttempt = 3

// End lets the mallocs end that are under way.
func (sys *System) End() { sys.calls.End() }

// addCalls adds the mallocs that are under way to a state.
func (sys *System) addCalls(s *bounded.State) {
	s.PendingMallocs = nil
	for _, t := range slices.Sorted(maps.Keys(sys.calls.underWay)) {
		k := sys.calls.underWay[t]
		if s.FreeMemoryCallbacks {
			s.PendingMallocs = append(s.PendingMallocs, s.PendingMallocAsking(k.request.Stream, k.request.Bytes))
			continue
		}
		s.PendingMallocs = append(s.PendingMallocs, s.PendingMallocAt(model.AtDriver{
			ID: int(t), Stream: k.request.Stream, RequestedSize: k.request.Bytes,
			Attempt: k.attempt, Answered: k.answered, Granted: k.granted,
		}))
	}
}
