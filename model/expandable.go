package model

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
)

// Expandable segments. A plain segment has the size that it was born with, and what is
// free at its end is lost to every request that is a little larger. An expandable
// segment is a range of addresses, a little longer than the memory of the device, into
// which pages are mapped as they are needed, and out of which free pages can be taken
// from anywhere.
//
//	| block | free | block |  unmapped  | free | block |   unmapped   |
//	|<------- pages ------>|            |<-- pages --->|
//
// Blocks and unmapped ranges together fill the segment. Both are Blocks.

// cached: it can be given out.
func (b *Block) isFree() bool { return b.State == spec.Inactive && !b.Unmapped }

// expands reports whether a request grows expandable segments.
func (s *State) expandable() bool { return s.Config.ExpandableSegments }

// mapped is how much memory is behind a segment.
func (g *Segment) mapped() (bytes uint64) {
	for _, b := range g.Blocks {
		if !b.Unmapped {
			bytes += b.Size
		}
	}
	return bytes
}

// grownSize is the size that the block at a place can have when what follows it is
// mapped.
func (s *State) expandableSize(p place) uint64 {
	blocks := s.Segments[p.segment].Blocks
	size := blocks[p.block].Size
	if next := p.block + 1; next < len(blocks) && blocks[next].Unmapped {
		size += blocks[next].Size
	}
	return size
}

// passGrowable goes on from the best fit, along the free list. A block at the edge of
// what is mapped counts as large as it can grow: a small piece of it would spoil the
// room for a large request. So the search goes on while the next block is smaller in
// this sense, and the present one can grow.
func (s *State) chooseExpandable(fits []place) place {
	at := 0
	for s.expandableSize(fits[at]) > s.at(fits[at]).Size && at+1 < len(fits) && s.expandableSize(fits[at+1]) < s.expandableSize(fits[at]) {
		at++
	}
	return fits[at]
}

// grow gets a block by mapping pages. If they run out, what was mapped until then
// stays.
func (s *State) allocExpandable(c *PendingMalloc, g DriverResults) (p place, found bool) {
	if p, found = s.findExpandableBlock(c); !found {
		if err := s.addExpandableSegment(c, g); err != nil {
			c.err, c.stage = err, stageDone
			return place{}, false
		}
		p, _ = s.findExpandableBlock(c)
	}
	for s.at(p).Unmapped || s.at(p).Size < c.size {
		if c.driverCalls <= g.Refusals {
			return place{}, false
		}
		start, lacking := p, c.size
		if !s.at(p).Unmapped {
			start.block++
			lacking -= s.at(p).Size
		}
		if p, found = s.mapBlock(start, lacking); !found {
			return place{}, false
		}
	}
	return p, true
}

// findExpandable is the lowest place from which on there is room: at an unmapped range
// of the stream, or the free block before it.
func (s *State) findExpandableBlock(c *PendingMalloc) (place, bool) {
	for i, g := range s.Segments {
		if !g.Expandable || g.Stream != c.Stream || g.Pool != c.pool || g.PoolKind != s.poolKind(c) {
			continue
		}
		for j, b := range g.Blocks {
			if !b.Unmapped {
				continue
			}
			if j > 0 && g.Blocks[j-1].isFree() {
				j--
			}
			if roomFrom(g.Blocks[j:]) >= c.size {
				return place{i, j}, true
			}
		}
	}
	return place{}, false
}

// roomFrom is the bytes of the free blocks and unmapped ranges that blocks begin with.
func roomFrom(blocks []Block) (bytes uint64) {
	for _, b := range blocks {
		if b.State != spec.Inactive {
			break
		}
		bytes += b.Size
	}
	return bytes
}

