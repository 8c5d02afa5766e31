package bounded

import (
	"gaugeblock/model"
	"gaugeblock/model/tlc"
	"gaugeblock/spec"
)

// Faults is Faults.tla: CachingAllocator with driver calls that fail.
type Faults struct {
	*CachingAllocator
	faults faults
}

func openFaults(c *tlc.Config) (Module, error) {
	b, err := ReadBounds(c, "MaxDriverCalls")
	if err != nil {
		return nil, err
	}
	f := &Faults{CachingAllocator: newCachingAllocator(b)}
	f.faults, err = addFaults(c, f.CachingAllocator)
	return f, err
}

// Next implements explore.Specification.
func (f *Faults) Next(s *model.State, yield func(label int, next *model.State)) {
	f.CachingAllocator.Next(s, yield)
	f.faults.next(s, yield)
}

// fairness implements Module.
func (f *Faults) fairness(specification string) ([][]int, bool) {
	return nil, specification == "FaultSpec"
}

// faults are the steps in which a driver call fails, of a module whose mallocs are one step.
type faults struct {
	of       *CachingAllocator
	failures []int // the numbers of the driver calls of an operation, from 1

	failedMalloc, refusedMalloc action
	faultsOutsideMalloc
}

// faultsOutsideMalloc are those of operations that every module has.
type faultsOutsideMalloc struct{ failedEmptyCache, failedFree action }

// addFaults adds the actions to a module.
func addFaults(c *tlc.Config, to *CachingAllocator) (faults, error) {
	failures, err := readFailures(c)
	f := faults{of: to, failures: failures}
	to.firstFault = len(to.labels)
	f.failedMalloc = to.add("FailedMalloc", asInts(to.Streams), asInts(to.Sizes), failures)
	f.faultsOutsideMalloc = addFaultsOutsideMalloc(to, failures)
	f.refusedMalloc = to.add("RefusedMalloc", asInts(to.Streams), asInts(to.Sizes))
	return f, err
}

// readFailures reads how many driver calls an operation makes.
func readFailures(c *tlc.Config) ([]int, error) {
	r := constants{config: c}
	return upTo(r.number("MaxDriverCalls") + 1)[1:], r.err
}

func addFaultsOutsideMalloc(to *CachingAllocator, failures []int) (f faultsOutsideMalloc) {
	f.failedEmptyCache = to.add("FailedEmptyCache", failures)
	f.failedFree = to.add("FailedFree", upTo(to.addresses()), failures)
	return f
}

// next yields the steps.
func (f *faults) next(s *model.State, yield func(label int, next *model.State)) {
	for i, stream := range f.of.Streams {
		for j, size := range f.of.Sizes {
			interrupt(s, mallocOf(stream, size), func(n int, next *model.State) {
				yield(f.failedMalloc.label(i, j, n), next)
			})
			if next, is := f.refuse(s, stream, size); is {
				yield(f.refusedMalloc.label(i, j), &next)
			}
		}
	}
	f.faultsOutsideMalloc.next(s, yield)
}

func (f *faultsOutsideMalloc) next(s *model.State, yield func(label int, next *model.State)) {
	interrupt(s, model.State.EmptyCache, func(n int, next *model.State) { yield(f.failedEmptyCache.label(n), next) })
	for _, h := range s.Truth.Held {
		interrupt(s, freeOf(h.Ptr), func(n int, next *model.State) {
			yield(f.failedFree.label(toUnits(h.Ptr), n), next)
		})
	}
}

func mallocOf(stream spec.Stream, bytes uint64) func(model.State) model.State {
	return refusedMallocOf(stream, bytes, 0)
}

func searchOf(thread int, stream spec.Stream, bytes uint64) func(model.State) model.State {
	return func(s model.State) model.State {
		next, _, _ := s.MallocSearch(thread, stream, bytes, atLowest)
		return next
	}
}

func resumeOf(thread int) func(model.State) model.State {
	return func(s model.State) model.State {
		next, _, _ := s.MallocResume(thread, atLowest)
		return next
	}
}

func freeOf(p spec.Ptr) func(model.State) model.State {
	return func(s model.State) model.State {
		next, _ := s.Free(p)
		return next
	}
}

func checkpointOf(id spec.PoolID) func(model.State) model.State {
	return func(s model.State) model.State {
		next, _ := s.Checkpoint(id)
		return next
	}
}

// interrupt yields the state after each driver call of an operation, if that call fails. The
// calls are numbered from 0.
func interrupt(s *model.State, operation func(model.State) model.State, yield func(n int, next *model.State)) {
	for n, call := range s.Calls(operation).Made {
		yield(n, &call.Failed)
	}
}

// refuse is a malloc whose first call for memory finds none. is is false if the malloc does
// not make the call.
func (f *faults) refuse(s *model.State, stream spec.Stream, bytes uint64) (next model.State, is bool) {
	next, r := s.Malloc(stream, bytes, refusals(1))
	f.of.hold(&next, r, stream, bytes)
	now := s.ProcessEvents()
	if _, cached := now.GetFreeBlock(stream, bytes); cached {
		return next, false
	}
	segment := s.SegmentSize(s.Round(bytes))
	return next, !s.Limited || now.Reserved()+segment <= s.Limit
}

// DriverCalls are the driver calls of a step whose name begins with Failed. The last fails.
func DriverCalls(s *model.State, name string, arguments []int) []string {
	nth := arguments[len(arguments)-1]
	if name == "FailedDriverMalloc" {
		nth = 1
	}
	return s.Calls(operationOf(name, arguments)).Names()[:nth]
}

// operationOf is the operation of such a step.
func operationOf(name string, arguments []int) func(model.State) model.State {
	switch name {
	case "FailedMalloc":
		return mallocOf(spec.Stream(arguments[0]), uint64(arguments[1]))
	case "FailedFree":
		return freeOf(AddressBase + spec.Ptr(arguments[0]))
	case "FailedCheckpoint":
		return checkpointOf(PoolID(uint64(arguments[0])))
	case "FailedSearch":
		return searchOf(arguments[0], spec.Stream(arguments[1]), uint64(arguments[2]))
	case "FailedDriverMalloc", "FailedResume":
		return resumeOf(arguments[0])
	}
	return model.State.EmptyCache
}
