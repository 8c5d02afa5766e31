package bounded

import (
	"cmp"
	"slices"

	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/upstream"
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
		held := slices.ContainsFunc(s.Truth.Held, func(h model.Held) bool { return occupied(s, h).Overlaps(g.Memory) })
		if held || useCount(s, poolAt(s, g.Memory.Ptr)) > 0 {
			bytes += g.Memory.Bytes
		}
	}
	return bytes
}

// occupied is what cannot be returned of what the program holds: of a pool with no_split it is the
// whole block.
func occupied(s *model.State, h model.Held) spec.Range {
	if b, g := blockAt(s, toUnits(h.Ptr)); b != nil && isNoSplit(s, g) {
		return spec.Range{Ptr: b.Address, Bytes: b.Size}
	}
	return s.MemoryOf(h)
}

// A fit is a free block in which a request fits.
type fit struct {
	model.Block
	grown   uint64 // its size with the unmapped memory behind it
	settled bool   // no neighbour waits: what a malloc frees first is not merged with it
	made    int    // the number of its segment or its own, by which ties are broken; 0 if they are not
}

// fitting are the free blocks of a pool in which a request fits. Oversize blocks serve requests of
// about their size only.
func (c *CachingAllocator) fitting(s *model.State, pool spec.PoolID, stream spec.Stream, bytes uint64) (list []fit) {
	size, limit := c.blockFor(bytes), s.Config.MaxSplitSize
	below := limit // that the block must be below
	if size >= limit {
		below = size + s.Config.MaxNonSplitRounding
	}
	for _, g := range s.Segments {
		if g.Pool != pool || g.Stream != stream || g.PoolKind != c.kindFor(bytes) {
			continue
		}
		for i, b := range g.Blocks {
			if b.State != spec.Inactive || b.Unmapped || b.Size < size || b.Size >= below {
				continue
			}
			found := fit{Block: b, grown: b.Size, settled: i == 0 || g.Blocks[i-1].State != spec.ActivePendingFree, made: g.Made + b.Made}
			if i+1 < len(g.Blocks) {
				after := g.Blocks[i+1]
				found.settled = found.settled && after.State != spec.ActivePendingFree
				if after.Unmapped {
					found.grown += after.Size
				}
			}
			list = append(list, found)
		}
	}
	return list
}

// isCached reports whether a free block of a pool fits, whatever a malloc frees first.
func (c *CachingAllocator) isCached(s *model.State, pool spec.PoolID, stream spec.Stream, bytes uint64) bool {
	return slices.ContainsFunc(c.fitting(s, pool, stream, bytes), func(f fit) bool { return f.settled })
}

// hasRoom reports whether the driver can grant what a malloc needs, if nothing is returned.
func (c *CachingAllocator) hasRoom(s *model.State, bytes uint64) bool {
	return granted(s)+c.NeededFor(bytes) <= c.room()
}

// returned are the grants that a step has returned, or returned and obtained again by another name.
func returned(from, to *model.State) []model.Grant {
	return slices.DeleteFunc(slices.Clone(from.Truth.Granted), func(g model.Grant) bool { return slices.Contains(to.Truth.Granted, g) })
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
	room := kept(from)+c.NeededFor(bytes) <= c.room()
	if underway(from, stream) || freeForbidden(from) {
		room = c.hasRoom(from, bytes)
	}
	return !room && !c.isCached(from, routedTo(from, stream), stream, bytes)
}

// freeForbidden reports whether a capture forbids to return memory.
func freeForbidden(s *model.State) bool { return s.Truth.InCapture() && !s.RelaxedCaptures }

// overflowPoolsServe: a malloc of the default pool fails only if no pool with use_on_oom has a free
// block that fits. It is about plain segments: expandable ones are not searched, unless
// UseOnOOMExpandable.
func (c *CachingAllocator) overflowPoolsServe(from *model.State, label int, to *model.State) bool {
	stream, bytes, is := c.request(label)
	if !is || !routedTo(from, stream).IsDefault() || !failed(from, to) {
		return true
	}
	return len(c.overflowing(from, stream, bytes)) == 0
}

