package bounded

import (
	"errors"

	"gaugeblock/model"
	"gaugeblock/model/explore"
	"gaugeblock/spec"
)

// Properties of steps, of failing mallocs, and of endless runs, by their names in
// tla/OutOfMemory.tla and tla/Liveness.tla.

// fails reports whether a malloc would be out of memory.
func fails(s *model.State, stream spec.Stream, bytes uint64) bool {
	_, r := s.Malloc(stream, bytes, atLowest)
	return errors.Is(r.Err, spec.ErrOutOfMemory)
}

// everyFailure reports whether a predicate holds for all mallocs that would fail.
func (c *CachingAllocator) everyFailure(s *model.State, holds func(stream spec.Stream, bytes uint64) bool) bool {
	for _, stream := range c.Streams {
		for _, bytes := range c.Sizes {
			if fails(s, stream, bytes) && !holds(stream, bytes) {
				return false
			}
		}
	}
	return true
}

// emptyCacheReleasesAll: EmptyCache leaves nothing that can be released.
func (c *CachingAllocator) emptyCacheReleasesAll(s *model.State) bool {
	emptied := s.EmptyCache()
	return releasableMemory(&emptied, spec.DefaultPool) == 0
}

// releasableMemory is how many bytes of cached memory of a pool can be released: segments that are
// free as a whole, and free pages.
func releasableMemory(s *model.State, pool spec.PoolID) (bytes uint64) {
	everyBlock(s, func(g *model.Segment, b *model.Block) bool {
		begin, end := uint64(b.Address-g.Address), uint64(b.Address-g.Address)+b.Size
		switch {
		case g.Pool != pool || !b.IsFree():
		case g.Expandable:
			begin, end = (begin+g.Page-1)/g.Page*g.Page, end/g.Page*g.Page
			bytes += max(begin, end) - begin
		case b.Size == g.Size:
			bytes += b.Size
		}
		return true
	})
	return bytes
}

// cacheIsSearchedAgain is false in upstream: see tla/OutOfMemory.tla. It is a step property.
func (c *CachingAllocator) cacheIsSearchedAgain(s *model.State, label int, _ *model.State) bool {
	stream, bytes, is := c.request(label)
	if !is || !fails(s, stream, bytes) {
		return true
	}
	synchronized := s.SynchronizeAndFreeEvents()
	_, cached := synchronized.GetFreeBlock(stream, bytes)
	return !cached
}

// request is the request of a label, if it is that of a malloc.
func (c *CachingAllocator) request(label int) (stream spec.Stream, bytes uint64, is bool) {
	at := label - c.malloc.first
	if at < 0 || at >= len(c.malloc.all()) {
		return 0, 0, false
	}
	return c.Streams[at/len(c.Sizes)], c.Sizes[at%len(c.Sizes)], true
}

// isFault reports whether a driver call fails in the step with a label.
func (c *CachingAllocator) isFault(label int) bool { return c.firstFault > 0 && label >= c.firstFault }

// anyBlockIsGood: a malloc fails only if no free block of its stream is large enough, oversize or not.
func (c *CachingAllocator) anyBlockIsGood(s *model.State) bool {
	return c.everyFailure(s, func(stream spec.Stream, bytes uint64) bool {
		return everyBlock(s, func(g *model.Segment, b *model.Block) bool {
			candidate := isInactive(b) && g.Stream == stream && g.PoolKind == c.kindFor(bytes)
			return !candidate || b.Size < c.blockFor(bytes)
		})
	})
}

// freedBecomesReusable: for every address, if the block there is pending free, it is not
// later.
func (c *CachingAllocator) freedBecomesReusable(fair [][]int) (list []explore.LeadsTo[*model.State]) {
	for a := range c.addresses() {
		isPending := func(s *model.State) bool {
			return !everyBlock(s, func(_ *model.Segment, b *model.Block) bool {
				return b.Address != AddressBase+spec.Ptr(a) || b.State != spec.ActivePendingFree
			})
		}
		list = append(list, explore.LeadsTo[*model.State]{
			Name: "FreedBecomesReusable", Fair: fair,
			From: isPending, To: func(s *model.State) bool { return !isPending(s) },
		})
	}
	return list
}

