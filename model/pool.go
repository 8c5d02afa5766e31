package model

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// Private pools. A captured graph contains addresses, so memory that was allocated
// during its capture must not be allocated to others while the graph can be launched.
// Requests for the captured stream are routed to a private pool. A pool whose use count
// is 0 is freeable: its cached memory is released when the cache is emptied, and the
// pool is removed when it has no segment.
//
// Events cannot be queried during a capture. The allocator cannot ask whether there is one. It
// takes any routing of requests to a pool for a capture or, with CapturesByMark, a capture that is
// marked while the current stream is captured. Then the free of a block with stream uses is deferred. Later the stream uses
// that were recorded during the capture are dropped, since a capture joins all of its
// streams before it ends. For the others events are recorded.

// A Pool is a private pool.
type Pool struct {
	ID       spec.PoolID
	UseCount int
	UseOnOOM bool // searched for requests of the default pool when a driver allocation failed
	NoSplit  bool // its blocks are not split
	Captured bool // a graph was captured with it, as the driver has said when a malloc asked

	// DriverSegments is upstream's cudaMalloc_count. With plain segments it is their
	// number. With expandable ones each request that needs pages adds one, whatever is
	// mapped for it, and each free block of which pages are unmapped takes one off. So it can
	// be positive when the pool holds nothing, and negative. While it is positive the pool is
	// not removed.
	DriverSegments int
}

// A PoolRouting routes the requests for a stream, or all requests, to a pool.
type PoolRouting struct {
	Pool   spec.PoolID
	Stream spec.Stream
	All    bool // then Stream is not used

	Uncaptured bool // requests are routed without a capture: in a Truth only, the allocator does not know it
}

// A GraphStreamUse is a stream use that was recorded while there may have been a capture.
type GraphStreamUse struct {
	Block  spec.Ptr
	Stream spec.DeviceStream
}

// CreatePool creates a pool, or adds a use to it if it is there, and sets its flags.
func (s State) CreatePool(id spec.PoolID, onOOM, noSplit bool) (State, Result) {
	if p := s.pool(id); p != nil && p.UseCount == 0 {
		return s, Result{Err: &spec.InvalidStateError{Op: "pool_create", Reason: "the pool is freeable"}}
	}
	s = s.copy()
	p := s.createOrIncrefPool(id)
	p.UseOnOOM, p.NoSplit = p.UseOnOOM || onOOM, p.NoSplit || noSplit
	return s, Result{}
}

// createOrIncrefPool adds a use to a pool, which is created if it is not there.
func (s *State) createOrIncrefPool(id spec.PoolID) *Pool {
	if s.pool(id) == nil {
		s.Pools = append(s.Pools, Pool{ID: id})
		slices.SortFunc(s.Pools, func(p, q Pool) int { return comparePools(p.ID, q.ID) })
	}
	p := s.pool(id)
	p.UseCount++
	return p
}

// BeginAllocateToPool routes the requests for a stream to a pool. The pool is created if
// it is not there, and gets another use if it is.
func (s State) BeginAllocateToPool(id spec.PoolID, stream spec.Stream) (State, Result) {
	return s.beginRouting(PoolRouting{Pool: id, Stream: stream})
}

// BeginAllocateAllToPool routes the requests for all streams.
func (s State) BeginAllocateAllToPool(id spec.PoolID) (State, Result) {
	return s.beginRouting(PoolRouting{Pool: id, All: true})
}

func (s State) beginRouting(to PoolRouting) (State, Result) {
	id := to.Pool
	if slices.ContainsFunc(s.Routings, func(r PoolRouting) bool { return r.Pool == id }) {
		return s, Result{Err: &spec.InvalidStateError{Op: "pool_begin", Reason: "begun already"}}
	}
	if p := s.pool(id); p != nil && p.UseCount == 0 {
		return s, Result{Err: &spec.InvalidStateError{Op: "pool_begin", Reason: "the pool is freeable"}}
	}
	s = s.copy()
	s.createOrIncrefPool(id)
	s.Routings = append(s.Routings, to)
	return s, Result{}
}

// EndAllocateToPool ends the routing to a pool.
func (s State) EndAllocateToPool(id spec.PoolID) (State, Result) {
	i := slices.IndexFunc(s.Routings, func(r PoolRouting) bool { return r.Pool == id })
	if i < 0 {
		return s, Result{Err: &spec.InvalidStateError{Op: "pool_end", Reason: "not begun"}}
	}
	s = s.copy()
	if s.Rules.PoolEndCompletesDeferred && s.Config.GraphCaptureRecordStreamReuse {
		s.insertEventsDeferred(func(g *Segment) bool { return g.Pool == id })
	}
	s.Routings = slices.Delete(s.Routings, i, i+1)
	s.renumber()
	return s, Result{}
}

