package bounded

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/spec"
)

// The statistics are what the history says. Counters never end to grow, so that they are in no key:
// that a step adds to them what it should is a property of steps.

// accountingAddsUp: the current figures are sums over what the program holds, what waits, and what
// the driver has granted.
func accountingAddsUp(s *model.State) bool {
	stats := s.Stats()
	var allocated, requested, waiting, split, splits, reserved, segments int64
	for _, h := range s.Truth.Held {
		b, _ := blockAt(s, toUnits(h.Ptr))
		if b == nil {
			return true // AllocatedBlocksWereGivenOut
		}
		allocated, requested = allocated+int64(b.Size), requested+int64(h.Bytes)
	}
	waits := int64(0)
	everyBlock(s, func(g *model.Segment, b *model.Block) bool {
		switch {
		case b.State == spec.ActivePendingFree:
			waits, waiting, requested = waits+1, waiting+int64(b.Size), requested+int64(b.RequestedSize)
		case b.State == spec.Inactive && !g.Expandable && b.Size < g.Size:
			splits, split = splits+1, split+int64(b.Size)
		}
		return true
	})
	for _, g := range s.Truth.Granted {
		segments, reserved = segments+1, reserved+int64(g.Memory.Bytes)
	}
	for i := range s.PendingMallocs { // they are not registered
		if bytes := s.PendingMallocs[i].Granted().Bytes; bytes > 0 {
			segments, reserved = segments-1, reserved-int64(bytes)
		}
	}
	if s.Config.ExpandableSegments {
		segments = 0
	}
	held, all := int64(len(s.Truth.Held)), spec.Aggregate
	return stats.AllocatedBytes[all].Current == allocated && stats.Allocation[all].Current == held &&
		stats.ActiveBytes[all].Current == allocated+waiting && stats.Active[all].Current == held+waits &&
		stats.RequestedBytes[all].Current == requested && stats.ReservedBytes[all].Current == reserved &&
		stats.InactiveSplitBytes[all].Current == split && stats.InactiveSplit[all].Current == splits &&
		stats.Segment[all].Current == segments
}

// countersFollowHistory: a step counts what it does.
func (c *CachingAllocator) countersFollowHistory(from *model.State, label int, to *model.State) bool {
	stream, bytes, isMalloc := c.request(label)
	before, after := from.Counters, to.Counters
	captured := underway(from, stream)
	if c.isFault(label) {
		return true
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
	if known && (after.NumAllocRetries-before.NumAllocRetries != retries || after.NumSyncAllStreams-before.NumSyncAllStreams != waits) {
		return false
	}
	return c.oversizeFollows(from, to) && c.driverCallsFollow(from, to)
}

// driverCallsFollow: with plain segments each driver call is a grant or a return of one. A malloc
// in two steps counts its segment when it is registered.
func (c *CachingAllocator) driverCallsFollow(from, to *model.State) bool {
	calls := func(s *model.State) int64 { return s.Counters.NumDeviceAlloc - s.Counters.NumDeviceFree }
	gone, come := len(returned(from, to)), len(returned(to, from))
	switch more := calls(to) - calls(from); {
	case len(from.PendingMallocs) > 0 || len(to.PendingMallocs) > 0:
		return true
	case !c.Config.ExpandableSegments:
		return more == int64(len(to.Truth.Granted)-len(from.Truth.Granted))
	}
	return (come == 0 || to.Counters.NumDeviceAlloc > from.Counters.NumDeviceAlloc) &&
		(gone == 0 || to.Counters.NumDeviceFree > from.Counters.NumDeviceFree)
}

// oversizeFollows: so many oversize blocks and segments more are counted as there are.
func (c *CachingAllocator) oversizeFollows(from, to *model.State) bool {
	count := func(s *model.State) (blocks, segments int64) {
		for _, h := range s.Truth.Held {
			if b, _ := blockAt(s, toUnits(h.Ptr)); b != nil && b.Size >= c.Config.MaxSplitSize {
				blocks++
			}
		}
		for _, g := range s.Truth.Granted {
			if !c.Config.ExpandableSegments && g.Memory.Bytes >= c.Config.MaxSplitSize {
				segments++
			}
		}
		return blocks, segments
	}
	if slices.Equal(from.Truth.Held, to.Truth.Held) && slices.Equal(from.Truth.Granted, to.Truth.Granted) {
		return from.Counters.OversizeAllocations == to.Counters.OversizeAllocations && from.Counters.OversizeSegments == to.Counters.OversizeSegments
	}
	oldBlocks, oldSegments := count(from)
	blocks, segments := count(to)
	return to.Counters.OversizeAllocations-from.Counters.OversizeAllocations == blocks-oldBlocks &&
		to.Counters.OversizeSegments-from.Counters.OversizeSegments == segments-oldSegments
}
