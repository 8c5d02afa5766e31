package bounded

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/explore"
	"gaugeblock/model/tlc"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// PrivatePools is PrivatePools.tla: CachingAllocator with private pools and captures.
type PrivatePools struct {
	*CachingAllocator
	ids            []uint64 // the numbers of the pools
	maxUses        int
	routesTwice    bool // programs route a stream to a second pool while it is routed to one
	releasesRouted bool // and end the last use of a pool while requests are routed to it
	relaxed        bool // captures do not forbid to free memory
	asks           bool // whether a graph was captured with a pool is asked in the steps of a malloc, and in the key

	marksAll   bool     // programs mark their captures
	uncaptured []uint64 // the pools that requests are routed to without a capture

	begin, end, release action
}

// openPrivatePools opens the module, or that of a module that has others constants beside.
func openPrivatePools(c *tlc.Config, others ...string) (*PrivatePools, error) {
	b, err := ReadBounds(c, append(others, "PoolIds", "MaxUses", "OverflowPools", "NoSplitPools", "RecordsTwice", "RecordsOwn", "ReleasesRouted", "RoutesTwice", "RelaxedCaptures")...)
	if err != nil {
		return nil, err
	}
	p := &PrivatePools{CachingAllocator: newCachingAllocator(b)}
	r := constants{config: c}
	p.ids, p.overflow, p.maxUses = r.names("PoolIds"), r.numbers("OverflowPools"), int(r.number("MaxUses"))
	p.noSplit = r.numbers("NoSplitPools")
	p.captures, p.marksAll = true, r.bool("MarksCaptures")
	if r.bool("RoutesUncaptured") {
		p.uncaptured = r.numbers("UncapturedPools")
	}
	p.recordsOwn, p.releasesRouted = r.bool("RecordsOwn"), r.bool("ReleasesRouted")
	p.recordsTwice, p.routesTwice, p.relaxed = r.bool("RecordsTwice"), r.bool("RoutesTwice"), r.bool("RelaxedCaptures")
	initial := b.initial()
	initial.RelaxedCaptures = p.relaxed
	p.keys = keys{module: p, initial: initial, names: symmetries(b.Streams, p.ids, slices.Concat(p.overflow, p.noSplit, p.uncaptured), nil)}
	ids := asInts(p.ids)
	p.begin = p.add("BeginAllocateToPool", ids, asInts(b.Streams))
	p.end = p.add("EndAllocateToPool", ids)
	p.release = p.add("ReleasePool", ids)
	return p, r.err
}

// PoolID is the id of the pool with a TLA+ number. 0 is the default pool.
func PoolID(number uint64) spec.PoolID { return spec.PoolID{Capture: number} }

func poolNumber(id spec.PoolID) int { return int(id.Capture) }

// Next implements explore.Specification.
func (p *PrivatePools) Next(s *model.State, yield func(label int, next *model.State)) {
	p.CachingAllocator.Next(s, yield)
	for i, number := range p.ids {
		id := PoolID(number)
		count, routed := useCount(s, id), slices.ContainsFunc(s.Truth.Captures, func(r model.PoolRouting) bool { return r.Pool == id })
		for j, stream := range p.Streams {
			taken := slices.ContainsFunc(s.Truth.Captures, func(r model.PoolRouting) bool { return r.Stream == stream })
			if count != 0 && count < p.maxUses && !routed && (!taken || p.routesTwice) {
				next, _ := s.BeginAllocateToPool(id, stream)
				next.Truth = next.Truth.BeginCapture(model.PoolRouting{Pool: id, Stream: stream, Uncaptured: p.isUncaptured(id)})
				p.markPools(&next)
				if p.marks(id) {
					next = next.MarkCaptureBegin()
				}
				yield(p.begin.label(i, j), &next)
			}
		}
		if routed {
			ended := *s
			if p.marks(id) {
				ended, _ = ended.MarkCaptureEnd()
			}
			ended.Truth = ended.Truth.EndCapture(id)
			next, _ := ended.EndAllocateToPool(id)
			yield(p.end.label(i), &next)
		}
		if count > 0 && (!routed || p.releasesRouted) {
			next, _ := s.ReleasePool(id)
			yield(p.release.label(i), &next)
		}
	}
}

// marks reports whether programs mark the capture into a pool, if that decides anything.
func (p *PrivatePools) marks(id spec.PoolID) bool {
	return p.keys.initial.LooksAtMarks() && p.marksAll && !p.isUncaptured(id)
}

