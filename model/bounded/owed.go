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

// emptyCacheWaitsNoLonger: the last work of a stream that EmptyCache waits for is work that a block
// waits for, or comes before it; unless memory of the stream is unmapped, or the driver waits for all
// work when memory is freed.
func (c *CachingAllocator) emptyCacheWaitsNoLonger(from *model.State, label int, to *model.State) bool {
	if label != c.emptyCache.label() {
		return true
	}
	gone := returned(from, to)
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
