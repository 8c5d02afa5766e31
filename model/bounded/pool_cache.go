package bounded

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/explore"
	"gaugeblock/model/tlc"
	"gaugeblock/spec"
)

// PoolCache is PoolCache.tla: PrivatePools, of which programs empty the cache of one.
type PoolCache struct {
	*PrivatePools
	empty action
}

func openPoolCache(c *tlc.Config) (Module, error) {
	p, err := openPrivatePools(c)
	if err != nil {
		return nil, err
	}
	m := &PoolCache{PrivatePools: p}
	m.keys.module = m
	m.empty = m.add("EmptyPool", asInts(p.ids))
	return m, nil
}

// Next implements explore.Specification.
func (m *PoolCache) Next(s *model.State, yield func(label int, next *model.State)) {
	m.PrivatePools.Next(s, yield)
	if len(s.Truth.Captures) > 0 {
		return
	}
	for i, number := range m.ids {
		next := s.EmptyPool(PoolID(number))
		yield(m.empty.label(i), &next)
	}
}

// emptied is the pool that a step empties, if it does.
func (m *PoolCache) emptied(label int) (id spec.PoolID, is bool) {
	i := label - m.empty.first
	if i < 0 { // there are no labels behind these
		return id, false
	}
	return PoolID(m.ids[i]), true
}

func (m *PoolCache) property(name string, fair [][]int, to *explore.Options[*model.State]) bool {
	holds := map[string]func(id spec.PoolID, from, to *model.State) bool{
		"EmptyPoolReleasesAll":   m.emptyPoolReleasesAll,
		"EmptyPoolReturnsItsOwn": emptyPoolReturnsItsOwn,
		"EmptyPoolWaitsNoLonger": m.emptyPoolWaitsNoLonger,
		"EmptyPoolResolves":      emptyPoolResolves,
	}[name]
	if holds == nil {
		return m.beside(name, fair, to)
	}
	holdsOfSteps(to, name, func(from *model.State, label int, next *model.State) bool {
		id, is := m.emptied(label)
		return !is || holds(id, from, next)
	})
	return true
}

// beside adds a property of PrivatePools. Those that say which steps return memory and wait are about the
// steps that empty no pool.
func (m *PoolCache) beside(name string, fair [][]int, to *explore.Options[*model.State]) bool {
	if !slices.Contains([]string{"NoNeedlessReturn", "NoNeedlessWait", "CountersFollowHistory", "PagesAreCounted"}, name) {
		return m.PrivatePools.property(name, fair, to)
	}
	var others explore.Options[*model.State]
	m.PrivatePools.property(name, fair, &others)
	holdsOfSteps(to, name, func(from *model.State, label int, next *model.State) bool {
		_, is := m.emptied(label)
		return is || others.Steps[0].Holds(from, label, next)
	})
	return true
}

// always implements Module.
func (m *PoolCache) always() []string {
	names := append(m.PrivatePools.always(), "EmptyPoolReleasesAll", "EmptyPoolReturnsItsOwn")
	if len(m.Streams) > 1 { // else nothing waits
		names = append(names, "EmptyPoolWaitsNoLonger", "EmptyPoolResolves")
	}
	return names
}

// fairness implements Module.
func (m *PoolCache) fairness(specification string) ([][]int, bool) {
	return nil, specification == "SpecEmptying"
}

// emptyPoolReleasesAll: of a pool without uses nothing waits afterwards, nothing that is free stays that the
// driver can take back, and the pool is erased if it has no memory.
func (m *PoolCache) emptyPoolReleasesAll(id spec.PoolID, from, to *model.State) bool {
	if useCount(from, id) != 0 {
		return true
	}
	waits := !everyBlock(to, func(g *model.Segment, b *model.Block) bool { return g.Pool != id || b.State != spec.ActivePendingFree })
	hasMemory := slices.ContainsFunc(to.Truth.Granted, func(g model.Grant) bool { return poolAt(to, g.Memory.Ptr) == id })
	isCounted := m.Config.ExpandableSegments && slices.ContainsFunc(to.Pools, func(q model.Pool) bool { return q.ID == id && q.DriverSegments > 0 })
	return !waits && releasableMemory(to, id) == 0 && (hasMemory || isCounted || useCount(to, id) < 0)
}

// emptyPoolReturnsItsOwn: no memory of other pools is returned, and none of a pool in use.
func emptyPoolReturnsItsOwn(id spec.PoolID, from, to *model.State) bool {
	return !slices.ContainsFunc(returned(from, to), func(g model.Grant) bool {
		return poolAt(from, g.Memory.Ptr) != id || useCount(from, id) != 0
	})
}

// emptyPoolWaitsNoLonger: it waits no longer than for the last event of a block of the pool. That of a free that
// was deferred is behind all work of its stream; and a stream whose pages are unmapped is waited for.
func (m *PoolCache) emptyPoolWaitsNoLonger(id spec.PoolID, from, to *model.State) bool {
	for _, stream := range m.Streams {
		n := pendingWork(from, stream) - pendingWork(to, stream)
		unmaps := m.Config.ExpandableSegments && slices.ContainsFunc(returned(from, to), func(g model.Grant) bool { return g.Stream == stream })
		if n > 0 && !unmaps && !waitsFor(from, id, onDevice(stream), n) {
			return false
		}
	}
	return true
}

// waitsFor reports whether a block of a pool waits for so many pieces of a stream's work.
func waitsFor(s *model.State, id spec.PoolID, stream spec.DeviceStream, pieces int) bool {
	completed := s.StreamOf(stream).Completed
	return !everyBlock(s, func(g *model.Segment, b *model.Block) bool {
		if g.Pool != id {
			return true
		}
		isDeferred := b.IsDeferred() && slices.Contains(b.StreamUses, stream) && !isGraphStreamUse(s, b, stream)
		return !isDeferred && !slices.ContainsFunc(s.Events, func(e model.Event) bool {
			return e.Block == b.Address && e.Stream == stream && completed+pieces <= e.After
		})
	})
}

// emptyPoolResolves: all deferred frees are processed.
func emptyPoolResolves(id spec.PoolID, from, to *model.State) bool {
	return useCount(from, id) != 0 || everyBlock(to, func(_ *model.Segment, b *model.Block) bool { return !b.IsDeferred() })
}
