package bounded

import (
	"errors"

	"gaugeblock/model"
	"gaugeblock/model/explore"
	"gaugeblock/spec"
)

// What should be true of steps, and of all that goes on for ever, by the names of
// tla/OutOfMemory.tla and tla/Liveness.tla.

// fails reports whether a malloc would be out of memory.
func fails(s *model.State, stream spec.Stream, bytes uint64) bool {
	_, r := s.Malloc(stream, bytes, model.DriverResults{LowestFrom: AddressBase})
	return errors.Is(r.Err, spec.ErrOutOfMemory)
}

// everyFailure is whether something is true of all mallocs that would fail.
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

// outOfMemoryIsReal: a malloc fails only if the cache has nothing, and nothing that
// could be given back would make room for a segment. To give back all is as good as
// to give back any part.
func (c *CachingAllocator) outOfMemoryIsReal(s *model.State) bool {
	emptied := s.EmptyCache()
	return c.everyFailure(s, func(stream spec.Stream, bytes uint64) bool {
		_, cached := s.ProcessEvents().GetFreeBlock(stream, bytes)
		need := model.SegmentSize(model.Round(bytes, s.Config, s.Geometry), s.Config, s.Geometry)
		room := emptied.Reserved()+need <= min(c.Limit, c.Memory)
		return !cached && !room
	})
}

// cacheIsSearchedAgain fails: see tla/OutOfMemory.tla. It is about steps.
func (c *CachingAllocator) cacheIsSearchedAgain(s *model.State, label int, _ *model.State) bool {
	stream, bytes, is := c.request(label)
	if !is || !fails(s, stream, bytes) {
		return true
	}
	waited := s.SynchronizeAndFreeEvents()
	_, cached := waited.GetFreeBlock(stream, bytes)
	return !cached
}

// request is what a label asks for, if it is that of a malloc.
func (c *CachingAllocator) request(label int) (stream spec.Stream, bytes uint64, is bool) {
	at := label - c.malloc.first
	if at < 0 || at >= len(c.malloc.all()) {
		return 0, 0, false
	}
	return c.Streams[at/len(c.Sizes)], c.Sizes[at%len(c.Sizes)], true
}

// anyBlockIsGood fails where max_split_size is set: see tla/OutOfMemory.tla.
func (c *CachingAllocator) anyBlockIsGood(s *model.State) bool {
	return c.everyFailure(s, func(stream spec.Stream, bytes uint64) bool {
		size := model.Round(bytes, s.Config, s.Geometry)
		return everyBlock(s, func(g *model.Segment, b *model.Block) bool {
			candidate := isFree(b) && g.Stream == stream && g.PoolKind == s.Geometry.PoolKind(size)
			return !candidate || b.Size < size
		})
	})
}

// freedBecomesReusable: of every address, if a block there is held by events, then it
// is not later.
func (c *CachingAllocator) freedBecomesReusable(fair [][]int) (list []explore.LeadsTo[*model.State]) {
	for a := range c.addresses() {
		held := func(s *model.State) bool {
			return !everyBlock(s, func(_ *model.Segment, b *model.Block) bool {
				return b.Address != AddressBase+spec.Ptr(a) || b.State != spec.ActivePendingFree
			})
		}
		list = append(list, explore.LeadsTo[*model.State]{
			Name: "FreedBecomesReusable", Fair: fair,
			From: held, To: func(s *model.State) bool { return !held(s) },
		})
	}
	return list
}

// fairness is what a specification of tla/Liveness.tla says that goes on.
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

func (c *CachingAllocator) property(name string, fair [][]int, to *explore.Options[*model.State]) bool {
	if i, known := invariant(name); known {
		if i != nil {
			to.Invariants = append(to.Invariants, *i)
		}
		return true
	}
	switch name {
	case "OutOfMemoryIsReal":
		to.Invariants = append(to.Invariants, explore.Invariant[*model.State]{Name: name, Holds: c.outOfMemoryIsReal})
	case "AnyBlockIsGood":
		to.Invariants = append(to.Invariants, explore.Invariant[*model.State]{Name: name, Holds: c.anyBlockIsGood})
	case "LimitHolds":
		to.Invariants = append(to.Invariants, explore.Invariant[*model.State]{
			Name: name, Holds: func(s *model.State) bool { return s.Reserved() <= c.Limit },
		})
	case "CacheIsSearchedAgain":
		to.Steps = append(to.Steps, explore.StepProperty[*model.State]{Name: name, Holds: c.cacheIsSearchedAgain})
	case "FreedBecomesReusable":
		to.LeadsTo = append(to.LeadsTo, c.freedBecomesReusable(fair)...)
	default:
		return false
	}
	return true
}