// overflowOrder is the order in which pools with use_on_oom are searched: that of the fractions of
// the multiples of the golden ratio, .618, .236, .854, .472, by which upstream's table of pools is
// ordered.
var overflowOrder = []uint64{2, 4, 1, 3}

// overflowing are the pools with use_on_oom that have a free block that fits, in order.
func (c *CachingAllocator) overflowing(s *model.State, stream spec.Stream, bytes uint64) (list []spec.PoolID) {
	for _, number := range overflowOrder {
		id := PoolID(number)
		if slices.Contains(c.overflow, number) && useCount(s, id) > 0 && c.isCached(s, id, stream, bytes) {
			list = append(list, id)
		}
	}
	return list
}

// overflowPoolsInOrder: of several pools with use_on_oom that can serve a malloc the first does.
func (c *CachingAllocator) overflowPoolsInOrder(from *model.State, label int, to *model.State) bool {
	stream, bytes, is := c.request(label)
	if !is || !routedTo(from, stream).IsDefault() || waiting(from) {
		return true
	}
	able := c.overflowing(from, stream, bytes)
	return !slices.ContainsFunc(to.Truth.Held, func(h model.Held) bool {
		return !slices.Contains(from.Truth.Held, h) && !h.Pool.IsDefault() && len(able) > 0 && h.Pool != able[0]
	})
}

// livePoolsServe: only a pool in use serves a malloc, or one that its request is routed to.
func (c *CachingAllocator) livePoolsServe(from *model.State, label int, to *model.State) bool {
	_, _, is := c.request(label)
	return !is || !slices.ContainsFunc(to.Truth.Held, func(h model.Held) bool {
		return !slices.Contains(from.Truth.Held, h) && !h.Pool.IsDefault() && useCount(from, h.Pool) <= 0 && h.Pool != routedTo(from, h.Stream)
	})
}

// cacheServes: a malloc obtains memory only if no free block fits of the pool that its request is routed to.
func (c *CachingAllocator) cacheServes(from *model.State, label int, to *model.State) bool {
	stream, bytes, is := c.request(label)
	return !is || len(returned(to, from)) == 0 || !c.isCached(from, routedTo(from, stream), stream, bytes)
}

// limitHolds: the driver has granted no more than the limit.
func (c *CachingAllocator) limitHolds(s *model.State) bool { return granted(s) <= c.Limit }

