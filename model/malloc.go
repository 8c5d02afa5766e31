package model

import (
	"slices"

	"gaugeblock/spec"
)

// A malloc goes through stages. Each does one thing and says which comes next.
//
//	stage          what happens                                       next
//	search         what can be free becomes free; best fit               done, searchAgain, collect
//	searchAgain    if a callback freed something: best fit again      done, collect
//	collect        garbage collection                                 test
//	test           would the segment pass the limit?                  ask, refused
//	ask            the driver grants the segment, or refuses;         answered
//	               if segments expand, pages are mapped               done, refused
//	answered       the segment is registered, a block given out       done, refused
//	refused        1st attempt: pools that are kept for this case;    done
//	               then oversize blocks are released                  test, refused
//	               2nd attempt: everything that can go is released,   test
//	               unless something is redirected                     done
//	               3rd attempt: out of memory                         done
//
// The lock is released before searchAgain, for the callbacks, and, with
// release_lock_on_cudamalloc, before and after ask. From one such point to the
// next is one action.

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

// unlocked reports whether the lock is released on the way to the next stage.
func (c *PendingMalloc) releasesLockBefore() bool {
	switch c.stage {
	case stageSearchAgain:
		return true
	case stageDriverMalloc, stageRegister:
		return c.releasesLock
	}
	return false
}

// A Call is a malloc on its way.
type PendingMalloc struct {
	ID        int // whatever the caller likes, to tell calls apart
	Stream    spec.Stream
	Requested uint64

	stage         stage
	pool          spec.PoolID
	notExpandable bool     // the cache is searched, and blocks split, as if segments did not expand
	size          uint64   // of the block
	segmentSize   uint64   // of the segment, should one be needed
	attempt       int      // to get a segment, from 1
	releasesLock  bool     // the lock, while the driver is asked
	driverCalls   int      // times that the driver was asked
	granted       spec.Ptr // that the driver has granted and nobody has registered; 0: none
	ptr           spec.Ptr // the result, when done
	err           error    // the result, when done
}

// Attempt is which attempt to get a segment it is, from 1.
func (c *PendingMalloc) Attempt() int { return c.attempt }

// Asked reports whether the driver has answered, and Granted what it has given.
func (c *PendingMalloc) DriverAnswered() bool { return c.stage == stageRegister }

// Granted is the segment that the driver has given and nobody has registered; empty if
// there is none.
func (c *PendingMalloc) Granted() spec.Range {
	if c.granted == 0 {
		return spec.Range{}
	}
	return spec.Range{Ptr: c.granted, Bytes: c.segmentSize}
}

// Given is what is decided outside the allocator in the course of a malloc.
type DriverResults struct {
	// Segment is where the driver puts the new segment, if it grants one.
	Segment spec.Ptr
	// From, unless it is 0, says it in another way: at the lowest address from
	// there on that is free. Then Segment does not count.
	LowestFrom spec.Ptr
	// Refusals is how many times in this call the driver refuses although the
	// device has the memory: others may have taken it.
	Refusals int
	// Freed: a callback says that it has freed something.
	CallbackFreed bool
}

// Malloc is a whole malloc in one action, as it is while the lock is held from
// beginning to end. A malloc of 0 bytes gives the null pointer and does nothing.
func (s State) Malloc(stream spec.Stream, bytes uint64, g DriverResults) (State, Result) {
	s = s.copy()
	c := s.begin(0, stream, bytes)
	for c.stage != stageDone {
		s.advance(&c, g)
	}
	return s, Result{c.ptr, c.err}
}

// MallocSearch is the first action of a malloc of which other calls may see the
// middle. If it is not the last, the call is in the next state's Calls. The id must
// not be that of a call that is.
func (s State) MallocSearch(id int, stream spec.Stream, bytes uint64, g DriverResults) (next State, r Result, isDone bool) {
	s = s.copy()
	return s.run(s.begin(id, stream, bytes), g)
}

// MallocResume is the next action of a call in s.Calls: what happens from one
// release of the lock to the next, be it in the allocator or in the driver.
func (s State) MallocResume(id int, g DriverResults) (next State, r Result, isDone bool) {
	s = s.copy()
	i := slices.IndexFunc(s.PendingMallocs, func(c PendingMalloc) bool { return c.ID == id })
	c := s.PendingMallocs[i]
	s.PendingMallocs = slices.Delete(s.PendingMallocs, i, i+1)
	return s.run(c, g)
}