// markPools sets use_on_oom and no_split. Where a malloc need not ask whether its stream is captured, that is
// known of each pool.
func (p *PrivatePools) markPools(s *model.State) {
	for i := range s.Pools {
		q := &s.Pools[i]
		q.UseOnOOM = slices.Contains(p.overflow, uint64(poolNumber(q.ID)))
		q.NoSplit = slices.Contains(p.noSplit, uint64(poolNumber(q.ID)))
		q.Captured = q.Captured || !p.asks && !p.isUncaptured(q.ID)
	}
}

// isUncaptured reports whether requests are routed to a pool without a capture.
func (p *PrivatePools) isUncaptured(id spec.PoolID) bool {
	return slices.Contains(p.uncaptured, uint64(poolNumber(id)))
}

// useCount is the use count of a pool, -1 if there is no such pool.
func useCount(s *model.State, id spec.PoolID) int {
	for _, p := range s.Pools {
		if p.ID == id {
			return p.UseCount
		}
	}
	return -1
}

// Text implements Module. tla/Pools.tla explains the variables.
func (p *PrivatePools) Text(to []byte, s *model.State) []byte {
	w := newWriter(s)
	p.variables(w)
	w.poolVariables()
	return w.finish(to)
}

func (w *writer) poolVariables() {
	s := w.state
	w.variable("pools", func() {
		w.Set(len(s.Pools), func(i int) {
			w.field("[driverSegments", s.Pools[i].DriverSegments)
			w.field(",id", poolNumber(s.Pools[i].ID))
			w.field(",useCount", s.Pools[i].UseCount)
			w.Raw("]")
		})
	})
	w.variable("routings", func() { w.routings(s.Routings) })
	w.variable("deferred", func() {
		deferred := w.placesOf((*model.Block).IsDeferred)
		w.Set(len(deferred), func(i int) { w.Int(toUnits(deferred[i].block.Address)) })
	})
	w.variable("captureUses", func() {
		w.Set(len(s.GraphStreamUses), func(i int) {
			w.field("[block", toUnits(s.GraphStreamUses[i].Block))
			w.field(",stream", int(s.GraphStreamUses[i].Stream.Stream))
			w.Raw("]")
		})
	})
}

func (p *PrivatePools) property(name string, fair [][]int, to *explore.Options[*model.State]) bool {
	switch name {
	case "PoolsOwnTheirBlocks":
		holdsOfStates(to, name, p.poolsOwnTheirBlocks)
	case "PoolsAreIsolated":
		holdsOfStates(to, name, poolsAreIsolated)
	case "RoutingsAreCaptures":
		holdsOfStates(to, name, routingsAreCaptures)
	case "NoForbiddenFrees":
		holdsOfStates(to, name, noForbiddenFrees)
	case "NoForbiddenQueries":
		holdsOfStates(to, name, noForbiddenQueries)
	case "DriverSegmentsAreCounted":
		i := explore.Invariant[*model.State]{Name: name, Holds: driverSegmentsAreCounted}
		if p.Config.ExpandableSegments {
			i.ByConstruction = "it is about plain segments"
		}
		to.Invariants = append(to.Invariants, i)
	case "NoSplitBlocksAreWhole":
		holdsOfStates(to, name, p.noSplitBlocksAreWhole)
	case "EndCompletesDeferred":
		holdsOfSteps(to, name, p.endCompletesDeferred)
	case "OversizeMakesRoom":
		holdsOfSteps(to, name, p.oversizeMakesRoom)
	case "UsesAreTouches":
		holdsOfStates(to, name, usesAreTouches)
	case "GraphUsesAreNotAwaited":
		holdsOfSteps(to, name, graphUsesAreNotAwaited)
	case "UnusedPoolsAreReleased":
		holdsOfSteps(to, name, p.unusedPoolsAreReleased)
	case "RequestsAreRouted":
		holdsOfSteps(to, name, p.requestsAreRouted)
	case "PagesAreCounted":
		holdsOfSteps(to, name, p.pagesAreCounted)
	case "CacheIsReleasedInCapture":
		holdsOfStates(to, name, p.cacheIsReleasedInCapture)
	case "CapturedMemoryIsKept":
		holdsOfSteps(to, name, p.capturedMemoryIsKept)
	case "EmptyCacheReleasesAll":
		holdsOfStates(to, name, p.emptyCacheReleasesAll)
	case "OverflowsOnOutOfMemory":
		holdsOfSteps(to, name, p.overflowsOnOutOfMemory)
	case "UsesAreCounted":
		holdsOfSteps(to, name, p.usesAreCounted)
	default:
		return p.CachingAllocator.property(name, fair, to)
	}
	return true
}

