package bounded

import (
	"errors"
	"slices"

	"gaugeblock/model"
	"gaugeblock/spec"
)

// The statistics are what the history says. Counters never end to grow, so that they are in no key:
// that a step adds to them what it should is a property of steps.

// figures are current statistics of one kind of memory.
type figures struct {
	allocated, allocations, active, actives, requested, split, splits, reserved, segments int64
}

// accountingAddsUp: the current figures of each kind are sums over what the program holds, what
// waits, and what the driver has granted.
func accountingAddsUp(s *model.State) bool {
	var want [2]figures
	for _, h := range s.Truth.Held {
		b, g := blockAt(s, toUnits(h.Ptr))
		if b == nil {
			return true // AllocatedBlocksWereGivenOut
		}
		f := &want[g.PoolKind]
		f.allocated, f.allocations = f.allocated+int64(b.Size), f.allocations+1
		f.active, f.actives, f.requested = f.active+int64(b.Size), f.actives+1, f.requested+int64(h.Bytes)
	}
	everyBlock(s, func(g *model.Segment, b *model.Block) bool {
		f := &want[g.PoolKind]
		switch {
		case b.State == spec.ActivePendingFree:
			f.active, f.actives, f.requested = f.active+int64(b.Size), f.actives+1, f.requested+int64(b.RequestedSize)
		case b.State == spec.Inactive && !g.Expandable && b.Size < g.Size:
			f.split, f.splits = f.split+int64(b.Size), f.splits+1
		}
		return true
	})
	for _, x := range s.Truth.Granted {
		for _, g := range s.Segments { // what is not registered yet is in none
			if overlaps(x, g) {
				want[g.PoolKind].reserved += int64(x.Memory.Bytes)
			}
			if overlaps(x, g) && !g.Expandable {
				want[g.PoolKind].segments++
			}
		}
	}
	stats := s.Stats()
	return figuresOf(&stats, spec.SmallPool.StatType()) == want[spec.SmallPool] &&
		figuresOf(&stats, spec.LargePool.StatType()) == want[spec.LargePool] &&
		figuresOf(&stats, spec.Aggregate) == want[spec.SmallPool].plus(want[spec.LargePool])
}

func (f figures) plus(o figures) figures {
	return figures{
		f.allocated + o.allocated, f.allocations + o.allocations, f.active + o.active, f.actives + o.actives,
		f.requested + o.requested, f.split + o.split, f.splits + o.splits, f.reserved + o.reserved, f.segments + o.segments,
	}
}

// figuresOf are the figures of a kind among the statistics.
func figuresOf(s *spec.DeviceStats, kind spec.StatType) figures {
	return figures{
		s.AllocatedBytes[kind].Current, s.Allocation[kind].Current, s.ActiveBytes[kind].Current, s.Active[kind].Current,
		s.RequestedBytes[kind].Current, s.InactiveSplitBytes[kind].Current, s.InactiveSplit[kind].Current,
		s.ReservedBytes[kind].Current, s.Segment[kind].Current,
	}
}

// failuresSayTheTruth: the error of a malloc that is out of memory says what was requested, and what
// the memory of the device is then. The free memory of private pools counts as allocated.
func (c *CachingAllocator) failuresSayTheTruth(from *model.State, label int, to *model.State) bool {
	stream, bytes, is := c.request(label)
	if !is || !failed(from, to) {
		return true
	}
	_, r := from.Malloc(stream, bytes, atLowest)
	var told *spec.OutOfMemoryError
	if !errors.As(r.Err, &told) {
		return false
	}
	allocated, private := uint64(0), uint64(0)
	for _, h := range to.Truth.Held {
		if b, _ := blockAt(to, toUnits(h.Ptr)); b != nil {
			allocated += b.Size
		}
	}
	everyBlock(to, func(g *model.Segment, b *model.Block) bool {
		if !g.Pool.IsDefault() && b.State == spec.Inactive && !b.Unmapped {
			private += b.Size
		}
		return true
	})
	want := spec.OutOfMemoryError{
		Requested: bytes, SegmentSize: c.segmentFor(bytes), DeviceTotal: c.Memory, DeviceFree: c.Memory - granted(to),
		Limited: told.Limited, Limit: told.Limit, Allocated: allocated + private, PrivatePools: private,
		Unallocated: granted(to) - allocated - private,
	}
	return *told == want && told.Limited == (c.Limit <= c.Memory) && (!told.Limited || told.Limit == c.Limit)
}

