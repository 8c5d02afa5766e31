package bounded

import (
	"maps"
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/explore"
	"gaugeblock/spec"
)

// What should be true of every state, by the names that docs/invariants.md and
// tla/Invariants.tla have for it.
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

// byConstruction are those that no State of the model could break: figures are sums
// over the blocks there, a free list is every block that is free, what is out is every
// block that is allocated. That the two sides agree in every state says more.
var byConstruction = []string{
	"AccountingAddsUp", "FreeListsHoldFreeBlocks",
	"AllocatedBlocksWereGivenOut", "NothingIsLost",
}

func (c *CachingAllocator) always() []string {
	return append(slices.Sorted(maps.Keys(invariants)), "OutOfMemoryIsReal")
}

// invariant finds one by its name. One that holds by construction is nil.
func invariant(name string) (*explore.Invariant[*model.State], bool) {
	if holds, known := invariants[name]; known {
		return &explore.Invariant[*model.State]{Name: name, Holds: holds}, true
	}
	return nil, slices.Contains(byConstruction, name)
}

// everyBlock is whether something is true of all blocks.
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
			if a, b := &g.Blocks[i-1], &g.Blocks[i]; isFree(a) && isFree(b) && a.Unmapped == b.Unmapped {
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
		case isFree(b):
			return true
		case g.PoolKind == spec.LargePool:
			return b.RequestedSize <= b.Size && b.Size > s.Geometry.SmallSize
		}
		return b.Size <= s.Geometry.SmallSize && b.Size == model.Round(b.RequestedSize, s.Config, s.Geometry)
	})
}

func activeBlocksAreMapped(s *model.State) bool {
	return everyBlock(s, func(_ *model.Segment, b *model.Block) bool { return isFree(b) || !b.Unmapped })
}

func heldBlocksAreAwaited(s *model.State) bool {
	return everyBlock(s, func(_ *model.Segment, b *model.Block) bool {
		awaited := slices.ContainsFunc(s.Events, func(e model.Event) bool { return e.Block == b.Address })
		return awaited == (b.State == spec.ActivePendingFree && !isDeferred(b))
	})
}

// noReuseWhileInUse: memory is not out on one stream while another has still to use it
// for the owner before.
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