// ReleasePool removes a use of a pool.
func (s State) ReleasePool(id spec.PoolID) (State, Result) {
	if p := s.pool(id); p == nil || p.UseCount == 0 {
		return s, Result{Err: &spec.InvalidStateError{Op: "pool_release", Reason: "nobody uses the pool"}}
	}
	s = s.copy()
	s.pool(id).UseCount--
	return s, Result{}
}

func comparePools(a, b spec.PoolID) int {
	return cmp.Or(cmp.Compare(a.Capture, b.Capture), cmp.Compare(a.User, b.User))
}

// pool finds a private pool; nil if there is none.
func (s *State) pool(id spec.PoolID) *Pool {
	i := slices.IndexFunc(s.Pools, func(p Pool) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	return &s.Pools[i]
}

// countDriverSegment changes the count of a private pool.
func (s *State) countDriverSegment(id spec.PoolID, change int) {
	if p := s.pool(id); p != nil {
		p.DriverSegments += change
	}
}

// LooksAtMarks reports whether it matters that captures are marked.
func (s *State) LooksAtMarks() bool { return s.Rules.Captures == upstream.CapturesByMark }

// MarkCaptureBegin says that a capture has begun.
func (s State) MarkCaptureBegin() State {
	s.Marked++
	return s
}

// MarkCaptureEnd says that one has ended.
func (s State) MarkCaptureEnd() (State, Result) {
	if s.Marked == 0 {
		return s, Result{Err: &spec.InvalidStateError{Op: "mark_end", Reason: "no capture is marked"}}
	}
	s.Marked--
	return s, Result{}
}

// calledOn makes a stream the current one, if anything depends on it.
func (s *State) calledOn(stream spec.Stream) {
	if s.Rules.Captures == upstream.CapturesByMark {
		s.Current = stream
	}
}

// captureUnderway reports whether there is a capture as far as the allocator knows.
func (s *State) captureUnderway() bool {
	if s.Rules.Captures == upstream.CapturesByMark {
		return s.Marked > 0 && s.isCaptured(s.Current)
	}
	return len(s.Routings) > 0
}

// getPool is the pool of the latest routing that accepts a stream, or the default pool. With
// FirstRoutingWins it is that of the earliest.
func (s *State) getPool(stream spec.Stream) spec.PoolID {
	inOrderOfChoice := slices.Clone(s.Routings)
	if !s.Rules.FirstRoutingWins {
		slices.Reverse(inOrderOfChoice)
	}
	for _, r := range inOrderOfChoice {
		if r.All || r.Stream == stream {
			return r.Pool
		}
	}
	return spec.DefaultPool
}

// isGraphStreamUse reports whether a stream use was recorded while there may have been a capture.
func (s *State) isGraphStreamUse(ptr spec.Ptr, id spec.DeviceStream) bool {
	return slices.ContainsFunc(s.GraphStreamUses, func(u GraphStreamUse) bool { return u.Block == ptr && u.Stream == id })
}

// addGraphStreamUse adds a stream use, if there may be a capture.
func (s *State) addGraphStreamUse(b *Block, id spec.DeviceStream) {
	if !s.captureUnderway() || s.isGraphStreamUse(b.Address, id) {
		return
	}
	s.GraphStreamUses = append(s.GraphStreamUses, GraphStreamUse{b.Address, id})
	slices.SortFunc(s.GraphStreamUses, func(a, b GraphStreamUse) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), compareStreams(a.Stream, b.Stream))
	})
}

// removeGraphStreamUses removes those of a block.
func (s *State) removeGraphStreamUses(b *Block) {
	s.GraphStreamUses = slices.DeleteFunc(s.GraphStreamUses, func(u GraphStreamUse) bool { return u.Block == b.Address })
}

// IsDeferred reports whether the free of the block is deferred. A freed block has stream
// uses only then.
func (b *Block) IsDeferred() bool { return b.State == spec.ActivePendingFree && len(b.StreamUses) > 0 }

// insertEventsDeferredUntilNoCapture processes the deferred frees, in order of stream, then
// address.
func (s *State) insertEventsDeferredUntilNoCapture() {
	s.insertEventsDeferred(func(*Segment) bool { return true })
}

// insertEventsDeferred processes those in some segments.
func (s *State) insertEventsDeferred(in func(g *Segment) bool) {
	var deferred []place
	for i := range s.Segments {
		for j := range s.Segments[i].Blocks {
			if s.Segments[i].Blocks[j].IsDeferred() && in(&s.Segments[i]) {
				deferred = append(deferred, place{i, j})
			}
		}
	}
	slices.SortStableFunc(deferred, func(p, q place) int {
		return cmp.Compare(s.Segments[p.segment].Stream, s.Segments[q.segment].Stream)
	})
	var addresses []spec.Ptr // places move when neighbours become free
	for _, p := range deferred {
		addresses = append(addresses, s.at(p).Address)
	}
	for _, address := range addresses {
		p, _ := s.find(func(_ *Segment, b *Block) bool { return b.Address == address })
		s.insertDeferredEvents(p)
	}
}