// countersFollowHistory: a step counts what it does, also one in which a driver call fails, and the
// statistics have the counters. What waits keeps the size that was requested.
func (c *CachingAllocator) countersFollowHistory(from *model.State, label int, to *model.State) bool {
	stream, bytes, isMalloc := c.request(label)
	before, after := from.Counters, to.Counters
	captured := underway(from, stream)
	if !requestedIsKept(from, to) {
		return false
	}
	if c.isFault(label) {
		return c.oversizeFollows(from, to) && (c.Config.ExpandableSegments || callsFollow(from, to))
	}
	if stats := to.Stats(); stats.NumAllocRetries != after.NumAllocRetries || stats.NumOOMs != after.NumOOMs ||
		stats.NumSyncAllStreams != after.NumSyncAllStreams || stats.NumDeviceAlloc != after.NumDeviceAlloc ||
		stats.NumDeviceFree != after.NumDeviceFree || stats.OversizeAllocations.Current != after.OversizeAllocations ||
		stats.OversizeSegments.Current != after.OversizeSegments {
		return false
	}
	ooms, retries, waits := int64(0), int64(0), int64(0) // that are known
	known := true
	switch {
	case isMalloc && failed(from, to):
		ooms = 1
		if !captured {
			retries, waits = 1, 1
		}
	case isMalloc && (c.isCached(from, routedTo(from, stream), stream, bytes) || c.hasRoom(from, bytes)):
	case isMalloc:
		known = false // oversize blocks may have been enough
	case label == c.emptyCache.label() && !captured:
		waits = 1
	}
	if after.NumOOMs-before.NumOOMs != ooms {
		return false
	}
	moreRetries, moreWaits := after.NumAllocRetries-before.NumAllocRetries, after.NumSyncAllStreams-before.NumSyncAllStreams
	if known && (moreRetries != retries || moreWaits != waits) || isMalloc && (moreRetries != moreWaits || moreRetries > 1) {
		return false
	}
	return c.oversizeFollows(from, to) && c.driverCallsFollow(from, label, to)
}

// requestedIsKept: a block that waits has the size that was requested when the program held it.
func requestedIsKept(from, to *model.State) bool {
	return everyBlock(to, func(_ *model.Segment, b *model.Block) bool {
		old, _ := blockAt(from, toUnits(b.Address))
		return b.State != spec.ActivePendingFree || old == nil || old.State == spec.Inactive || b.RequestedSize == old.RequestedSize
	})
}

// callsFollow: the calls for plain segments that are counted are the grants and returns.
func callsFollow(from, to *model.State) bool {
	calls := func(s *model.State) int64 { return s.Counters.NumDeviceAlloc - s.Counters.NumDeviceFree }
	return calls(to)-calls(from) == int64(len(to.Truth.Granted)-len(from.Truth.Granted))
}

// driverCallsFollow: with plain segments each driver call is a grant or a return of one. A malloc
// in two steps counts its segment when it is registered.
func (c *CachingAllocator) driverCallsFollow(from *model.State, label int, to *model.State) bool {
	gone, come := len(returned(from, to)), len(returned(to, from))
	allocs, frees := to.Counters.NumDeviceAlloc-from.Counters.NumDeviceAlloc, to.Counters.NumDeviceFree-from.Counters.NumDeviceFree
	_, _, isMalloc := c.request(label)
	switch {
	case len(from.PendingMallocs) > 0 || len(to.PendingMallocs) > 0:
		return true
	case !c.Config.ExpandableSegments:
		served := isMalloc && !failed(from, to)
		return callsFollow(from, to) && (allocs == 0 || served && allocs == 1)
	case waiting(from) || isMalloc && (gone > 0 || to.Counters.NumAllocRetries > from.Counters.NumAllocRetries):
		// what is merged before, or returned and granted again, has calls of its own
		return (come == 0 || allocs > 0) && (gone == 0 || frees > 0)
	}
	return allocs == mappings(from, to) && frees == unmappings(from, to)
}

// mappings are the unmapped ranges of which a step obtains pages: each has one call.
func mappings(from, to *model.State) (calls int64) {
	obtained := returned(to, from)
	isIn := func(r spec.Range) bool {
		return slices.ContainsFunc(obtained, func(x model.Grant) bool { return x.Memory.Overlaps(r) })
	}
	everyBlock(from, func(_ *model.Segment, b *model.Block) bool {
		if b.Unmapped && isIn(spec.Range{Ptr: b.Address, Bytes: b.Size}) {
			calls++
		}
		return true
	})
	for _, g := range to.Segments {
		isOld := slices.ContainsFunc(from.Segments, func(f model.Segment) bool { return f.Address == g.Address })
		if !isOld && isIn(spec.Range{Ptr: g.Address, Bytes: g.Size}) {
			calls++
		}
	}
	return calls
}

// unmappings are the free blocks that a step returns pages of: each counts as one call.
func unmappings(from, to *model.State) (calls int64) {
	gone := returned(from, to)
	everyBlock(from, func(_ *model.Segment, b *model.Block) bool {
		memory := spec.Range{Ptr: b.Address, Bytes: b.Size}
		if b.IsFree() && slices.ContainsFunc(gone, func(x model.Grant) bool { return x.Memory.Overlaps(memory) }) {
			calls++
		}
		return true
	})
	return calls
}

// oversizeFollows: so many oversize blocks and segments more are counted as come, and so many fewer as
// go, by the max_split_size at the time.
func (c *CachingAllocator) oversizeFollows(from, to *model.State) bool {
	limit := from.Config.MaxSplitSize
	count := func(s, other *model.State) (blocks, segments int64) { // that the other does not have
		for _, h := range s.Truth.Held {
			b, _ := blockAt(s, toUnits(h.Ptr))
			if b != nil && b.Size >= limit && !slices.Contains(other.Truth.Held, h) {
				blocks++
			}
		}
		for _, g := range returned(s, other) {
			if !c.Config.ExpandableSegments && g.Memory.Bytes >= limit {
				segments++
			}
		}
		return blocks, segments
	}
	oldBlocks, oldSegments := count(from, to)
	blocks, segments := count(to, from)
	return to.Counters.OversizeAllocations-from.Counters.OversizeAllocations == blocks-oldBlocks &&
		to.Counters.OversizeSegments-from.Counters.OversizeSegments == segments-oldSegments
}
