package model

import (
	"slices"

	"gaugeblock/spec"
)

// Memory goes back to the driver in whole segments: all of them when the cache is
// emptied or nothing else helps; just enough oversize ones before that; and old
// ones when garbage is collected.

// EmptyCache returns every cached segment; while something is redirected only those
// of pools that nobody uses.
func (s State) EmptyCache() State {
	s = s.copy()
	if s.isRouting() {
		s.releaseFreeable()
	} else {
		s.releaseAll()
	}
	return s
}

// makeRoom is what follows when an attempt to get a segment has failed. The first
// time oversize blocks are released, the second time everything; the third time
// nothing is left to try.
func (s *State) nextAttempt(c *PendingMalloc) {
	c.attempt++
	switch {
	case c.attempt == 2:
		c.stage = stageFailed
		if p, found := s.findInOOMPools(c); found {
			s.allocFoundBlock(c, p)
		} else if s.releaseOversize(c) {
			c.stage = stageTestLimit
		}
	case c.attempt == 3 && !s.isRouting():
		s.releaseAll()
		c.stage = stageTestLimit
	default:
		s.Counters.NumOOMs++
		c.err, c.stage = s.outOfMemory(c), stageDone
	}
}

// outOfMemory is the error, with the figures of the moment. What private pools hold
// counts as allocated.
func (s *State) outOfMemory(c *PendingMalloc) *spec.OutOfMemoryError {
	stats := s.Stats()
	allocated := uint64(stats.AllocatedBytes[spec.Aggregate].Current) + s.freeInPrivatePools()
	return &spec.OutOfMemoryError{
		Device: s.Device, Requested: c.Requested, SegmentSize: c.segmentSize,
		DeviceTotal: s.Memory, DeviceFree: s.Memory - s.deviceUsed(),
		Limited: s.Limited, Limit: s.Limit,
		Allocated: allocated, Unallocated: s.reserved() - allocated,
	}
}

// releaseAll waits for all events, then returns what can go of the default pool and of
// the pools that nobody uses.
func (s *State) releaseAll() {
	s.processDeferredFrees()
	s.synchronizeAndFreeEvents()
	s.releaseBlocks(spec.DefaultPool)
	s.releaseFreeable()
}

// ReleasedDefault is the state in which all events have been waited for, and what can
// go of the default pool has gone.
func (s State) ReleaseDefaultPool() State {
	s = s.copy()
	s.synchronizeAndFreeEvents()
	s.releaseBlocks(spec.DefaultPool)
	return s
}

// releaseBlocks returns every free block of a pool that is a whole segment, and the
// free pages of expandable ones.
func (s *State) releaseBlocks(pool spec.PoolID) {
	var going []spec.Ptr
	for i, g := range s.Segments {
		if g.Pool == pool && s.isWholeSegment(place{i, 0}) {
			going = append(going, g.Address)
		}
	}
	s.driverFree(going...)
	s.unmapFreePages(pool)
}

// releaseOversize returns just enough oversize blocks of the call's stream to make
// room for it, and reports whether it did. Without max_split_size there are none,
// and in the small pool there never are. Nothing goes of a private pool: a graph was
// captured with it. What went stays gone even if it was not
// enough.
func (s *State) releaseOversize(c *PendingMalloc) bool {
	if s.Config.MaxSplitSize == spec.Unlimited || !c.pool.IsDefault() {
		return false
	}
	need := max(c.size, s.Config.MaxSplitSize)
	var oversize []place // ascending by size, then address
	for _, p := range s.freeList(c.pool, s.poolKind(c)) {
		if s.Segments[p.segment].Stream == c.Stream && s.at(p).Size >= s.Config.MaxSplitSize {
			oversize = append(oversize, p)
		}
	}
	// One that is large enough by itself will do, if it can go.
	enough := slices.IndexFunc(oversize, func(p place) bool { return s.at(p).Size >= need })
	if enough >= 0 && s.isWholeSegment(oversize[enough]) {
		s.driverFree(s.at(oversize[enough]).Address)
		return true
	}
	// Else the largest of the smaller ones go, until they add up.
	smaller := oversize
	if enough >= 0 {
		smaller = oversize[:enough]
	}
	var going []spec.Ptr
	released := uint64(0)
	for _, p := range slices.Backward(smaller) {
		if released < need && s.isWholeSegment(p) {
			going = append(going, s.at(p).Address)
			released += s.at(p).Size
		}
	}
	s.driverFree(going...)
	return released >= need
}

// collectsGarbage reports whether old segments are returned before new ones are
// obtained.
func (s *State) garbageCollects() bool {
	return s.Limited && s.Config.GarbageCollectionThreshold > 0
}

// collectGarbage returns large cached segments that were not used for long, once
// more is held than a fraction of the limit. Its rounds each return every whole
// segment whose age is at least the average of those that are left, until enough
// has gone.
func (s *State) collectGarbage() {
	if !s.garbageCollects() {
		return
	}
	threshold := uint64(s.Config.GarbageCollectionThreshold * float64(s.Limit))
	for s.reserved() > threshold {
		before := s.reserved()
		s.collectRound()
		if s.reserved() == before {
			return // there was nothing to return
		}
	}
}

// collectRound returns the whole large segments of average age and more.
func (s *State) collectRound() {
	age := func(p place) uint64 { return s.GetFreeBlocksCallCount[spec.LargePool] - s.at(p).GCCountBase }
	var cached []place
	total := uint64(0)
	for _, p := range s.freeList(spec.DefaultPool, spec.LargePool) {
		if s.isWholeSegment(p) {
			cached = append(cached, p)
			total += age(p)
		}
	}
	var going []spec.Ptr
	for _, p := range cached {
		if float64(age(p)) >= float64(total)/float64(len(cached)) {
			going = append(going, s.at(p).Address)
		}
	}
	s.driverFree(going...)
}
