package model

import (
	"slices"

	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// Memory is released to the driver in whole segments, and in pages of expandable ones:
// all cached memory by EmptyCache and before the last attempt of a malloc; just enough
// oversize blocks before that; the oldest blocks by garbage collection.

// EmptyCache releases all cached memory of the default pool and of the freeable pools.
// During a capture only the freeable pools are released. While a capture forbids to free
// memory nothing is.
func (s State) EmptyCache() State {
	s = s.copy()
	switch {
	case s.freeForbidden():
		s.countForbiddenWait()
	case s.captureUnderway():
		s.releaseFreeablePools()
	default:
		s.releaseCachedBlocks()
	}
	s.renumber()
	return s
}

// nextAttempt prepares the next attempt at a driver allocation after a failed one. The
// stages are listed at the beginning of malloc.go.
func (s *State) nextAttempt(c *PendingMalloc) {
	c.attempt++
	switch {
	case c.attempt == 2:
		c.stage = stageFailed
		if !s.Rules.UseOnOOMLast && s.allocFromFallback(c) {
			return
		}
		if s.releaseAvailableCachedBlocks(c) {
			c.stage = stageTestLimit
		}
	case c.attempt == 3 && !s.captureUnderway():
		s.releaseCachedBlocks()
		c.stage = stageTestLimit
	case s.Rules.UseOnOOMLast && s.allocFromFallback(c):
	default:
		s.Counters.NumOOMs++
		c.err, c.stage = s.outOfMemory(c), stageDone
	}
}

// allocFromFallback ends a malloc with a block of a pool with use_on_oom, if there is one.
func (s *State) allocFromFallback(c *PendingMalloc) bool {
	p, found := s.tryMempoolFallback(c)
	if found {
		s.allocFoundBlock(c, p)
	}
	return found
}

// outOfMemory is the error, with the current statistics. The free memory of private
// pools counts as allocated.
func (s *State) outOfMemory(c *PendingMalloc) *spec.OutOfMemoryError {
	pools := s.freeInPrivatePools()
	allocated := s.allocated() + pools
	return &spec.OutOfMemoryError{
		Device: s.Device, Requested: c.RequestedSize, SegmentSize: c.segmentSize,
		DeviceTotal: s.Memory, DeviceFree: s.Memory - s.deviceUsed(),
		Limited: s.Limited, Limit: s.Limit,
		Allocated: allocated, PrivatePools: pools, Unallocated: s.Reserved() - allocated,
	}
}

// allocated is the bytes of the allocated blocks.
func (s *State) allocated() (bytes uint64) {
	for i := range s.Segments {
		for j := range s.Segments[i].Blocks {
			if b := &s.Segments[i].Blocks[j]; b.State == spec.ActiveAllocated {
				bytes += b.Size
			}
		}
	}
	return bytes
}

// countForbiddenWait counts a wait for all events that is not made, since a capture forbids to free
// memory: if the capture is another caller's, the allocator has counted it before it knows.
func (s *State) countForbiddenWait() {
	if s.Rules.Captures == upstream.CapturesByMark && !s.captureUnderway() {
		s.Counters.NumSyncAllStreams++
	}
}

// releaseCachedBlocks waits for all events, then releases the cached memory of the default pool
// and of the freeable pools, unless another caller's capture forbids to free memory.
func (s *State) releaseCachedBlocks() {
	if s.freeForbidden() {
		s.countForbiddenWait()
		return
	}
	s.insertEventsDeferredUntilNoCapture()
	s.synchronizeAndFreeEvents()
	s.releaseBlocks(spec.DefaultPool, spec.LargePool, spec.SmallPool)
	s.releaseFreeablePools()
}

// ReleaseDefaultPool waits for all events, then releases the cached memory of the default
// pool.
func (s State) ReleaseDefaultPool() State {
	s = s.copy()
	s.synchronizeAndFreeEvents()
	s.releaseBlocks(spec.DefaultPool, spec.LargePool, spec.SmallPool)
	s.renumber()
	return s
}

// releaseBlocks releases the free blocks of a pool that are whole segments, and the free
// pages of its expandable segments, of one kind after the other.
func (s *State) releaseBlocks(pool spec.PoolID, kinds ...spec.PoolKind) {
	for _, kind := range kinds {
		var toRelease []spec.Ptr
		for _, p := range s.freeList(pool, kind) {
			if s.isWholeSegment(p) {
				toRelease = append(toRelease, s.at(p).Address)
			}
		}
		s.driverFree(toRelease...)
		s.unmapFreePages(pool, kind)
	}
}

// releaseAvailableCachedBlocks releases just enough oversize blocks of the request's stream for the
// request, and reports whether they were enough. Without max_split_size there are none,
// and in the small pool there never are. Blocks of a pool that a graph was captured with are not
// released: the graph contains their addresses. If they were not enough they are released all the
// same.
func (s *State) releaseAvailableCachedBlocks(c *PendingMalloc) bool {
	if s.Config.MaxSplitSize == spec.Unlimited || s.isCapturedPool(c.pool) || s.freeForbidden() {
		return false
	}
	need := max(c.size, s.Config.MaxSplitSize)
	var oversize []place // ascending by size, then address
	for _, p := range s.freeList(c.pool, s.poolKind(c)) {
		if s.Segments[p.segment].Stream == c.Stream && s.at(p).Size >= s.Config.MaxSplitSize {
			oversize = append(oversize, p)
		}
	}
	// One that is large enough alone, if it is a whole segment.
	enough := slices.IndexFunc(oversize, func(p place) bool { return s.at(p).Size >= need })
	if enough >= 0 && s.isWholeSegment(oversize[enough]) {
		s.driverFree(s.at(oversize[enough]).Address)
		return true
	}
	// Otherwise the smaller ones, largest first, until the sum is enough.
	smaller := oversize
	if enough >= 0 {
		smaller = oversize[:enough]
	}
	var toRelease []spec.Ptr
	released := uint64(0)
	for _, p := range slices.Backward(smaller) {
		if released < need && s.isWholeSegment(p) {
			toRelease = append(toRelease, s.at(p).Address)
			released += s.at(p).Size
		}
	}
	s.driverFree(toRelease...)
	return released >= need
}

// collectsGarbage reports whether old cached blocks are released before a driver
// allocation.
func (s *State) collectsGarbage() bool {
	return s.Limited && s.Config.GarbageCollectionThreshold > 0
}

// garbageCollectCachedBlocks releases the oldest large cached segments while the reserved bytes
// exceed a fraction of the limit. Each round releases every whole segment whose age is
// at least the average.
func (s *State) garbageCollectCachedBlocks() {
	if !s.collectsGarbage() {
		return
	}
	threshold := uint64(s.Config.GarbageCollectionThreshold * float64(s.Limit))
	for s.Reserved() > threshold {
		before := s.Reserved()
		s.collectRound()
		if s.Reserved() == before {
			return // nothing could be released
		}
	}
}

// collectRound releases the whole large segments of at least average age.
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
	var toRelease []spec.Ptr
	for _, p := range cached {
		if float64(age(p)) >= float64(total)/float64(len(cached)) {
			toRelease = append(toRelease, s.at(p).Address)
		}
	}
	s.driverFree(toRelease...)
}