// always implements Module.
func (p *PrivatePools) always() []string {
	names := append(p.CachingAllocator.always(), "PoolsOwnTheirBlocks", "PoolsAreIsolated", "RoutingsAreCaptures", "DriverSegmentsAreCounted",
		"CapturedMemoryIsKept", "UsesAreCounted", "LivePoolsServe", "RequestsAreRouted", "UsesAreTouches", "GraphUsesAreNotAwaited", "UnusedPoolsAreReleased", "OverflowsOnOutOfMemory", "UnusedPoolsAreErased", "EndCompletesDeferred", "NoForbiddenFrees")
	if !p.relaxed {
		names = append(names, "NoForbiddenQueries")
	}
	if p.Config.ExpandableSegments {
		names = append(names, "PagesAreCounted")
	}
	if len(p.noSplit) > 0 {
		names = append(names, "NoSplitBlocksAreWhole")
	}
	if len(p.uncaptured) > 0 && p.Config.MaxSplitSize <= p.Memory && !p.Config.ExpandableSegments {
		names = append(names, "OversizeMakesRoom")
	}
	if len(p.overflow) > 0 && p.overflowsMayServe() {
		names = append(names, "OverflowPoolsServe", "OverflowPoolsInOrder")
	}
	if p.Rules.Captures == upstream.CapturesByMark && !p.marksAll { // the allocator knows of no use in a graph
		names = slices.DeleteFunc(names, func(name string) bool {
			return slices.Contains([]string{"UsesAreTouches", "DriverCallsAreLegal"}, name)
		})
	}
	return names
}

// fairness implements Module. The fair specification of PrivatePools.tla has strong
// fairness, which the explorer does not check.
func (p *PrivatePools) fairness(specification string) ([][]int, bool) {
	return nil, specification == "Spec"
}

func (p *PrivatePools) poolsOwnTheirBlocks(s *model.State) bool {
	for _, g := range s.Segments {
		if !g.Pool.IsDefault() && useCount(s, g.Pool) < 0 {
			return false
		}
	}
	return !slices.ContainsFunc(s.Routings, func(r model.PoolRouting) bool {
		count := useCount(s, r.Pool)
		return count < 0 || count == 0 && !p.releasesRouted
	})
}

// noForbiddenFrees: no memory was returned while a capture forbids it, whoever's it is.
func noForbiddenFrees(s *model.State) bool {
	return !slices.Contains(s.Truth.Illegal, model.FreeMemory)
}

// noForbiddenQueries: no event was queried while a capture forbids it, whoever's it is. A relaxed capture does not.
func noForbiddenQueries(s *model.State) bool {
	return !slices.Contains(s.Truth.Illegal, model.QueryEvent)
}

// noSplitBlocksAreWhole: a block of a pool with no_split is a whole segment, or whole pages.
func (p *PrivatePools) noSplitBlocksAreWhole(s *model.State) bool {
	return everyBlock(s, func(g *model.Segment, b *model.Block) bool {
		unit := g.Size
		if p.Config.ExpandableSegments {
			unit = s.PageSize(g.PoolKind)
		}
		isMarked := slices.Contains(p.noSplit, uint64(poolNumber(g.Pool)))
		return !isMarked || b.Size%unit == 0 && uint64(b.Address-g.Address)%unit == 0
	})
}

// driverSegmentsAreCounted: with plain segments a pool's count is their number.
func driverSegmentsAreCounted(s *model.State) bool {
	for _, p := range s.Pools {
		count := 0
		for _, g := range s.Segments {
			if g.Pool == p.ID {
				count++
			}
		}
		if count != p.DriverSegments && !s.Config.ExpandableSegments {
			return false
		}
	}
	return true
}

// usesAreTouches: the allocator knows the streams that use what the program holds, and which of the
// uses are in graphs.
func usesAreTouches(s *model.State) bool {
	for _, h := range s.Truth.Held {
		b, _ := blockAt(s, toUnits(h.Ptr))
		if b == nil {
			return true // AllocatedBlocksWereGivenOut
		}
		touched := map[spec.DeviceStream]bool{}
		for _, x := range s.Truth.Touches {
			if x.Ptr == h.Ptr {
				touched[x.Stream] = true
				if x.Captured != isGraphStreamUse(s, b, x.Stream) && !touchedBothWays(s, x) {
					return false
				}
			}
		}
		isUnknown := func(id spec.DeviceStream) bool { return !touched[id] }
		if len(b.StreamUses) != len(touched) || slices.ContainsFunc(b.StreamUses, isUnknown) {
			return false
		}
	}
	return true
}

