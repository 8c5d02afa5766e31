package model

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
)

// Private pools. A captured graph has addresses built in, so what is given out in its
// capture must go to nobody else while it can be launched. Such memory comes from a
// pool of its own, to which the requests for the captured stream are redirected. A
// pool lives while its use count is positive. After that it is freeable: its memory
// goes back when the cache is emptied, and with the last of it the pool.
//
// While anything is redirected the device cannot be asked about events. The free of a
// block that other streams used is put off until nothing is redirected any more. Then
// those uses drop out that were noted in the capture, since a capture joins all of its
// streams before it ends; for the others events are recorded.

// A Pool is a private pool that the allocator knows.
type Pool struct {
	ID       spec.PoolID
	UseCount int
	UseOnOOM bool // searched for requests of the default pool when the driver has nothing
	NoSplit  bool // its blocks are given out whole
}

// A Redirection takes the requests for a stream to a pool, or all requests.
type PoolRouting struct {
	Pool   spec.PoolID
	Stream spec.Stream
	All    bool // then Stream does not count
}

// A CaptureUse is a use of a block that was noted while something was redirected.
type GraphStreamUse struct {
	Block  spec.Ptr
	Stream spec.DeviceStream
	// Earlier: the stream was noted before, too. It makes no difference, and that is
	// a weakness: the earlier use need not be over when the capture is.
	Earlier bool
}

// CreatePool makes a pool, or uses it once more if it is there, and marks it.
func (s State) CreatePool(id spec.PoolID, onOOM, noSplit bool) (State, Result) {
	if p := s.pool(id); p != nil && p.UseCount == 0 {
		return s, Result{Err: &spec.InvalidStateError{Op: "pool_create", Reason: "the pool is freeable"}}
	}
	s = s.copy()
	p := s.usePool(id)
	p.UseOnOOM, p.NoSplit = p.UseOnOOM || onOOM, p.NoSplit || noSplit
	return s, Result{}
}

// usePool counts one more use of a pool, which is made if it is not there.
func (s *State) usePool(id spec.PoolID) *Pool {
	if s.pool(id) == nil {
		s.Pools = append(s.Pools, Pool{ID: id})
		slices.SortFunc(s.Pools, func(p, q Pool) int { return comparePools(p.ID, q.ID) })
	}
	p := s.pool(id)
	p.UseCount++
	return p
}

// BeginAllocateToPool redirects the requests for a stream to a pool, which is made if
// it is not there, and used once more if it is.
func (s State) BeginAllocateToPool(id spec.PoolID, stream spec.Stream) (State, Result) {
	return s.beginRouting(PoolRouting{Pool: id, Stream: stream})
}

// BeginAllocateAllToPool does so for the requests for all streams.
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
	s.usePool(id)
	s.Routings = append(s.Routings, to)
	return s, Result{}
}

// EndAllocateToPool ends the redirection to a pool.
func (s State) EndAllocateToPool(id spec.PoolID) (State, Result) {
	i := slices.IndexFunc(s.Routings, func(r PoolRouting) bool { return r.Pool == id })
	if i < 0 {
		return s, Result{Err: &spec.InvalidStateError{Op: "pool_end", Reason: "not begun"}}
	}
	s = s.copy()
	s.Routings = slices.Delete(s.Routings, i, i+1)
	return s, Result{}
}

// ReleasePool says that one of those who use a pool does not any more.
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

func (s *State) isRouting() bool { return len(s.Routings) > 0 }

// choosePool is the pool of the latest redirection of a stream, or the default pool.
func (s *State) routedPool(stream spec.Stream) spec.PoolID {
	for _, r := range slices.Backward(s.Routings) {
		if r.All || r.Stream == stream {
			return r.Pool
		}
	}
	return spec.DefaultPool
}

// notedInCapture reports whether a use was.
func (s *State) isGraphStreamUse(ptr spec.Ptr, id spec.DeviceStream) bool {
	return slices.ContainsFunc(s.GraphStreamUses, func(u GraphStreamUse) bool { return u.Block == ptr && u.Stream == id })
}

// noteInCapture notes a use, if something is redirected.
func (s *State) addGraphStreamUse(b *Block, id spec.DeviceStream) {
	if !s.isRouting() || s.isGraphStreamUse(b.Address, id) {
		return
	}
	s.GraphStreamUses = append(s.GraphStreamUses, GraphStreamUse{b.Address, id, slices.Contains(b.StreamUses, id)})
	slices.SortFunc(s.GraphStreamUses, func(a, b GraphStreamUse) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), compareStreams(a.Stream, b.Stream))
	})
}

