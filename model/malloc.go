package model

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
)

// A malloc is a sequence of stages. Each does one thing and sets the next.
//
//	stage            what happens                                          next
//	Search           process events; best fit                              Done, SearchAgain, CollectGarbage
//	SearchAgain      if a callback freed something: best fit again         Done, CollectGarbage
//	CollectGarbage   garbage collection                                    TestLimit
//	TestLimit        would the segment exceed the limit?                   DriverMalloc, Failed
//	DriverMalloc     the driver grants the segment, or fails;              Register
//	                 with expandable segments, pages are mapped            Done, Failed
//	Register         the segment is registered, a block is allocated       Done, Failed
//	Failed           after the 1st attempt: the pools with use_on_oom are  Done
//	                 searched (with UseOnOOMLast after all else);
//	                 then oversize blocks are released                     TestLimit, Failed
//	                 after the 2nd: all cached blocks are released,        TestLimit
//	                 unless there may be a capture                         Done
//	                 after the 3rd: out of memory                          Done
//
// The lock is released before SearchAgain, for the callbacks, and, with
// release_lock_on_cudamalloc, before and after DriverMalloc. From one such point to
// the next is one action.

type stage int

const (
	stageSearch stage = iota
	stageSearchAgain
	stageCollectGarbage
	stageTestLimit
	stageDriverMalloc
	stageRegister
	stageFailed
	stageDone
)

// releasesLockBeforeStage reports whether the lock is released before the next stage.
func (c *PendingMalloc) releasesLockBeforeStage() bool {
	switch c.stage {
	case stageSearchAgain:
		return true
	case stageDriverMalloc, stageRegister:
		return c.releasesLock
	}
	return false
}

// A PendingMalloc is a malloc between two of its actions.
type PendingMalloc struct {
	ID            int // chosen by the caller; unique among the pending mallocs
	Stream        spec.Stream
	RequestedSize uint64

	stage         stage
	pool          spec.PoolID
	notExpandable bool     // search and split as if expandable segments were off
	size          uint64   // rounded: of the block
	segmentSize   uint64   // of the segment that the driver is asked for
	attempt       int      // at a driver allocation, from 1
	releasesLock  bool     // during the driver call
	driverCalls   int      // calls of the driver so far
	granted       spec.Ptr // a segment that the driver granted and that is not registered; 0: none
	ptr           spec.Ptr // the result, in stageDone
	err           error    // the result, in stageDone
}

// Attempt is the number of the attempt at a driver allocation, from 1.
func (c *PendingMalloc) Attempt() int { return c.attempt }

// DriverAnswered reports whether the driver call has returned.
func (c *PendingMalloc) DriverAnswered() bool { return c.stage == stageRegister }

// Granted is the segment that the driver granted and that is not registered yet; empty
// if there is none.
func (c *PendingMalloc) Granted() spec.Range {
	if c.granted == 0 {
		return spec.Range{}
	}
	return spec.Range{Ptr: c.granted, Bytes: c.segmentSize}
}

// DriverResults are the inputs of a malloc that are decided outside the allocator.
type DriverResults struct {
	// Segment is the address of the new segment, if the driver grants one.
	Segment spec.Ptr
	// LowestFrom, unless it is 0, replaces Segment: the address is the lowest free
	// one that is not below it.
	LowestFrom spec.Ptr
	// Refusals is how many driver calls of this malloc fail although the device has
	// the memory: another process may have taken it.
	Refusals int
	// CallbackFreed is set if a free-memory callback reported that it freed memory.
	CallbackFreed bool
}

// Malloc is a whole malloc in one action: the lock is held from beginning to end. A
// malloc of 0 bytes returns the null pointer and does nothing.
func (s State) Malloc(stream spec.Stream, bytes uint64, g DriverResults) (State, Result) {
	s = s.copy()
	current := s.Current
	s.calledOn(stream)
	c := s.begin(0, stream, bytes)
	for c.stage != stageDone {
		s.advance(&c, g)
	}
	s.Current = current
	s.renumber()
	return s, Result{c.ptr, c.err}
}

// MallocSearch is the first action of a malloc that may release the lock. If it is not
// the last action, the next state has the malloc in PendingMallocs. No pending malloc
// may have the same id.
func (s State) MallocSearch(id int, stream spec.Stream, bytes uint64, g DriverResults) (next State, r Result, isDone bool) {
	s = s.copy()
	return s.run(s.begin(id, stream, bytes), g)
}

// MallocResume is the next action of a pending malloc, in the allocator or in the
// driver: up to the next release of the lock.
func (s State) MallocResume(id int, g DriverResults) (next State, r Result, isDone bool) {
	s = s.copy()
	i := slices.IndexFunc(s.PendingMallocs, func(c PendingMalloc) bool { return c.ID == id })
	c := s.PendingMallocs[i]
	s.PendingMallocs = slices.Delete(s.PendingMallocs, i, i+1)
	return s.run(c, g)
}

// run is one action of a malloc that is not in s.PendingMallocs.
func (s State) run(c PendingMalloc, g DriverResults) (State, Result, bool) {
	current := s.Current
	s.calledOn(c.Stream)
	isDone := s.runStages(&c, g)
	s.Current = current
	s.renumber()
	if !isDone {
		s.PendingMallocs = append(s.PendingMallocs, c)
		slices.SortFunc(s.PendingMallocs, func(a, b PendingMalloc) int { return cmp.Compare(a.ID, b.ID) })
		return s, Result{}, false
	}
	return s, Result{c.ptr, c.err}, true
}