// touchedBothWays reports whether there is a use in a graph and one outside.
func touchedBothWays(s *model.State, x model.Touch) bool {
	x.Captured = !x.Captured
	return slices.Contains(s.Truth.Touches, x)
}

// graphUsesAreNotAwaited: of a deferred free no event is recorded for a use that is in a graph.
func graphUsesAreNotAwaited(from *model.State, _ int, to *model.State) bool {
	return everyBlock(from, func(_ *model.Segment, b *model.Block) bool {
		return !b.IsDeferred() || !slices.ContainsFunc(to.Events, func(e model.Event) bool {
			return e.Block == b.Address && isGraphStreamUse(from, b, e.Stream)
		})
	})
}

// unusedPoolsAreReleased: EmptyCache returns what is free of the pools that are not in use, also
// while a capture is underway that allows it. (The pages of a captured stream cannot be unmapped.)
func (p *PrivatePools) unusedPoolsAreReleased(from *model.State, label int, to *model.State) bool {
	if label != p.emptyCache.label() || len(from.Truth.Captures) > 0 && (!p.relaxed || p.Config.ExpandableSegments) {
		return true
	}
	return !slices.ContainsFunc(to.Pools, func(q model.Pool) bool { return q.UseCount == 0 && releasableMemory(to, q.ID) > 0 })
}

// requestsAreRouted: what a malloc returned is of the pool that its request was routed to, or of
// one with use_on_oom.
func (p *PrivatePools) requestsAreRouted(from *model.State, label int, to *model.State) bool {
	stream, _, is := p.request(label)
	return !is || !slices.ContainsFunc(to.Truth.Held, func(h model.Held) bool {
		pool, source := routedTo(from, stream), poolAt(to, h.Ptr)
		overflows := pool.IsDefault() && slices.Contains(p.overflow, uint64(poolNumber(source)))
		return !slices.Contains(from.Truth.Held, h) && source != pool && !overflows
	})
}

// endCompletesDeferred: with PoolEndCompletesDeferred the end of a pool's routing processes the pool's
// deferred frees, and no others; else none.
func (p *PrivatePools) endCompletesDeferred(from *model.State, label int, to *model.State) bool {
	for i, number := range p.ids {
		if label != p.end.label(i) {
			continue
		}
		return everyBlock(from, func(g *model.Segment, b *model.Block) bool {
			now, _ := blockAt(to, toUnits(b.Address))
			stays := now != nil && now.IsDeferred()
			return !b.IsDeferred() || stays != (p.Rules.PoolEndCompletesDeferred && g.Pool == PoolID(number))
		})
	}
	return true
}

// oversizeMakesRoom: the free oversize segments of a pool without a capture make room for its requests.
func (p *PrivatePools) oversizeMakesRoom(from *model.State, label int, to *model.State) bool {
	stream, bytes, is := p.request(label)
	pool := routedTo(from, stream)
	if !is || !failed(from, to) || !p.isUncaptured(pool) || freeForbidden(from) {
		return true
	}
	need := max(p.blockFor(bytes), from.Config.MaxSplitSize)
	return !p.oversizeIn(from, pool, stream, bytes) || granted(from)+p.segmentFor(bytes) > p.room()+need
}

// pagesAreCounted: with expandable segments a pool's count is one more after a malloc that is served with
// new pages of it, and EmptyCache takes one off for each free block that loses pages. While it is
// positive the pool stays.
func (p *PrivatePools) pagesAreCounted(from *model.State, label int, to *model.State) bool {
	_, _, isMalloc := p.request(label)
	isGone := func(g model.Segment) bool { return poolAt(to, g.Address) != g.Pool }
	isGranted := isMalloc && (len(returned(from, to)) > 0 || slices.ContainsFunc(from.Segments, isGone)) // perhaps again
	if !p.Config.ExpandableSegments || waiting(from) || isGranted || p.isFault(label) {
		return true
	}
	for _, before := range from.Pools {
		i := slices.IndexFunc(to.Pools, func(q model.Pool) bool { return q.ID == before.ID })
		more := 0
		if isMalloc && !failed(from, to) && slices.ContainsFunc(returned(to, from), func(g model.Grant) bool { return poolAt(to, g.Memory.Ptr) == before.ID }) {
			more = 1
		}
		everyBlock(from, func(g *model.Segment, b *model.Block) bool {
			memory := spec.Range{Ptr: b.Address, Bytes: b.Size}
			loses := func(x model.Grant) bool { return x.Memory.Overlaps(memory) }
			if g.Pool == before.ID && isInactive(b) && !b.Unmapped && slices.ContainsFunc(returned(from, to), loses) {
				more--
			}
			return true
		})
		if i < 0 && before.DriverSegments+more > 0 || i >= 0 && to.Pools[i].DriverSegments != before.DriverSegments+more {
			return false
		}
	}
	return true
}

