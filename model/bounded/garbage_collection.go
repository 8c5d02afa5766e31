package bounded

import (
	"fmt"
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/explore"
	"gaugeblock/model/tlc"
	"gaugeblock/spec"
)

// GarbageCollection is GarbageCollection.tla: CachingAllocator with a limit, of which a fraction may
// be reserved before old segments are returned.
type GarbageCollection struct {
	*CachingAllocator
	maxAge uint64
}

func openGarbageCollection(c *tlc.Config) (Module, error) {
	b, err := ReadBounds(c, "MaxAge")
	if err != nil {
		return nil, err
	}
	m := &GarbageCollection{CachingAllocator: newCachingAllocator(b)}
	m.keys.module = m
	r := constants{config: c}
	m.maxAge = r.number("MaxAge")
	if b.Config.GarbageCollectionThreshold == 0 && r.err == nil {
		r.err = fmt.Errorf("%s: without a threshold no garbage is collected", c.File)
	}
	initial := b.initial()
	m.setAges(initial)
	m.keys.initial = initial
	return m, r.err
}

// setAges makes ages those of a state that is read from a key: only differences count. Those of the
// two kinds have nothing to do with each other.
func (m *GarbageCollection) setAges(s *model.State) {
	s.GetFreeBlocksCallCount = [2]uint64{spec.SmallPool: maxUnits, spec.LargePool: 2 * maxUnits}
}

// Next implements explore.Specification. Programs call malloc while no free block is too old.
func (m *GarbageCollection) Next(s *model.State, yield func(label int, next *model.State)) {
	old := !everyBlock(s, func(g *model.Segment, b *model.Block) bool { return !b.IsFree() || m.age(s, g, b) < m.maxAge })
	mallocs := m.malloc.all()
	m.CachingAllocator.Next(s, func(label int, next *model.State) {
		if !old || !slices.Contains(mallocs, label) {
			yield(label, next)
		}
	})
}

// age is how many searches of its kind there were since a block came to the free list.
func (m *GarbageCollection) age(s *model.State, g *model.Segment, b *model.Block) uint64 {
	return s.GetFreeBlocksCallCount[g.PoolKind] - b.GCCountBase
}

// code is the key of what GarbageCollection.tla adds.
func (m *GarbageCollection) code(k *coder, s *model.State) {
	m.CachingAllocator.code(k, s)
	if k.reading {
		m.setAges(s)
	}
	for i := range s.Segments {
		g := &s.Segments[i]
		for j := range g.Blocks {
			b := &g.Blocks[j]
			if age := m.age(s, g, b); b.IsFree() {
				number(k, &age)
				if k.reading {
					b.GCCountBase = s.GetFreeBlocksCallCount[g.PoolKind] - age
				}
			}
		}
	}
}

// Text implements Module. tla/GarbageCollection.tla explains the variable.
func (m *GarbageCollection) Text(to []byte, s *model.State) []byte {
	w := newWriter(s)
	m.variables(w)
	free := w.placesOf((*model.Block).IsFree)
	w.variable("ages", func() {
		w.Set(len(free), func(i int) {
			p := free[i]
			w.field("[addr", toUnits(p.block.Address))
			w.field(",age", int(m.age(s, p.segment, p.block)))
			w.field(",of", toUnits(p.segment.Address))
			w.field(",size", int(p.block.Size))
			w.Raw("]")
		})
	})
	return w.finish(to)
}

func (m *GarbageCollection) property(name string, fair [][]int, to *explore.Options[*model.State]) bool {
	switch name {
	case "GarbageIsCollected":
		holdsOfSteps(to, name, m.garbageIsCollected)
	case "NoNeedlessCollection":
		holdsOfSteps(to, name, m.noNeedlessCollection)
	case "OldestAreCollected":
		holdsOfSteps(to, name, m.oldestAreCollected)
	case "YoungAreKept":
		holdsOfSteps(to, name, m.youngAreKept)
	case "AgesCountSearches":
		holdsOfSteps(to, name, m.agesCountSearches)
	default:
		return m.CachingAllocator.property(name, fair, to)
	}
	return true
}

// always implements Module. A malloc returns memory that it need not return to be served.
func (m *GarbageCollection) always() []string {
	others := []string{"NoNeedlessReturn", "CountersFollowHistory", "BestFitServes"}
	names := slices.DeleteFunc(m.CachingAllocator.always(), func(name string) bool { return slices.Contains(others, name) })
	if m.Limit <= m.Memory {
		names = append(names, "GarbageIsCollected")
	}
	return append(names, "NoNeedlessCollection", "OldestAreCollected", "YoungAreKept", "AgesCountSearches")
}

