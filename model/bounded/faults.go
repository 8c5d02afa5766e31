package bounded

import (
	"maps"
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/tlc"
	"gaugeblock/spec"
)

// Faults is Faults.tla: CachingAllocator with driver calls that fail.
type Faults struct {
	*CachingAllocator
	failedMalloc, failedEmptyCache, failedFree, refusedMalloc action
}

func openFaults(c *tlc.Config) (Module, error) {
	b, err := ReadBounds(c, "MaxDriverCalls")
	if err != nil {
		return nil, err
	}
	f := &Faults{CachingAllocator: newCachingAllocator(b)}
	r := constants{config: c}
	addresses, streams := upTo(b.addresses()), asInts(b.Streams)
	var failures []int
	for i := range r.number("MaxDriverCalls") {
		failures = append(failures, int(i+1))
	}
	f.failedMalloc = f.add("FailedMalloc", streams, asInts(b.Sizes), failures)
	f.failedEmptyCache = f.add("FailedEmptyCache", failures)
	f.failedFree = f.add("FailedFree", addresses, failures)
	f.refusedMalloc = f.add("RefusedMalloc", streams, asInts(b.Sizes))
	return f, r.err
}

// Next implements explore.Specification.
func (f *Faults) Next(s *model.State, yield func(label int, next *model.State)) {
	f.CachingAllocator.Next(s, yield)
	for i, stream := range f.Streams {
		for j, size := range f.Sizes {
			interrupt(s, mallocOf(stream, size), func(n int, next *model.State) {
				yield(f.failedMalloc.label(i, j, n), next)
			})
			if next, is := f.refuse(s, stream, size); is {
				yield(f.refusedMalloc.label(i, j), next.Keep())
			}
		}
	}
	interrupt(s, emptyCache, func(n int, next *model.State) { yield(f.failedEmptyCache.label(n), next) })
	everyBlock(s, func(_ *model.Segment, b *model.Block) bool {
		if isAllocated(b) {
			interrupt(s, freeOf(b.Address), func(n int, next *model.State) {
				yield(f.failedFree.label(toUnits(b.Address), n), next)
			})
		}
		return true
	})
}

func mallocOf(stream spec.Stream, bytes uint64) func(model.State) {
	return func(s model.State) { s.Malloc(stream, bytes, model.DriverResults{LowestFrom: AddressBase}) }
}

func freeOf(p spec.Ptr) func(model.State) { return func(s model.State) { s.Free(p) } }

func emptyCache(s model.State) { s.EmptyCache() }

// interrupt yields the state after each driver call of an operation, if that call fails. The
// calls are numbered from 0.
func interrupt(s *model.State, operation func(model.State), yield func(n int, next *model.State)) {
	for n := 0; ; n++ {
		next, calls := s.Interrupted(n+1, operation)
		if calls == nil {
			return
		}
		yield(n, next.Keep())
	}
}

// refuse is a malloc whose first call for memory finds none. is is false if the malloc does
// not make the call.
func (f *Faults) refuse(s *model.State, stream spec.Stream, bytes uint64) (next model.State, is bool) {
	next, r := s.Malloc(stream, bytes, model.DriverResults{LowestFrom: AddressBase, Refusals: 1})
	f.hold(&next, r, stream, bytes)
	now := s.ProcessEvents()
	if _, cached := now.GetFreeBlock(stream, bytes); cached {
		return next, false
	}
	segment := model.SegmentSize(model.Round(bytes, s.Config, s.Geometry), s.Config, s.Geometry)
	return next, !s.Limited || now.Reserved()+segment <= s.Limit
}

// DriverCalls are the driver calls of a step FailedMalloc, FailedEmptyCache or FailedFree. The
// last fails.
func DriverCalls(s *model.State, name string, arguments []int) []string {
	_, calls := s.Interrupted(arguments[len(arguments)-1], operationOf(name, arguments))
	return calls
}

// operationOf is the operation of such a step.
func operationOf(name string, arguments []int) func(model.State) {
	switch name {
	case "FailedMalloc":
		return mallocOf(spec.Stream(arguments[0]), uint64(arguments[1]))
	case "FailedFree":
		return freeOf(AddressBase + spec.Ptr(arguments[0]))
	}
	return emptyCache
}

// always implements Module. OutOfMemoryIsReal is not in it: Faults.tla does not have it.
func (f *Faults) always() []string { return slices.Sorted(maps.Keys(invariants)) }

// fairness implements Module.
func (f *Faults) fairness(specification string) ([][]int, bool) {
	return nil, specification == "FaultSpec"
}