// promptlyReclaimed: after a malloc outside of captures no block waits though no work is pending on
// it. The event of a free that was deferred comes after later work too.
func (c *CachingAllocator) promptlyReclaimed(from *model.State, label int, to *model.State) bool {
	inCapture := len(from.Truth.Captures) > 0
	if from.LooksAtMarks() { // a pool without a capture is none
		inCapture = from.Truth.InCapture()
	}
	if _, _, is := c.request(label); !is || inCapture {
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

// noNeedlessWait: a malloc waits for work only if no free block fits, and there is no room for what
// it needs of the driver. Beside it only EmptyCache waits.
func (c *CachingAllocator) noNeedlessWait(from *model.State, label int, to *model.State) bool {
	waits := slices.ContainsFunc(c.Streams, func(stream spec.Stream) bool {
		return pendingWork(to, stream) < pendingWork(from, stream)+endedUses(from, to, stream)
	})
	if !waits || c.isFault(label) || slices.Contains(c.complete.all(), label) {
		return true
	}
	stream, bytes, is := c.request(label)
	return label == c.emptyCache.label() || is && c.mustMakeRoom(from, stream, bytes)
}

// endedUses is how many uses by a stream a step has ended: each is work that is pending when the memory
// is freed.
func endedUses(from, to *model.State, stream spec.Stream) (n int) {
	for _, h := range from.Truth.Held {
		if !slices.Contains(to.Truth.Held, h) && slices.Contains(from.Truth.Touches, model.Touch{Ptr: h.Ptr, Stream: onDevice(stream)}) {
			n++
		}
	}
	return n
}

// emptyCacheLeavesNothingWaiting: outside of captures it waits for all.
func (c *CachingAllocator) emptyCacheLeavesNothingWaiting(from *model.State, label int, to *model.State) bool {
	return label != c.emptyCache.label() || len(from.Truth.Captures) > 0 || !waiting(to)
}

// mustMakeRoom reports whether a malloc can be served only if memory is returned first.
func (c *CachingAllocator) mustMakeRoom(s *model.State, stream spec.Stream, bytes uint64) bool {
	pool := routedTo(s, stream)
	overflows := pool.IsDefault() && c.overflowsMayServe() && !c.Rules.UseOnOOMLast && len(c.overflowing(s, stream, bytes)) > 0
	return !overflows && !c.isCached(s, pool, stream, bytes) && !c.hasRoom(s, bytes)
}

// overflowsMayServe reports whether pools with use_on_oom are searched for blocks of these segments.
func (c *CachingAllocator) overflowsMayServe() bool {
	return !c.Config.ExpandableSegments || c.Rules.UseOnOOMExpandable
}

// noNeedlessReturn: a malloc returns memory to the driver only if it can be served no other way.
// Beside it only EmptyCache returns memory; in captures it returns that of unused pools only, and a
// malloc that of no other stream.
func (c *CachingAllocator) noNeedlessReturn(from *model.State, label int, to *model.State) bool {
	stream, bytes, isMalloc := c.request(label)
	captured := underway(from, stream)
	if c.isFault(label) {
		return true
	}
	for _, g := range returned(from, to) {
		pool := poolAt(from, g.Memory.Ptr)
		switch {
		case isMalloc && !c.mustMakeRoom(from, stream, bytes), !isMalloc && label != c.emptyCache.label():
			return false
		case isMalloc && captured && (g.Stream != stream || pool != routedTo(from, stream)):
			return false
		case !isMalloc && captured && useCount(from, pool) != 0:
			return false
		}
	}
	return true
}

// bestFitServes: the free block that serves a malloc is one of the smallest that fit, where nothing
// is obtained from the driver, returned to it, or waited for. Of several it is the lowest, or the one
// that was made first, and the malloc has its begin. Of blocks that can grow a larger one may serve, which can grow to less.
func (c *CachingAllocator) bestFitServes(from *model.State, label int, to *model.State) bool {
	stream, bytes, is := c.request(label)
	if !is || failed(from, to) || waiting(from) || !slices.Equal(from.Truth.Granted, to.Truth.Granted) {
		return true
	}
	for _, h := range to.Truth.Held {
		if slices.Contains(from.Truth.Held, h) || poolAt(from, h.Ptr) != poolAt(to, h.Ptr) {
			continue // it was held before, or its segment was returned, and granted again
		}
		all := c.fitting(from, poolAt(from, h.Ptr), stream, bytes)
		slices.SortStableFunc(all, func(a, b fit) int { return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.made, b.made)) })
		at := slices.IndexFunc(all, func(b fit) bool { return b.Address <= h.Ptr && h.Ptr < b.Address+spec.Ptr(b.Size) })
		if at >= 0 && (all[at].Address != h.Ptr || !isBest(all, at)) {
			return false
		}
	}
	return true
}

// orderIsKept: where ties go by what was made first, blocks keep their order, what is obtained comes
// last, and so does the block that is split off a free one, if it is blocks that are made.
func (c *CachingAllocator) orderIsKept(from *model.State, _ int, to *model.State) bool {
	if waiting(from) || len(returned(from, to)) > 0 {
		return true
	}
	var before, after []made
	each := func(s *model.State, list *[]made) {
		everyBlock(s, func(g *model.Segment, b *model.Block) bool {
			*list = append(*list, made{b, g.Made + b.Made})
			return true
		})
	}
	each(from, &before)
	each(to, &after)
	obtained := returned(to, from)
	for _, d := range after {
		isLast := c.isSplitOff(before, d, from, to)
		for _, e := range after {
			if d != e && isLast && e.number > d.number || isIn(d, obtained) && !isIn(e, obtained) && e.number >= d.number {
				return false
			}
			for _, b := range before {
				for _, f := range before {
					if d != e && b.number < f.number && b.isKeptAs(d) && f.isKeptAs(e) && d.number >= e.number {
						return false
					}
				}
			}
		}
	}
	return true
}