// fairness implements Module.
func (m *GarbageCollection) fairness(specification string) ([][]int, bool) {
	return nil, specification == "Spec"
}

// threshold is what may be reserved before garbage is collected. Without a limit it is all.
func (m *GarbageCollection) threshold() uint64 {
	if m.Limit > m.Memory {
		return m.Memory
	}
	return uint64(m.Config.GarbageCollectionThreshold * float64(m.Limit))
}

// wholeLarge are the segments of a state that are one free large block.
func wholeLarge(s *model.State) (list []model.Segment) {
	for _, g := range s.Segments {
		if g.PoolKind == spec.LargePool && len(g.Blocks) == 1 && g.Blocks[0].IsFree() {
			list = append(list, g)
		}
	}
	return list
}

// garbageIsCollected: a malloc obtains memory beyond the fraction only if no large segment is free.
func (m *GarbageCollection) garbageIsCollected(from *model.State, label int, to *model.State) bool {
	_, _, is := m.request(label)
	obtained := uint64(0)
	for _, g := range returned(to, from) {
		obtained += g.Memory.Bytes
	}
	return !is || obtained == 0 || granted(to)-obtained <= m.threshold() || len(wholeLarge(to)) == 0
}

// noNeedlessCollection: only a malloc beyond the fraction returns memory, of large segments, or one
// that can be served no other way, beside EmptyCache.
func (m *GarbageCollection) noNeedlessCollection(from *model.State, label int, to *model.State) bool {
	stream, bytes, is := m.request(label)
	if len(returned(from, to)) == 0 || label == m.emptyCache.label() {
		return true
	}
	cached := m.isCached(from, spec.DefaultPool, stream, bytes)
	areOld := granted(from) > m.threshold() && !slices.ContainsFunc(returned(from, to), func(x model.Grant) bool {
		_, g := blockAt(from, toUnits(x.Memory.Ptr))
		return g.PoolKind != spec.LargePool
	})
	return is && !cached && (areOld || !m.hasRoom(from, bytes))
}

// oldestAreCollected: what a malloc leaves of free large segments was freed later than what it
// returns.
func (m *GarbageCollection) oldestAreCollected(from *model.State, label int, to *model.State) bool {
	if _, _, is := m.request(label); !is || len(returned(to, from)) == 0 {
		return true
	}
	gone, left := returned(from, to), wholeLarge(to)
	return everyBlock(from, func(f *model.Segment, old *model.Block) bool {
		isGone := slices.ContainsFunc(gone, func(g model.Grant) bool { return g.Memory.Ptr == f.Address && g.Memory.Bytes == f.Size })
		return !isGone || !old.IsFree() || everyBlock(from, func(g *model.Segment, b *model.Block) bool {
			stays := slices.ContainsFunc(left, func(l model.Segment) bool { return l.Address == b.Address && l.Size == b.Size })
			return !stays || !b.IsFree() || m.age(from, g, b) < m.age(from, f, old)
		})
	})
}

// youngAreKept: what is younger than the average of the free large segments goes only if what is not
// was not enough.
func (m *GarbageCollection) youngAreKept(from *model.State, label int, to *model.State) bool {
	_, bytes, is := m.request(label)
	if !is || waiting(from) {
		return true
	}
	whole, sum := wholeLarge(from), uint64(0)
	for i := range whole {
		sum += m.age(from, &whole[i], &whole[i].Blocks[0])
	}
	old := slices.DeleteFunc(whole, func(g model.Segment) bool {
		return m.age(from, &g, &g.Blocks[0])*uint64(len(whole)) < sum
	})
	left := granted(from)
	for _, g := range old {
		left -= g.Size
	}
	if left > m.threshold() || left+m.segmentFor(bytes) > m.room() {
		return true
	}
	return !slices.ContainsFunc(returned(from, to), func(x model.Grant) bool {
		return !slices.ContainsFunc(old, func(g model.Segment) bool { return g.Address == x.Memory.Ptr })
	})
}

// agesCountSearches: the age of a free block is the number of searches of its kind since it was freed.
func (m *GarbageCollection) agesCountSearches(from *model.State, label int, to *model.State) bool {
	_, bytes, is := m.request(label)
	return everyBlock(to, func(g *model.Segment, b *model.Block) bool {
		if !b.IsFree() {
			return true
		}
		more := uint64(0)
		if is && m.Limit <= m.Memory && m.kindFor(bytes) == g.PoolKind {
			more = 1
		}
		old, segment := blockAt(from, toUnits(b.Address))
		if old != nil && old.IsFree() && old.Size == b.Size && segment.Address == g.Address {
			return m.age(to, g, b) == m.age(from, segment, old)+more
		}
		return m.age(to, g, b) == 0 || waiting(from) && m.age(to, g, b) <= more
	})
}
