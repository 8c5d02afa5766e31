package bounded

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/spec"
)

// More of what a program is owed (served.go): how much is obtained, returned and waited for.

// pagesAreUsed: of the pages that a malloc obtains each is in part its memory's.
func (c *CachingAllocator) pagesAreUsed(from *model.State, label int, to *model.State) bool {
	if _, _, is := c.request(label); !is {
		return true
	}
	for _, h := range to.Truth.Held {
		if slices.Contains(from.Truth.Held, h) {
			continue
		}
		memory := to.MemoryOf(h)
		if slices.ContainsFunc(returned(to, from), func(g model.Grant) bool { return !memory.Overlaps(g.Memory) }) {
			return false
		}
	}
	return true
}

// largestAreReturned: of the oversize segments that are smaller than a request, a malloc that need
// not return all returns the largest.
func (c *CachingAllocator) largestAreReturned(from *model.State, label int, to *model.State) bool {
	stream, bytes, is := c.request(label)
	gone := returned(from, to)
	if !is || len(gone) == 0 || granted(to) == kept(to) && !c.oversizeSuffices(from, stream, bytes) {
		return true
	}
	need, least := max(c.blockFor(bytes), from.Config.MaxSplitSize), gone[0].Memory.Bytes
	for _, g := range gone {
		least = min(least, g.Memory.Bytes)
	}
	return !slices.ContainsFunc(from.Segments, func(g model.Segment) bool {
		isSmaller := len(g.Blocks) == 1 && g.Blocks[0].State == spec.Inactive && g.Stream == stream && g.Pool == routedTo(from, stream) &&
			g.Size >= from.Config.MaxSplitSize && g.Size < need
		isReturned := slices.ContainsFunc(gone, func(r model.Grant) bool { return r.Memory.Ptr == g.Address })
		return isSmaller && !isReturned && g.Size > least
	})
}

// emptyCacheWaitsNoLonger and mallocWaitsNoLonger: see waitsNoLonger.
func (c *CachingAllocator) emptyCacheWaitsNoLonger(from *model.State, label int, to *model.State) bool {
	return label != c.emptyCache.label() || c.waitsNoLonger(from, to, returned(from, to))
}

func (c *CachingAllocator) mallocWaitsNoLonger(from *model.State, label int, to *model.State) bool {
	_, _, is := c.request(label)
	return !is || c.waitsNoLonger(from, to, returnable(from))
}

// waitsNoLonger reports whether the last work of a stream that is waited for is work that a block
// waits for, or comes before it; unless memory of the stream is unmapped, or the driver waits for all
// work when memory is freed.
func (c *CachingAllocator) waitsNoLonger(from, to *model.State, gone []model.Grant) bool {
	for _, x := range from.Streams {
		n := len(x.Work) - len(to.StreamOf(x.ID).Work)
		isReturned := slices.ContainsFunc(gone, func(g model.Grant) bool {
			return c.Config.ExpandableSegments && g.Stream == x.ID.Stream || !c.Config.ExpandableSegments && from.FreeWaits
		})
		if n > 0 && !isReturned && !slices.ContainsFunc(x.Work[n-1:], func(memory spec.Range) bool { return isWaited(from, x.ID.Stream, memory) }) {
			return false
		}
	}
	return true
}

// returnable are the grants of which the program holds nothing: a malloc may return them, and obtain
// them again as they were.
func returnable(s *model.State) []model.Grant {
	return slices.DeleteFunc(slices.Clone(s.Truth.Granted), func(g model.Grant) bool {
		return slices.ContainsFunc(s.Truth.Held, func(h model.Held) bool { return s.MemoryOf(h).Overlaps(g.Memory) })
	})
}

// isWaited reports whether a block of another stream waits for work that uses memory.
func isWaited(s *model.State, stream spec.Stream, memory spec.Range) bool {
	return !everyBlock(s, func(g *model.Segment, b *model.Block) bool {
		return b.State != spec.ActivePendingFree || g.Stream == stream || !memory.Overlaps(spec.Range{Ptr: b.Address, Bytes: b.Size})
	})
}

// emptyRangesAreReleased: EmptyCache leaves no range of addresses that has lost its last page.
func (c *CachingAllocator) emptyRangesAreReleased(from *model.State, label int, to *model.State) bool {
	if label != c.emptyCache.label() {
		return true
	}
	hasPages := func(s *model.State, g model.Segment) bool {
		return slices.ContainsFunc(s.Truth.Granted, func(r model.Grant) bool {
			return r.Memory.Overlaps(spec.Range{Ptr: g.Address, Bytes: g.Size})
		})
	}
	return !slices.ContainsFunc(to.Segments, func(g model.Segment) bool {
		isOld := slices.ContainsFunc(from.Segments, func(f model.Segment) bool { return f.Address == g.Address && f.Size == g.Size })
		return isOld && hasPages(from, g) && !hasPages(to, g)
	})
}

// rangesHaveRoom: a range of addresses has room for all memory of the device and an eighth more.
func (c *CachingAllocator) rangesHaveRoom(s *model.State) bool {
	return !slices.ContainsFunc(s.Segments, func(g model.Segment) bool {
		page := c.Geometry.SmallBuffer
		if g.PoolKind == spec.LargePool {
			page = c.Geometry.LargeBuffer
		}
		return g.Expandable && g.Size != roundedUp(c.Memory+c.Memory/8, page)
	})
}

// lowestRangeGrows: of several places in the ranges that a stream has, where the request fits if
// pages are mapped, a malloc takes the lowest, and its begin.
func (c *CachingAllocator) lowestRangeGrows(from *model.State, label int, to *model.State) bool {
	stream, bytes, is := c.request(label)
	if !is || failed(from, to) || len(returned(from, to)) > 0 || len(returned(to, from)) == 0 || waiting(from) {
		return true
	}
	for _, h := range to.Truth.Held {
		if slices.Contains(from.Truth.Held, h) {
			continue
		}
		lowest := c.lowestPlace(from, poolAt(to, h.Ptr), stream, bytes)
		if lowest != 0 && lowest != h.Ptr {
			return false
		}
	}
	return true
}

// lowestPlace is the lowest address at which a request fits if pages are mapped, 0 if there is none.
func (c *CachingAllocator) lowestPlace(s *model.State, pool spec.PoolID, stream spec.Stream, bytes uint64) spec.Ptr {
	for _, g := range s.Segments {
		if !g.Expandable || g.Stream != stream || g.Pool != pool || g.PoolKind != c.kindFor(bytes) {
			continue
		}
		for i, b := range g.Blocks {
			room, isMapped := uint64(0), true
			for _, next := range g.Blocks[i:] {
				if next.State != spec.Inactive {
					break
				}
				room, isMapped = room+next.Size, isMapped && !next.Unmapped
			}
			if room >= c.blockFor(bytes) && !isMapped {
				return b.Address
			}
		}
	}
	return 0
}