// made is a block, with the number by which ties are broken.
type made struct {
	*model.Block
	number int
}

func (m made) end() spec.Ptr { return m.Address + spec.Ptr(m.Size) }

// isKeptAs reports whether a block of the state before a step is one of the state after it, or, if it
// was allocated, has become a part of it.
func (m made) isKeptAs(d made) bool {
	if m.State == spec.ActiveAllocated {
		return d.Address <= m.Address && m.end() <= d.end()
	}
	return m.end() == d.end() && m.Address <= d.Address
}

// isIn reports whether a block is in some of the grants.
func isIn(m made, grants []model.Grant) bool {
	return slices.ContainsFunc(grants, func(g model.Grant) bool { return g.Memory.Ptr <= m.Address && m.Address < g.Memory.End() })
}

// isSplitOff reports whether a malloc has split a block off a free one, or off what it has obtained.
func (c *CachingAllocator) isSplitOff(before []made, d made, from, to *model.State) bool {
	isHeld := slices.ContainsFunc(to.Truth.Held, func(h model.Held) bool { return h.Ptr == d.Address && !slices.Contains(from.Truth.Held, h) })
	return c.Rules.Ties == upstream.TiesByBlock && isHeld && (slices.ContainsFunc(before, func(b made) bool {
		return b.Address == d.Address && b.Size > d.Size
	}) || slices.ContainsFunc(returned(to, from), func(g model.Grant) bool {
		return g.Memory.Ptr == d.Address && g.Memory.Bytes > d.Size
	}))
}

// isBest reports whether the block at a place in the order of sizes, then of ties, should serve a
// request.
func isBest(all []fit, at int) bool {
	for i := range at {
		if all[i].grown == all[i].Size || all[i].grown <= all[at].grown {
			return false
		}
	}
	canGrow := all[at].grown > all[at].Size
	return at+1 == len(all) || !canGrow || all[at].grown <= all[at+1].grown
}

// blocksFitRequests: what is left over in an allocated block of a plain segment is too small to be
// split off. An oversize block, which is never split, is a whole segment.
func blocksFitRequests(s *model.State) bool {
	for _, h := range s.Truth.Held {
		b, g := blockAt(s, toUnits(h.Ptr))
		if b == nil || !fitsRequest(s, g, b, h) {
			return false
		}
		isLarge := !g.Expandable && g.PoolKind == spec.LargePool
		if isLarge && blockIn(s, h.Bytes) >= s.Config.MaxSplitSize && b.Size != g.Size {
			return false
		}
	}
	return true
}