func (s *State) insertDeferredEvents(p place) {
	b := s.at(p)
	left := slices.DeleteFunc(slices.Clone(b.StreamUses), func(id spec.DeviceStream) bool {
		return s.isGraphStreamUse(b.Address, id)
	})
	s.recordEvents(left)
	b.StreamUses = left
	s.removeGraphStreamUses(b)
	if len(b.StreamUses) > 0 {
		s.insertEvents(b)
	} else {
		s.freeBlock(p)
	}
}

// markIfCapturing marks the pool of a request if the driver says that the request's stream is
// captured. It asks until the pool is marked.
func (s *State) markIfCapturing(c *PendingMalloc) {
	if p := s.pool(c.pool); p != nil && !p.Captured {
		s.driverCall(callCaptureStatus)
		p.Captured = s.isCaptured(c.Stream)
	}
}

// isCapturedPool reports whether a graph was captured with a pool.
func (s *State) isCapturedPool(id spec.PoolID) bool {
	p := s.pool(id)
	return p != nil && p.Captured
}

// processEvents is the first step of a malloc; during a capture it does nothing.
func (s *State) processEvents() {
	if !s.captureUnderway() {
		s.insertEventsDeferredUntilNoCapture()
		s.freeCompleted()
	}
}

// tryMempoolFallback searches the pools with use_on_oom, for a request of the default pool.
// Their expandable segments are skipped, unless UseOnOOMExpandable.
func (s *State) tryMempoolFallback(c *PendingMalloc) (place, bool) {
	if !c.pool.IsDefault() {
		return place{}, false
	}
	for _, p := range s.poolsAsVisited() {
		other := *c
		other.pool, other.notExpandable = p.ID, !s.Rules.UseOnOOMExpandable
		if !p.UseOnOOM || p.UseCount == 0 {
			continue
		}
		if found, is := s.getFreeBlock(&other); is {
			c.notExpandable = other.notExpandable
			return found, true
		}
	}
	return place{}, false
}

// poolsAsVisited are the pools in the order in which upstream visits them.
func (s *State) poolsAsVisited() []Pool {
	pools := slices.Clone(s.Pools)
	slices.SortStableFunc(pools, func(p, q Pool) int { return cmp.Compare(hashOrder(p.ID), hashOrder(q.ID)) })
	return pools
}

// hashOrder is the place of a pool in that order.
func hashOrder(id spec.PoolID) uint64 {
	return cmp.Or(id.Capture, id.User) * 11400714819323198485
}

// EmptyPool releases the cached memory of a freeable pool, after waiting for its events. Deferred
// frees are processed first. No requests are routed.
func (s State) EmptyPool(id spec.PoolID) State {
	if p := s.pool(id); p == nil || p.UseCount > 0 {
		return s
	}
	s = s.copy()
	s.Counters.NumSyncAllStreams++
	s.insertEventsDeferredUntilNoCapture()
	s.aboutEvents(WaitEvent, len(s.Events))
	for i := 0; i < len(s.Events); {
		e := s.Events[i]
		p, _ := s.find(func(_ *Segment, b *Block) bool { return b.Address == e.Block })
		if s.Segments[p.segment].Pool != id {
			i++
			continue
		}
		s.driverCall(callSynchronizeEvent)
		s.stream(e.Stream).completeTo(e.After)
		s.completeEvent(i)
	}
	s.releasePool(id)
	s.renumber()
	return s
}

// releaseFreeablePools releases the cached memory of the freeable pools, and removes those
// without segments.
func (s *State) releaseFreeablePools() {
	for _, p := range s.poolsAsVisited() {
		if p.UseCount == 0 {
			s.releasePool(p.ID)
		}
	}
}

func (s *State) releasePool(id spec.PoolID) {
	s.releaseBlocks(id, spec.SmallPool, spec.LargePool)
	s.dropUnmappedSegments(id)
	inUse := s.pool(id).DriverSegments > 0 || slices.ContainsFunc(s.Segments, func(g Segment) bool { return g.Pool == id }) ||
		slices.ContainsFunc(s.Routings, func(r PoolRouting) bool { return r.Pool == id }) ||
		slices.ContainsFunc(s.PendingMallocs, func(c PendingMalloc) bool { return c.pool == id })
	if !inUse {
		s.Pools = slices.DeleteFunc(s.Pools, func(q Pool) bool { return q.ID == id })
	}
}

func (s *State) freeInPrivatePools() (bytes uint64) {
	for _, g := range s.Segments {
		for _, b := range g.Blocks {
			if !g.Pool.IsDefault() && b.IsFree() {
				bytes += b.Size
			}
		}
	}
	return bytes
}