// forgetCaptureUses forgets what was noted of a block.
func (s *State) removeGraphStreamUses(b *Block) {
	s.GraphStreamUses = slices.DeleteFunc(s.GraphStreamUses, func(u GraphStreamUse) bool { return u.Block == b.Address })
}

// isDeferred: a block that was freed keeps its uses only while its free is put off.
func (b *Block) isDeferred() bool { return b.State == spec.ActivePendingFree && len(b.StreamUses) > 0 }

// resolveDeferred takes up the frees that were put off, in the order of their streams,
// then addresses.
func (s *State) processDeferredFrees() {
	var deferred []place
	for i := range s.Segments {
		for j := range s.Segments[i].Blocks {
			if s.Segments[i].Blocks[j].isDeferred() {
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
		s.processDeferredFree(p)
	}
}

func (s *State) processDeferredFree(p place) {
	b := s.at(p)
	b.StreamUses = slices.DeleteFunc(b.StreamUses, func(id spec.DeviceStream) bool {
		return s.isGraphStreamUse(b.Address, id)
	})
	s.removeGraphStreamUses(b)
	if len(b.StreamUses) > 0 {
		s.insertEvents(b)
	} else {
		s.freeBlock(p)
	}
}

// reclaim is what a malloc does first.
func (s *State) processEvents() {
	if !s.isRouting() {
		s.processDeferredFrees()
		s.freeCompleted()
	}
}

// takeFromOverflowPools searches the pools that are kept for the case that the driver
// has no memory, for a request of the default pool. Their expandable segments are
// passed over.
func (s *State) findInOOMPools(c *PendingMalloc) (place, bool) {
	if !c.pool.IsDefault() {
		return place{}, false
	}
	pools := slices.Clone(s.Pools)
	slices.SortStableFunc(pools, func(p, q Pool) int { return cmp.Compare(hashOrder(p.ID), hashOrder(q.ID)) })
	for _, p := range pools {
		other := *c
		other.pool, other.notExpandable = p.ID, true
		if !p.UseOnOOM || p.UseCount == 0 {
			continue
		}
		if found, is := s.getFreeBlock(&other); is {
			c.notExpandable = true
			return found, true
		}
	}
	return place{}, false
}

// hashOrder is the order in which upstream comes across pools.
func hashOrder(id spec.PoolID) uint64 {
	return cmp.Or(id.Capture, id.User) * 11400714819323198485
}

// EmptyPool returns what can go of a pool that nobody uses, and waits for its events
// before.
func (s State) EmptyPool(id spec.PoolID) State {
	if p := s.pool(id); p == nil || p.UseCount > 0 {
		return s
	}
	s = s.copy()
	s.Counters.NumSyncAllStreams++
	for i := 0; i < len(s.Events); {
		e := s.Events[i]
		p, _ := s.find(func(_ *Segment, b *Block) bool { return b.Address == e.Block })
		if s.Segments[p.segment].Pool != id {
			i++
			continue
		}
		s.stream(e.Stream).completeTo(e.After)
		s.completeEvent(i)
	}
	s.releasePool(id)
	return s
}

// releaseFreeable returns what can go of the pools that nobody uses, and forgets those
// that hold nothing.
func (s *State) releaseFreeable() {
	for _, p := range slices.Clone(s.Pools) {
		if p.UseCount == 0 {
			s.releasePool(p.ID)
		}
	}
}

func (s *State) releasePool(id spec.PoolID) {
	s.releaseBlocks(id)
	s.Segments = slices.DeleteFunc(s.Segments, func(g Segment) bool {
		return g.Pool == id && g.mapped() == 0 // no page could be had for it
	})
	held := slices.ContainsFunc(s.Segments, func(g Segment) bool { return g.Pool == id }) ||
		slices.ContainsFunc(s.Routings, func(r PoolRouting) bool { return r.Pool == id })
	if !held {
		s.Pools = slices.DeleteFunc(s.Pools, func(q Pool) bool { return q.ID == id })
	}
}

func (s *State) freeInPrivatePools() (bytes uint64) {
	for _, g := range s.Segments {
		for _, b := range g.Blocks {
			if !g.Pool.IsDefault() && b.isFree() {
				bytes += b.Size
			}
		}
	}
	return bytes
}
