package bounded

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/spec"
)

// What a program is owed. These properties use nothing that they judge: they are said with what
// the program holds, the work that is pending, what the driver has granted, the layout of blocks,
// and numbers. They ask no rule of the allocator, such as its best fit or what it releases.

// failed reports whether a malloc was out of memory, in a step that is the malloc.
func failed(from, to *model.State) bool { return len(to.Truth.Held) <= len(from.Truth.Held) }

// granted is the bytes that the driver has granted.
func granted(s *model.State) (bytes uint64) {
	for _, g := range s.Truth.Granted {
		bytes += g.Memory.Bytes
	}
	return bytes
}

// kept is the bytes of the grants that cannot be returned, however long is waited: the program
// holds memory of them, or uses the pool that they are of.
func kept(s *model.State) (bytes uint64) {
	for _, g := range s.Truth.Granted {
		held := slices.ContainsFunc(s.Truth.Held, func(h model.Held) bool { return s.MemoryOf(h).Overlaps(g.Memory) })
		if held || useCount(s, poolAt(s, g.Memory.Ptr)) > 0 {
			bytes += g.Memory.Bytes
		}
	}
	return bytes
}

// fitting are the free blocks of a pool in which a request fits. Oversize blocks serve requests of
// about their size only.
func fitting(s *model.State, pool spec.PoolID, stream spec.Stream, bytes uint64) (list []model.Block) {
	size, limit := s.Round(bytes), s.Config.MaxSplitSize
	everyBlock(s, func(g *model.Segment, b *model.Block) bool {
		isOf := g.Pool == pool && g.Stream == stream && g.PoolKind == s.Geometry.PoolKind(size)
		below := limit // that the block must be below
		if size >= limit {
			below = size + s.Config.MaxNonSplitRounding
		}
		if isOf && b.IsFree() && b.Size >= size && b.Size < below {
			list = append(list, *b)
		}
		return true
	})
	return list
}

// waiting reports whether a block waits for events. What a malloc frees first may be merged with a
// block that fits, and then be too large.
func waiting(s *model.State) bool {
	return !everyBlock(s, func(_ *model.Segment, b *model.Block) bool { return b.State != spec.ActivePendingFree })
}

// mallocsAreServed: a malloc fails only if no free block fits, and there would be no room for the
// segment if all that can be returned were returned. In captures less is returned: see
// CacheIsReleasedInCapture.
func (c *CachingAllocator) mallocsAreServed(from *model.State, label int, to *model.State) bool {
	stream, bytes, is := c.request(label)
	if !is || !failed(from, to) {
		return true
	}
	room := kept(from)+from.SegmentSize(from.Round(bytes)) <= min(c.Limit, c.Memory)
	cached := !waiting(from) && len(fitting(from, routedTo(from, stream), stream, bytes)) > 0
	return !cached && (!room || len(from.Truth.Captures) > 0)
}

// overflowPoolsServe: a malloc of the default pool fails only if no pool with use_on_oom has a free
// block that fits. It is about plain segments: expandable ones are not searched.
func (c *CachingAllocator) overflowPoolsServe(from *model.State, label int, to *model.State) bool {
	stream, bytes, is := c.request(label)
	if !is || !routedTo(from, stream).IsDefault() || !failed(from, to) {
		return true
	}
	return !slices.ContainsFunc(c.overflow, func(number uint64) bool {
		id := PoolID(number)
		return useCount(from, id) > 0 && len(fitting(from, id, stream, bytes)) > 0
	})
}

// livePoolsServe: only a pool in use serves a malloc.
func (c *CachingAllocator) livePoolsServe(from *model.State, label int, to *model.State) bool {
	_, _, is := c.request(label)
	return !is || !slices.ContainsFunc(to.Truth.Held, func(h model.Held) bool {
		return !slices.Contains(from.Truth.Held, h) && !h.Pool.IsDefault() && useCount(from, h.Pool) <= 0
	})
}

// limitHolds: the driver has granted no more than the limit.
func (c *CachingAllocator) limitHolds(s *model.State) bool { return granted(s) <= c.Limit }

// promptlyReclaimed: after a malloc outside of captures no block waits though no work is pending on
// it. The event of a free that was deferred is behind later work too.
func (c *CachingAllocator) promptlyReclaimed(from *model.State, label int, to *model.State) bool {
	if _, _, is := c.request(label); !is || len(from.Truth.Captures) > 0 {
		return true
	}
	return everyBlock(to, func(g *model.Segment, b *model.Block) bool {
		return b.State != spec.ActivePendingFree || slices.ContainsFunc(to.Streams, func(x model.Stream) bool {
			return x.ID.Stream != g.Stream && slices.ContainsFunc(x.Work, func(r spec.Range) bool {
				return c.captures || r.Overlaps(spec.Range{Ptr: b.Address, Bytes: b.Size})
			})
		})
	})
}