// fairness has the weakly fair actions of the specifications in tla/Liveness.tla.
func (c *CachingAllocator) fairness(specification string) (fair [][]int, known bool) {
	for i := range c.Streams {
		fair = append(fair, []int{c.complete.label(i)})
	}
	switch specification {
	case "FairSpec":
		return append(fair, c.malloc.all()), true
	case "LazySpec":
		return fair, true
	}
	return nil, specification == "Spec"
}

// holdsOfStates has a property checked in every state.
func holdsOfStates(to *explore.Options[*model.State], name string, holds func(*model.State) bool) {
	to.Invariants = append(to.Invariants, explore.Invariant[*model.State]{Name: name, Holds: holds})
}

// holdsOfSteps has a property checked at every step.
func holdsOfSteps(to *explore.Options[*model.State], name string, holds func(from *model.State, label int, to *model.State) bool) {
	to.Steps = append(to.Steps, explore.StepProperty[*model.State]{Name: name, Holds: holds})
}

// ofSteps are the properties of every step, by name.
func (c *CachingAllocator) ofSteps() map[string]func(from *model.State, label int, to *model.State) bool {
	return map[string]func(from *model.State, label int, to *model.State) bool{
		"MallocsAreServed":               c.mallocsAreServed,
		"OverflowPoolsServe":             c.overflowPoolsServe,
		"OverflowPoolsInOrder":           c.overflowPoolsInOrder,
		"NoNeedlessReturn":               c.noNeedlessReturn,
		"SegmentsFitRequests":            c.segmentsFitRequests,
		"JustEnoughIsReturned":           c.justEnoughIsReturned,
		"PagesAreUsed":                   c.pagesAreUsed,
		"LargestAreReturned":             c.largestAreReturned,
		"EmptyCacheWaitsNoLonger":        c.emptyCacheWaitsNoLonger,
		"EmptyRangesAreReleased":         c.emptyRangesAreReleased,
		"PagesKeepToLimit":               c.pagesKeepToLimit,
		"CountersFollowHistory":          c.countersFollowHistory,
		"FailuresSayTheTruth":            c.failuresSayTheTruth,
		"MallocWaitsNoLonger":            c.mallocWaitsNoLonger,
		"OrderIsKept":                    c.orderIsKept,
		"LowestRangeGrows":               c.lowestRangeGrows,
		"LivePoolsServe":                 c.livePoolsServe,
		"PromptlyReclaimed":              c.promptlyReclaimed,
		"CacheServes":                    c.cacheServes,
		"NoNeedlessWait":                 c.noNeedlessWait,
		"EmptyCacheLeavesNothingWaiting": c.emptyCacheLeavesNothingWaiting,
		"BestFitServes":                  c.bestFitServes,
		"UnusedPoolsAreErased":           c.unusedPoolsAreErased,
		"ExpandableSegmentsGrow":         c.expandableSegmentsGrow,
		"CacheIsSearchedAgain":           c.cacheIsSearchedAgain,
	}
}

// ofStates are the properties of every state, by name.
func (c *CachingAllocator) ofStates() map[string]func(*model.State) bool {
	return map[string]func(*model.State) bool{
		"RangesHaveRoom":           c.rangesHaveRoom,
		"OversizeSegmentsAreWhole": c.oversizeSegmentsAreWhole,
		"BlocksFitRequests":        blocksFitRequests,
		"EmptyCacheReleasesAll":    c.emptyCacheReleasesAll,
		"AnyBlockIsGood":           c.anyBlockIsGood,
		"LimitHolds":               c.limitHolds,
	}
}

func (c *CachingAllocator) property(name string, fair [][]int, to *explore.Options[*model.State]) bool {
	if i, known := c.invariant(name); known {
		to.Invariants = append(to.Invariants, i)
		return true
	}
	if holds, known := c.ofSteps()[name]; known {
		holdsOfSteps(to, name, holds)
		return true
	}
	if holds, known := c.ofStates()[name]; known {
		holdsOfStates(to, name, holds)
		return true
	}
	if name == "FreedBecomesReusable" {
		to.LeadsTo = append(to.LeadsTo, c.freedBecomesReusable(fair)...)
		return true
	}
	return false
}