// reserve adds a segment, all of it one unmapped range of 9/8 of the memory.
func (s *State) addExpandableSegment(c *PendingMalloc, given DriverResults) error {
	page := s.Geometry.SmallBuffer
	if s.poolKind(c) == spec.LargePool {
		page = s.Config.LargeSegmentSize
	}
	size := nextMultiple(s.Memory+s.Memory/8, page)
	address := given.Segment
	if given.LowestFrom != 0 {
		address = s.lowestHole(given.LowestFrom, size)
	}
	if err := s.checkAddress(address, size); err != nil {
		return err
	}
	s.insertSegment(Segment{
		Address: address, Size: size, Stream: c.Stream, Pool: c.pool, PoolKind: s.poolKind(c),
		Expandable: true, Page: page, Blocks: []Block{{Address: address, Size: size, Unmapped: true}},
	})
	return nil
}

// mapBlock puts memory behind at least the first bytes of an unmapped range, or all of
// it, in whole pages: all of them, or, if the device has no more, none. It is the place
// of the free block that comes of it.
func (s *State) mapBlock(p place, bytes uint64) (place, bool) {
	g := &s.Segments[p.segment]
	b := g.Blocks[p.block]
	size := min(nextMultiple(bytes, g.Page), b.Size)
	if s.deviceUsed()+size > s.Memory {
		return place{}, false
	}
	s.Counters.NumDeviceAlloc++
	s.splitAt(p, 0, size)
	g.Blocks[p.block].Unmapped = false
	return s.mergeFree(p), true
}

// cut makes pieces of a block: its first bytes up to begin, those up to end, and the
// rest. Empty ones are left out. It is the place of the one in the middle.
func (s *State) splitAt(p place, begin, end uint64) place {
	g := &s.Segments[p.segment]
	b := g.Blocks[p.block]
	var pieces []Block
	for _, bounds := range [][2]uint64{{0, begin}, {begin, end}, {end, b.Size}} {
		if bounds[0] == bounds[1] {
			continue
		}
		piece := b
		piece.Address += spec.Ptr(bounds[0])
		piece.Size = bounds[1] - bounds[0]
		if bounds[0] != begin {
			piece.RequestedSize = 0
		}
		pieces = append(pieces, piece)
	}
	g.Blocks = slices.Replace(g.Blocks, p.block, p.block+1, pieces...)
	if begin > 0 {
		p.block++
	}
	return p
}

// unmapFree takes the pages that lie wholly in the free blocks of a pool's expandable
// segments. What goes is decided before the first goes.
func (s *State) unmapFreePages(pool spec.PoolID) {
	var going []spec.Ptr
	for _, kind := range []spec.PoolKind{spec.LargePool, spec.SmallPool} {
		for _, p := range s.freeList(pool, kind) {
			if s.Segments[p.segment].Expandable {
				going = append(going, s.at(p).Address)
			}
		}
	}
	for _, address := range going {
		p, _ := s.find(func(_ *Segment, b *Block) bool { return b.Address == address })
		s.unmapBlock(p)
	}
}

// unmapBlock takes the pages that lie wholly in a free block. What is left of it before
// and behind them stays free. A segment without any page goes, with its addresses.
func (s *State) unmapBlock(p place) {
	g, b := &s.Segments[p.segment], s.at(p)
	offset := uint64(b.Address - g.Address)
	begin := nextMultiple(offset, g.Page)
	end := (offset + b.Size) / g.Page * g.Page
	if begin >= end {
		return
	}
	s.Counters.NumDeviceFree++
	p = s.splitAt(p, begin-offset, end-offset)
	s.at(p).Unmapped = true
	s.mergeFree(p)
	if g.mapped() == 0 {
		s.Segments = slices.Delete(s.Segments, p.segment, p.segment+1)
	}
}

// insert puts a segment where it belongs.
func (s *State) insertSegment(g Segment) int {
	at, _ := slices.BinarySearchFunc(s.Segments, g.Address, func(o Segment, p spec.Ptr) int {
		return cmp.Compare(o.Address, p)
	})
	s.Segments = slices.Insert(s.Segments, at, g)
	return at
}
