package bounded

import (
	"maps"
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/explore"
	"gaugeblock/spec"
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
}

// byConstruction has the invariants that no State can break, and why. TLC checks them on
// the specification, which has variables for what the model computes. That the two
// graphs are equal shows that the computed values are right.
var byConstruction = map[string]string{
	"AccountingAddsUp":            "a State has no statistics of sizes: they are sums over its blocks",
	"FreeListsHoldFreeBlocks":     "a State has no free lists: they are computed from its blocks",
	"AllocatedBlocksWereGivenOut": "a State has no pointers of the program: they are computed from its blocks",
	"NothingIsLost":               "a State has no memory of the driver: it is computed from its segments",
	"NothingIsLostOnTheWay":       "a State has no memory of the driver: it is computed from its segments and pending mallocs",
}

func (c *CachingAllocator) always() []string {
	return append(slices.Sorted(maps.Keys(invariants)), "OutOfMemoryIsReal")
}

// invariant finds an invariant by its name. Some cannot fail at certain bounds; these are
// evaluated all the same.
func (c *CachingAllocator) invariant(name string) (i explore.Invariant[*model.State], known bool) {
	holds, canFail := invariants[name]
	reason, known := byConstruction[name]
	switch name {
	case "ActiveBlocksAreMapped":
		if !c.Config.ExpandableSegments {
			reason = "expandable segments are off: no block is unmapped"
		}
	case "LiveBlocksDisjoint":
		if !c.Config.ExpandableSegments && c.Memory < 2*min(c.Geometry.SmallBuffer, c.Geometry.LargeBuffer) {
			reason = "the device has memory for one segment, whose blocks are consecutive"
		}
	case "HeldBlocksAreAwaited", "NoReuseWhileInUse":
		if len(c.Streams) == 1 {
			reason = "there is one stream: no block has stream uses"
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
		switch {
		case isInactive(b):
			return true
		case g.PoolKind == spec.LargePool:
			return b.RequestedSize <= b.Size && b.Size > s.Geometry.SmallSize
		}
		return b.Size <= s.Geometry.SmallSize && b.Size == model.Round(b.RequestedSize, s.Config, s.Geometry)
	})
}

func activeBlocksAreMapped(s *model.State) bool {
	return everyBlock(s, func(_ *model.Segment, b *model.Block) bool { return isInactive(b) || !b.Unmapped })
}

func heldBlocksAreAwaited(s *model.State) bool {
	return everyBlock(s, func(_ *model.Segment, b *model.Block) bool {
		awaited := slices.ContainsFunc(s.Events, func(e model.Event) bool { return e.Block == b.Address })
		return awaited == (b.State == spec.ActivePendingFree && !b.IsDeferred())
	})
}

// noReuseWhileInUse: while a block is allocated, no other stream has pending work that
// uses its memory.
func noReuseWhileInUse(s *model.State) bool {
	return everyBlock(s, func(g *model.Segment, b *model.Block) bool {
		block := spec.Range{Ptr: b.Address, Bytes: b.Size}
		for _, x := range s.Streams {
			if isAllocated(b) && x.ID.Stream != g.Stream && slices.ContainsFunc(x.Work, block.Overlaps) {
				return false
			}
		}
		return true
	})
}