// run is one action of a call that is not in s.Calls.
func (s State) run(c PendingMalloc, g DriverResults) (State, Result, bool) {
	for c.stage != stageDone {
		s.advance(&c, g)
		if c.releasesLockBefore() {
			at := 0
			for at < len(s.PendingMallocs) && s.PendingMallocs[at].ID < c.ID {
				at++
			}
			s.PendingMallocs = slices.Insert(s.PendingMallocs, at, c)
			return s, Result{}, false
		}
	}
	return s, Result{c.ptr, c.err}, true
}

// begin answers what needs no state, and readies everything else for the search.
func (s *State) begin(id int, stream spec.Stream, bytes uint64) PendingMalloc {
	c := PendingMalloc{ID: id, Stream: stream, Requested: bytes, stage: stageSearch, attempt: 1}
	switch {
	case bytes == 0:
		c.stage = stageDone
	case bytes >= s.Geometry.MaxRequest:
		c.stage = stageDone
		c.err = &spec.OutOfMemoryError{Device: s.Device, Requested: bytes}
	}
	return c
}

// advance is one stage.
func (s *State) advance(c *PendingMalloc, g DriverResults) {
	switch c.stage {
	case stageSearch:
		s.processEvents()
		c.pool = s.routedPool(c.Stream)
		c.size = Round(c.Requested, s.Config, s.Geometry)
		c.segmentSize = SegmentSize(c.size, s.Config, s.Geometry)
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
		s.collectGarbage()
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

// kind is the pool kind that serves a call.
func (s *State) poolKind(c *PendingMalloc) spec.PoolKind {
	if c.size <= s.Geometry.SmallSize {
		return spec.SmallPool
	}
	return spec.LargePool
}

// takeBestFit is the smallest free block of the stream that is large enough, the
// one at the lowest address if there are several. If it fails the oversize tests
// nothing is found: there is no second candidate. Which one it is of expandable
// segments is said at passGrowable; while segments do not expand, their blocks are
// passed over.
func (s *State) getFreeBlock(c *PendingMalloc) (place, bool) {
	if s.garbageCollects() && c.pool.IsDefault() {
		s.GetFreeBlocksCallCount[s.poolKind(c)]++
	}
	var fits []place
	for _, p := range s.freeList(c.pool, s.poolKind(c)) {
		g := &s.Segments[p.segment]
		if g.Stream == c.Stream && s.at(p).Size >= c.size && (!g.Expandable || s.expandable() && !c.notExpandable) {
			fits = append(fits, p)
		}
	}
	if len(fits) == 0 {
		return place{}, false
	}
	p := fits[0]
	if s.Segments[p.segment].Expandable {
		p = s.chooseExpandable(fits)
	}
	return p, s.passesOversizeTests(c.size, s.at(p).Size)
}

// fits is the pair of oversize tests. Blocks of max_split_size and more are kept
// for requests of about their size.
func (s *State) passesOversizeTests(size, block uint64) bool {
	limit := s.Config.MaxSplitSize
	if size < limit {
		return block < limit || limit == spec.Unlimited
	}
	return block < size+s.Config.MaxNonSplitRounding
}

// giveOut ends a call with the block at a place, or its low addresses if it is
// split.
func (s *State) allocFoundBlock(c *PendingMalloc, p place) {
	g := &s.Segments[p.segment]
	given := g.Blocks[p.block]
	owner := s.pool(g.Pool)
	if rest := given.Size - c.size; s.shouldSplit(c, rest) && (owner == nil || !owner.NoSplit) {
		remainder := given
		remainder.Address += spec.Ptr(c.size)
		remainder.Size = rest
		remainder.GCCountBase = s.GetFreeBlocksCallCount[g.PoolKind]
		g.Blocks = slices.Insert(g.Blocks, p.block+1, remainder)
		given.Size = c.size
	}
	given.State = spec.ActiveAllocated
	given.RequestedSize = c.Requested
	given.GCCountBase = 0
	g.Blocks[p.block] = given
	if given.Size >= s.Config.MaxSplitSize {
		s.Counters.OversizeAllocations++
	}
	c.ptr, c.stage = given.Address, stageDone
}

// splits reports whether the rest of a block is worth keeping apart.
func (s *State) shouldSplit(c *PendingMalloc, rest uint64) bool {
	if s.poolKind(c) == spec.LargePool && (c.notExpandable || !s.expandable()) {
		return c.size < s.Config.MaxSplitSize && rest > s.Geometry.SmallSize
	}
	return rest >= s.Geometry.MinBlock
}