// capturedMemoryIsKept: a pool with uses keeps its segments, and what the driver granted for them, unless
// no graph was captured with it and they are oversize.
func (p *PrivatePools) capturedMemoryIsKept(from *model.State, _ int, to *model.State) bool {
	for _, g := range from.Segments {
		if p.isUncaptured(g.Pool) && !g.Expandable && g.Size >= from.Config.MaxSplitSize {
			continue
		}
		isUsed := useCount(from, g.Pool) > 0 && useCount(to, g.Pool) > 0
		isKept := slices.ContainsFunc(to.Segments, func(h model.Segment) bool {
			return g.Address == h.Address && g.Size == h.Size && g.Pool == h.Pool && g.Stream == h.Stream && g.PoolKind == h.PoolKind
		})
		isLost := func(x model.Grant) bool {
			return overlaps(x, g) && !slices.Contains(to.Truth.Granted, x)
		}
		if isUsed && (!isKept || slices.ContainsFunc(from.Truth.Granted, isLost)) {
			return false
		}
	}
	return true
}

// overlaps reports whether a grant is in a segment.
func overlaps(x model.Grant, g model.Segment) bool {
	return x.Memory.Overlaps(spec.Range{Ptr: g.Address, Bytes: g.Size})
}

// usesAreCounted: the use count of a pool is as many uses as the program has begun and not ended.
// No other step changes it, except that a pool without uses may be erased.
func (p *PrivatePools) usesAreCounted(from *model.State, label int, to *model.State) bool {
	for i, number := range p.ids {
		before, after := useCount(from, PoolID(number)), useCount(to, PoolID(number))
		expected := before
		for j := range p.Streams {
			if label == p.begin.label(i, j) {
				expected = max(before, 0) + 1
			}
		}
		if label == p.release.label(i) {
			expected = before - 1
		}
		if after != expected && (before != 0 || after != -1) {
			return false
		}
	}
	return true
}

// emptyCacheReleasesAll: outside of captures EmptyCache leaves nothing of the default pool, and of
// the pools that are not in use any more, that can be released.
func (p *PrivatePools) emptyCacheReleasesAll(s *model.State) bool {
	if len(s.Truth.Captures) > 0 {
		return true
	}
	emptied := s.EmptyCache()
	return releasableMemory(&emptied, spec.DefaultPool) == 0 && !slices.ContainsFunc(s.Pools, func(q model.Pool) bool {
		return q.UseCount == 0 && releasableMemory(&emptied, q.ID) > 0
	})
}

// overflowsOnOutOfMemory: a pool serves requests of the default pool only where the driver does
// not (use_on_oom); with UseOnOOMLast where it does not although all is returned that can be.
func (p *PrivatePools) overflowsOnOutOfMemory(from *model.State, label int, to *model.State) bool {
	stream, bytes, is := p.request(label)
	if !is || !routedTo(from, stream).IsDefault() {
		return true
	}
	overflows := slices.ContainsFunc(to.Truth.Held, func(h model.Held) bool {
		return !h.Pool.IsDefault() && !slices.Contains(from.Truth.Held, h)
	})
	if overflows && p.Rules.UseOnOOMLast && len(from.Truth.Captures) == 0 && kept(from)+p.segmentFor(bytes) <= p.room() {
		return false
	}
	return !overflows || granted(from)+p.segmentFor(bytes) > p.room()
}

// cacheIsReleasedInCapture is false in upstream: see tla/PrivatePools.tla.
func (p *PrivatePools) cacheIsReleasedInCapture(s *model.State) bool {
	released := s.ReleaseDefaultPool()
	return p.everyFailure(s, func(_ spec.Stream, bytes uint64) bool {
		need := s.SegmentSize(s.Round(bytes))
		return released.Reserved()+need > min(p.Limit, p.Memory)
	})
}