// noNeedlessWait: a malloc waits for work only if there is no room for what it needs of the driver,
// and a free and a record_stream never wait.
func (c *CachingAllocator) noNeedlessWait(from *model.State, label int, to *model.State) bool {
	waits := slices.ContainsFunc(from.Streams, func(x model.Stream) bool {
		return len(to.StreamOf(x.ID).Work) < len(x.Work)
	})
	_, bytes, isMalloc := c.request(label)
	switch {
	case !waits:
		return true
	case isMalloc:
		size := from.Round(bytes)
		need := from.SegmentSize(size)
		if page := from.PageSize(from.Geometry.PoolKind(size)); from.Config.ExpandableSegments {
			need = max(need, (size+page-1)/page*page)
		}
		return granted(from)+need > min(c.Limit, c.Memory)
	}
	return !slices.Contains(c.free.all(), label) && !slices.Contains(c.recordStream.all(), label)
}

// bestFitServes: the free block of plain segments that serves a malloc is one of the smallest that
// fit, where nothing is obtained from the driver, returned to it, or waited for.
func (c *CachingAllocator) bestFitServes(from *model.State, label int, to *model.State) bool {
	stream, bytes, is := c.request(label)
	if !is || failed(from, to) || waiting(from) || !slices.Equal(from.Truth.Granted, to.Truth.Granted) {
		return true
	}
	for _, h := range to.Truth.Held {
		if slices.Contains(from.Truth.Held, h) || poolAt(from, h.Ptr) != poolAt(to, h.Ptr) {
			continue // it was held before, or its segment was returned, and granted again
		}
		all := fitting(from, poolAt(from, h.Ptr), stream, bytes)
		at := slices.IndexFunc(all, func(b model.Block) bool { return b.Address <= h.Ptr && h.Ptr < b.Address+spec.Ptr(b.Size) })
		if at >= 0 && slices.ContainsFunc(all, func(b model.Block) bool { return b.Size < all[at].Size }) {
			return false
		}
	}
	return true
}

// blocksFitRequests: what is left over in an allocated block of a plain segment is too small to be
// split off. An oversize block, which is never split, is a whole segment.
func blocksFitRequests(s *model.State) bool {
	for _, h := range s.Truth.Held {
		b, g := blockAt(s, toUnits(h.Ptr))
		if b == nil {
			return false
		}
		size := s.Round(h.Bytes)
		left, most := b.Size-size, s.Geometry.MinBlock-1
		switch {
		case g.Expandable || g.PoolKind == spec.SmallPool:
		case size >= s.Config.MaxSplitSize:
			most = s.Config.MaxNonSplitRounding - 1
			if b.Size != g.Size {
				return false
			}
		default:
			most = s.Geometry.SmallSize
		}
		if left > most {
			return false
		}
	}
	return true
}

// unusedPoolsAreErased: EmptyCache outside of captures leaves no pool without uses and memory. (A
// pool of expandable segments stays while its count of driver segments is positive.)
func (c *CachingAllocator) unusedPoolsAreErased(from *model.State, label int, to *model.State) bool {
	if label != c.emptyCache.label() || len(from.Truth.Captures) > 0 {
		return true
	}
	return !slices.ContainsFunc(to.Pools, func(q model.Pool) bool {
		hasMemory := slices.ContainsFunc(to.Truth.Granted, func(g model.Grant) bool { return poolAt(to, g.Memory.Ptr) == q.ID })
		return q.UseCount == 0 && !hasMemory && !(to.Config.ExpandableSegments && q.DriverSegments > 0)
	})
}

// expandableSegmentsGrow: where nothing is returned to the driver, there is another range of
// addresses only if the request does not fit into the free and unmapped memory, one after the
// other, of the ranges that the stream has.
func (c *CachingAllocator) expandableSegmentsGrow(from *model.State, label int, to *model.State) bool {
	_, bytes, is := c.request(label)
	isReturned := func(g model.Grant) bool { return !slices.Contains(to.Truth.Granted, g) }
	if !is || slices.ContainsFunc(from.Truth.Granted, isReturned) {
		return true
	}
	for _, g := range to.Segments {
		isOld := func(f model.Segment) bool { return f.Address == g.Address }
		if slices.ContainsFunc(from.Segments, isOld) {
			continue
		}
		for _, f := range from.Segments {
			if f.Stream == g.Stream && f.Pool == g.Pool && f.PoolKind == g.PoolKind && growableTo(f) >= from.Round(bytes) {
				return false
			}
		}
	}
	return true
}

// growableTo is how large a free block of a segment can become: memory without a block in use, of
// which at least a part is not mapped.
func growableTo(g model.Segment) (most uint64) {
	run, unmapped := uint64(0), false
	for _, b := range g.Blocks {
		if b.State != spec.Inactive {
			run, unmapped = 0, false
			continue
		}
		run += b.Size
		if unmapped = unmapped || b.Unmapped; unmapped {
			most = max(most, run)
		}
	}
	return most
}