// runStages runs stages up to the end, or up to the next release of the lock.
func (s *State) runStages(c *PendingMalloc, g DriverResults) (isDone bool) {
	for c.stage != stageDone {
		s.advance(c, g)
		if c.releasesLockBeforeStage() {
			return false
		}
	}
	return true
}

// begin is a malloc before its search. Sizes that need no state are answered at once.
func (s *State) begin(id int, stream spec.Stream, bytes uint64) PendingMalloc {
	c := PendingMalloc{ID: id, Stream: stream, RequestedSize: bytes, stage: stageSearch, attempt: 1}
	switch {
	case bytes == 0:
		c.stage = stageDone
	case bytes >= s.Geometry.MaxRequest:
		c.stage = stageDone
		c.err = &spec.OutOfMemoryError{Device: s.Device, Requested: bytes}
	}
	return c
}

// advance runs one stage.
func (s *State) advance(c *PendingMalloc, g DriverResults) {
	switch c.stage {
	case stageSearch:
		s.processEvents()
		c.prepare(s)
		s.markIfCapturing(c)
		c.stage = stageCollectGarbage
		if p, found := s.getFreeBlock(c); found {
			s.allocFoundBlock(c, p)
		} else if s.FreeMemoryCallbacks {
			c.stage = stageSearchAgain
		}
	case stageSearchAgain:
		c.stage = stageCollectGarbage
		if g.CallbackFreed {
			if p, found := s.getFreeBlock(c); found {
				s.allocFoundBlock(c, p)
			}
		}
	case stageCollectGarbage:
		s.garbageCollectCachedBlocks()
		c.stage = stageTestLimit
	case stageTestLimit:
		s.testLimit(c)
		c.releasesLock = s.Config.ReleaseLockOnMalloc && !s.expandable()
	case stageDriverMalloc:
		s.driverMalloc(c, g)
	case stageRegister:
		if c.granted == 0 {
			c.stage = stageFailed
		} else {
			s.registerSegment(c)
		}
	case stageFailed:
		s.nextAttempt(c)
	}
}

// prepare chooses the pool, and the sizes of the block and of a new segment.
func (c *PendingMalloc) prepare(s *State) {
	c.pool = s.getPool(c.Stream)
	c.size = s.Round(c.RequestedSize)
	c.segmentSize = s.SegmentSize(c.size)
}

// poolKind is the kind of pool that serves a request.
func (s *State) poolKind(c *PendingMalloc) spec.PoolKind {
	if c.size <= s.Geometry.SmallSize {
		return spec.SmallPool
	}
	return spec.LargePool
}

// getFreeBlock finds the best fit: the smallest free block of the stream that is large
// enough, and the first in the order of freeList if there are several. If it fails the
// oversize tests nothing is found: there is no second candidate. chooseExpandable has
// the rule for blocks of expandable segments. These are skipped while expandable
// segments are off.
func (s *State) getFreeBlock(c *PendingMalloc) (place, bool) {
	if s.collectsGarbage() && c.pool.IsDefault() {
		s.GetFreeBlocksCallCount[s.poolKind(c)]++
	}
	fits := slices.DeleteFunc(s.freeList(c.pool, s.poolKind(c)), func(p place) bool {
		g := &s.Segments[p.segment]
		return g.Stream != c.Stream || s.at(p).Size < c.size || g.Expandable && (!s.expandable() || c.notExpandable)
	})
	if len(fits) == 0 {
		return place{}, false
	}
	p := fits[0]
	if s.Segments[p.segment].Expandable {
		p = s.chooseExpandable(fits)
	}
	return p, s.passesOversizeTests(c.size, s.at(p).Size)
}

// passesOversizeTests: a request below max_split_size takes no block of that size or
// more; a larger one takes no block that exceeds it by max_non_split_rounding or more.
func (s *State) passesOversizeTests(size, blockSize uint64) bool {
	limit := s.Config.MaxSplitSize
	if size < limit {
		return blockSize < limit || limit == spec.Unlimited
	}
	return blockSize < size+s.Config.MaxNonSplitRounding
}

// allocFoundBlock ends a malloc with the block at a place. If the block is split the
// request gets the low addresses.
func (s *State) allocFoundBlock(c *PendingMalloc, p place) {
	g := &s.Segments[p.segment]
	block := g.Blocks[p.block]
	owner := s.pool(g.Pool)
	if rest := block.Size - c.size; s.shouldSplit(c, rest) && (owner == nil || !owner.NoSplit) {
		remainder := block
		remainder.Address += spec.Ptr(c.size)
		remainder.Size = rest
		remainder.GCCountBase = s.GetFreeBlocksCallCount[g.PoolKind]
		g.Blocks = slices.Insert(g.Blocks, p.block+1, remainder)
		block.Size = c.size
		block.Made = s.nextBlock() // the remainder keeps the object
	}
	block.State = spec.ActiveAllocated
	block.RequestedSize = c.RequestedSize
	block.GCCountBase = 0
	g.Blocks[p.block] = block
	if block.Size >= s.Config.MaxSplitSize {
		s.Counters.OversizeAllocations++
	}
	c.ptr, c.stage = block.Address, stageDone
}

// shouldSplit reports whether the remainder of a block becomes a free block.
func (s *State) shouldSplit(c *PendingMalloc, rest uint64) bool {
	if s.poolKind(c) == spec.LargePool && (c.notExpandable || !s.expandable()) {
		return c.size < s.Config.MaxSplitSize && rest > s.Geometry.SmallSize
	}
	return rest >= s.Geometry.MinBlock
}