// fitsRequest reports whether a block is as large as what it serves, or what is left over too small
// to be split off.
func fitsRequest(s *model.State, g *model.Segment, b *model.Block, h model.Held) bool {
	size := blockIn(s, h.Bytes)
	most := s.Geometry.MinBlock - 1
	switch {
	case isNoSplit(s, g):
		most = g.Size
	case g.Expandable || g.PoolKind == spec.SmallPool:
	case size >= s.Config.MaxSplitSize:
		most = s.Config.MaxNonSplitRounding - 1
	default:
		most = s.Geometry.SmallSize
	}
	return b.Size-size <= most
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
			if f.Stream == g.Stream && f.Pool == g.Pool && f.PoolKind == g.PoolKind && growableTo(f) >= c.blockFor(bytes) {
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

// segmentsFitRequests: a malloc obtains of the driver what it needs, and no more: one segment, or
// the pages that a free block lacks.
func (c *CachingAllocator) segmentsFitRequests(from *model.State, label int, to *model.State) bool {
	_, bytes, is := c.request(label)
	obtained := returned(to, from)
	if !is || len(obtained) == 0 {
		return true
	}
	sum := uint64(0)
	for _, g := range obtained {
		sum += g.Memory.Bytes
	}
	if c.Config.ExpandableSegments {
		return sum <= c.pagesFor(bytes)
	}
	return len(obtained) == 1 && sum == c.segmentFor(bytes)
}

// oversizeSegmentsAreWhole: a segment of max_split_size or more is one block. (A segment of the
// usual size is of that size only if max_split_size is as small.)
func (c *CachingAllocator) oversizeSegmentsAreWhole(s *model.State) bool {
	return !slices.ContainsFunc(s.Segments, func(g model.Segment) bool {
		return !g.Expandable && g.Size >= s.Config.MaxSplitSize && g.Size > c.Geometry.LargeBuffer && len(g.Blocks) > 1
	})
}

// remaindersCanServe: what is split off a block of a plain segment can serve another request.
func remaindersCanServe(s *model.State) bool {
	return everyBlock(s, func(g *model.Segment, b *model.Block) bool {
		return g.Expandable || g.PoolKind == spec.SmallPool || b.Size > s.Geometry.SmallSize
	})
}

// oversizeSuffices reports whether a malloc of the default pool has room when one free oversize
// segment of its stream is returned, or when all are that are smaller than the request needs.
func (c *CachingAllocator) oversizeSuffices(s *model.State, stream spec.Stream, bytes uint64) bool {
	need := max(c.blockFor(bytes), s.Config.MaxSplitSize)
	return routedTo(s, stream).IsDefault() && len(s.Truth.Captures) == 0 && !waiting(s) &&
		c.oversizeIn(s, spec.DefaultPool, stream, bytes) && granted(s)+c.segmentFor(bytes) <= c.room()+need
}

// oversizeIn reports whether one free oversize segment of a pool and a stream is as large as a
// request needs, or all are together that are smaller.
func (c *CachingAllocator) oversizeIn(s *model.State, pool spec.PoolID, stream spec.Stream, bytes uint64) bool {
	need, smaller, one := max(c.blockFor(bytes), s.Config.MaxSplitSize), uint64(0), false
	for _, g := range s.Segments {
		switch {
		case !c.isOversize(s, &g, pool, stream, bytes):
		case g.Size >= need:
			one = true
		default:
			smaller += g.Size
		}
	}
	return one || smaller >= need
}

// isOversize reports whether a segment is free, oversize, and of the pool and stream of a request.
func (c *CachingAllocator) isOversize(s *model.State, g *model.Segment, pool spec.PoolID, stream spec.Stream, bytes uint64) bool {
	isWhole := len(g.Blocks) == 1 && g.Blocks[0].State == spec.Inactive && !g.Expandable
	return isWhole && g.Pool == pool && g.Stream == stream && g.PoolKind == c.kindFor(bytes) && g.Size >= s.Config.MaxSplitSize
}

// justEnoughIsReturned: a malloc that returns memory, and not all that can be returned, or that
// need not return all, returns oversize blocks of its own stream and pool: enough, not one more than is
// needed, and of those that are enough alone the smallest.
func (c *CachingAllocator) justEnoughIsReturned(from *model.State, label int, to *model.State) bool {
	stream, bytes, is := c.request(label)
	gone := returned(from, to)
	if !is || len(gone) == 0 || granted(to) == kept(to) && !c.oversizeSuffices(from, stream, bytes) {
		return true
	}
	sum, least := uint64(0), gone[0].Memory.Bytes
	for _, g := range gone {
		sum, least = sum+g.Memory.Bytes, min(least, g.Memory.Bytes)
		if g.Stream != stream || g.Memory.Bytes < from.Config.MaxSplitSize || poolAt(from, g.Memory.Ptr) != routedTo(from, stream) {
			return false
		}
	}
	need := max(c.blockFor(bytes), from.Config.MaxSplitSize)
	isEnough := sum >= need || len(returned(to, from)) == 0
	return isEnough && sum-least < need && !slices.ContainsFunc(from.Segments, func(g model.Segment) bool {
		return c.isOversize(from, &g, routedTo(from, stream), stream, bytes) && g.Size >= need && least > g.Size
	})
}

// pagesKeepToLimit: a malloc maps pages only if a plain segment for it would stay within the limit.
func (c *CachingAllocator) pagesKeepToLimit(from *model.State, label int, to *model.State) bool {
	_, bytes, is := c.request(label)
	if !is || len(returned(to, from)) == 0 {
		return true
	}
	return granted(to)+c.segmentFor(bytes) <= c.Limit+c.pagesFor(bytes)
}
