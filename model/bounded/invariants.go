package bounded

import (
	"maps"
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/explore"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// The invariants, by their names in docs/invariants.md and tla/Invariants.tla.
var invariants = map[string]func(*model.State) bool{
	"BlocksTileSegments":    blocksTileSegments,
	"LiveBlocksDisjoint":    liveBlocksDisjoint,
	"NoMergeableNeighbours": noMergeableNeighbours,
	"SizesAndAlignment":     sizesAndAlignment,
	"RequestsFit":           requestsFit,
	"ActiveBlocksAreMapped": activeBlocksAreMapped,
	"HeldBlocksAreAwaited":  heldBlocksAreAwaited,
	"NoReuseWhileInUse":     noReuseWhileInUse,

	"AllocatedBlocksWereGivenOut": allocatedBlocksWereGivenOut,
	"WorkIsAwaited":               workIsAwaited,
	"EventsInOrder":               eventsInOrder,
	"DriverCallsAreLegal":         driverCallsAreLegal,
	"NothingIsLost":               nothingIsLost,
	"RemaindersCanServe":          remaindersCanServe,
	"AccountingAddsUp":            accountingAddsUp,
	"MemoryHolds":                 memoryHolds,
}

// byConstruction has the invariants that no State can break, and why. TLC checks them on
// the specification, which has variables for what the model computes. That the two
// graphs are equal shows that the computed values are right.
var byConstruction = map[string]string{
	"FreeListsHoldFreeBlocks": "a State has no free lists: they are computed from its blocks",
	"TypeOK":                  "Go has types",
	"PoolTypeOK":              "Go has types",
}

func (c *CachingAllocator) always() []string {
	names := append(slices.Sorted(maps.Keys(invariants)), "BlocksFitRequests", "EmptyCacheReleasesAll", "MallocsAreServed",
		"BestFitServes", "CacheServes", "NoNeedlessReturn", "SegmentsFitRequests", "CountersFollowHistory", "FailuresSayTheTruth")
	if len(c.Streams) > 1 {
		names = append(names, "NoNeedlessWait", "EmptyCacheLeavesNothingWaiting", "PromptlyReclaimed")
		if !c.captures {
			names = append(names, "EmptyCacheWaitsNoLonger", "MallocWaitsNoLonger")
		}
	}
	if c.Config.ExpandableSegments && c.firstFault == 0 {
		names = append(names, "EmptyRangesAreReleased")
	}
	if c.Config.ExpandableSegments {
		return append(names, "ExpandableSegmentsGrow", "LowestRangeGrows", "RangesHaveRoom", "PagesAreUsed", "PagesKeepToLimit") // pages can pass the limit: see MCExpandable_weak_limit.cfg
	}
	if c.Rules.Ties != upstream.TiesByAddress {
		names = append(names, "OrderIsKept")
	}
	if c.Limit <= c.Memory {
		names = append(names, "LimitHolds")
	}
	if c.Config.MaxSplitSize <= c.Memory {
		names = append(names, "OversizeSegmentsAreWhole", "JustEnoughIsReturned", "LargestAreReturned")
	}
	return names
}

// invariant finds an invariant by its name. Some cannot fail at certain bounds; these are
// evaluated all the same.
func (c *CachingAllocator) invariant(name string) (i explore.Invariant[*model.State], known bool) {
	holds, canFail := invariants[name]
	reason, known := byConstruction[name]
	switch name {
	case "NothingIsLostOnTheWay":
		holds, canFail = nothingIsLost, true
	case "HeldBlocksAreAwaited", "NoReuseWhileInUse", "WorkIsAwaited", "EventsInOrder":
		if len(c.Streams) == 1 {
			reason = "there is one stream: no block has stream uses"
		}
	case "DriverCallsAreLegal":
		if !c.captures {
			reason = "there are no captures"
		}
	}
	return explore.Invariant[*model.State]{Name: name, Holds: holds, ByConstruction: reason}, known || canFail
}

// everyBlock reports whether a predicate holds for all blocks.
func everyBlock(s *model.State, holds func(g *model.Segment, b *model.Block) bool) bool {
	for i := range s.Segments {
		g := &s.Segments[i]
		for j := range g.Blocks {
			if !holds(g, &g.Blocks[j]) {
				return false
			}
		}
	}
	return true
}

func blocksTileSegments(s *model.State) bool {
	for _, g := range s.Segments {
		end := g.Address
		for _, b := range g.Blocks {
			if b.Address != end {
				return false
			}
			end += spec.Ptr(b.Size)
		}
		if end != g.Address+spec.Ptr(g.Size) {
			return false
		}
	}
	return true
}

func liveBlocksDisjoint(s *model.State) bool {
	for i := 1; i < len(s.Segments); i++ {
		if below := &s.Segments[i-1]; below.Address+spec.Ptr(below.Size) > s.Segments[i].Address {
			return false
		}
	}
	for i, h := range s.Truth.Held {
		if i > 0 && s.MemoryOf(s.Truth.Held[i-1]).Overlaps(s.MemoryOf(h)) {
			return false
		}
	}
	return true
}

func noMergeableNeighbours(s *model.State) bool {
	for _, g := range s.Segments {
		for i := 1; i < len(g.Blocks); i++ {
			if a, b := &g.Blocks[i-1], &g.Blocks[i]; isInactive(a) && isInactive(b) && a.Unmapped == b.Unmapped {
				return false
			}
		}
	}
	return true
}

func sizesAndAlignment(s *model.State) bool {
	c := s.Geometry
	for _, g := range s.Segments {
		fits := g.Size == c.LargeBuffer || g.Size >= c.MinLargeAlloc && g.Size%c.RoundLarge == 0
		switch {
		case g.Expandable:
			fits = g.Size%g.Page == 0
		case g.PoolKind == spec.SmallPool:
			fits = g.Size == c.SmallBuffer
		}
		if !fits {
			return false
		}
	}
	return everyBlock(s, func(g *model.Segment, b *model.Block) bool {
		pages := !b.Unmapped || uint64(b.Address-g.Address)%g.Page == 0 && b.Size%g.Page == 0
		return pages && b.Size > 0 && b.Size%c.MinBlock == 0 && uint64(b.Address)%c.MinBlock == 0
	})
}

func requestsFit(s *model.State) bool {
	return everyBlock(s, func(g *model.Segment, b *model.Block) bool {
		size := blockIn(s, b.RequestedSize)
		switch {
		case isInactive(b), isNoSplit(s, g):
			return true
		case g.PoolKind == spec.LargePool:
			return size <= b.Size && b.Size > s.Geometry.SmallSize
		}
		return b.Size <= s.Geometry.SmallSize && b.Size == size
	})
}

// isNoSplit reports whether no malloc splits the blocks of a segment: its pool is marked so.
func isNoSplit(s *model.State, g *model.Segment) bool {
	return slices.ContainsFunc(s.Pools, func(p model.Pool) bool { return p.ID == g.Pool && p.NoSplit })
}

// activeBlocksAreMapped: they, and what the program holds, are backed by memory of the
// device.
func activeBlocksAreMapped(s *model.State) bool {
	for _, h := range s.Truth.Held {
		if !isGranted(s, s.MemoryOf(h)) {
			return false
		}
	}
	return everyBlock(s, func(_ *model.Segment, b *model.Block) bool {
		return isInactive(b) || !b.Unmapped && isGranted(s, spec.Range{Ptr: b.Address, Bytes: b.Size})
	})
}

// isGranted reports whether the driver granted memory. Grants are by address.
func isGranted(s *model.State, memory spec.Range) bool {
	at, end := memory.Ptr, memory.Ptr+spec.Ptr(memory.Bytes)
	for _, g := range s.Truth.Granted {
		if g.Memory.Ptr <= at && at < g.Memory.Ptr+spec.Ptr(g.Memory.Bytes) {
			at = g.Memory.Ptr + spec.Ptr(g.Memory.Bytes)
		}
	}
	return at >= end
}

func heldBlocksAreAwaited(s *model.State) bool {
	for _, u := range s.GraphStreamUses {
		unknown := everyBlock(s, func(_ *model.Segment, b *model.Block) bool {
			return b.Address != u.Block || !slices.Contains(b.StreamUses, u.Stream)
		})
		if unknown {
			return false
		}
	}
	return everyBlock(s, func(_ *model.Segment, b *model.Block) bool {
		awaited := slices.ContainsFunc(s.Events, func(e model.Event) bool { return e.Block == b.Address })
		return awaited == (b.State == spec.ActivePendingFree && !b.IsDeferred())
	})
}

// allocatedBlocksWereGivenOut: the allocated blocks are what the program holds.
func allocatedBlocksWereGivenOut(s *model.State) bool {
	held := s.Truth.Held
	same := everyBlock(s, func(g *model.Segment, b *model.Block) bool {
		if !isAllocated(b) {
			return true
		}
		same := len(held) > 0 && held[0].Ptr == b.Address && held[0].Bytes == b.RequestedSize && held[0].Stream == g.Stream
		held = held[min(1, len(held)):]
		return same
	})
	return same && len(held) == 0
}

// nothingIsLost: what the driver granted is registered, or will be by a pending malloc.
func nothingIsLost(s *model.State) bool {
	registered, granted := s.Reserved(), uint64(0)
	for i := range s.PendingMallocs {
		registered += s.PendingMallocs[i].Granted().Bytes
	}
	for _, g := range s.Truth.Granted {
		granted += g.Memory.Bytes
	}
	return registered == granted
}

// memoryHolds: the driver has granted no more than the device has.
func memoryHolds(s *model.State) bool { return granted(s) <= s.Memory }

// driverCallsAreLegal: no driver call was made that a capture forbids.
func driverCallsAreLegal(s *model.State) bool { return len(s.Truth.Illegal) == 0 }

// poolsAreIsolated: the program holds only memory of the pool that its request was routed to.
func poolsAreIsolated(s *model.State) bool {
	for _, h := range s.Truth.Held {
		for _, g := range s.Segments {
			if s.MemoryOf(h).Overlaps(spec.Range{Ptr: g.Address, Bytes: g.Size}) && g.Pool != h.Pool {
				return false
			}
		}
	}
	return true
}

// routingsAreCaptures: what the allocator takes for captures are the program's.
func routingsAreCaptures(s *model.State) bool {
	return slices.EqualFunc(s.Routings, s.Truth.Captures, func(r, c model.PoolRouting) bool {
		return r.Pool == c.Pool && r.Stream == c.Stream && !r.Uncaptured
	})
}

// eventsInOrder: the events of a stream complete in the order of its queue, and none later
// than all work.
func eventsInOrder(s *model.State) bool {
	for i, e := range s.Events {
		x := s.StreamOf(e.Stream)
		if e.After > x.Completed+len(x.Work) || i > 0 && s.Events[i-1].Stream == e.Stream && s.Events[i-1].After > e.After {
			return false
		}
	}
	return true
}

// workIsAwaited: pending work that uses memory of a block which the program does not hold is
// waited for before the block can be allocated again: by an event after it, or by the free
// of the block, if that is deferred.
func workIsAwaited(s *model.State) bool {
	for _, x := range s.Streams {
		for i, memory := range x.Work {
			if !isGranted(s, memory) || !isAwaited(s, x.ID, memory, x.Completed+i+1) {
				return false
			}
		}
	}
	return true
}

// isAwaited reports whether a piece of work is waited for.
func isAwaited(s *model.State, id spec.DeviceStream, memory spec.Range, piece int) bool {
	return everyBlock(s, func(g *model.Segment, b *model.Block) bool {
		if isAllocated(b) || g.Stream == id.Stream || !memory.Overlaps(spec.Range{Ptr: b.Address, Bytes: b.Size}) {
			return true
		}
		deferred := b.IsDeferred() && slices.Contains(b.StreamUses, id) && !isGraphStreamUse(s, b, id)
		return deferred || slices.ContainsFunc(s.Events, func(e model.Event) bool {
			return e.Block == b.Address && e.Stream == id && e.After >= piece
		})
	})
}

// noReuseWhileInUse: while the program holds memory for one stream, no other stream has
// pending work that uses it. The stream that the memory was obtained for may always have.
func noReuseWhileInUse(s *model.State) bool {
	for _, h := range s.Truth.Held {
		memory := s.MemoryOf(h)
		for _, x := range s.Streams {
			if x.ID.Stream != h.Stream && slices.ContainsFunc(x.Work, memory.Overlaps) {
				return false
			}
		}
		for _, g := range s.Truth.Granted {
			if g.Stream != h.Stream && memory.Overlaps(g.Memory) {
				return false
			}
		}
	}
	return true
}
