package model

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
)

// Expandable segments. A plain segment has a fixed size, so the free memory at its end
// cannot serve a request that is a little larger. An expandable segment is an address
// range, a little longer than the memory of the device. Pages are mapped into it when a
// request needs them, and free pages are unmapped anywhere in it.
//
//	| block | free | block |  unmapped  | free | block |   unmapped   |
//	|<------- pages ------>|            |<-- pages --->|
//
// Blocks and unmapped ranges tile the segment. Both are Blocks.

// IsFree reports whether the block is on a free list.
func (b *Block) IsFree() bool { return b.State == spec.Inactive && !b.Unmapped }

// expandable reports whether expandable segments are on.
func (s *State) expandable() bool { return s.Config.ExpandableSegments }

// mapped is the mapped bytes of a segment.
func (g *Segment) mapped() (bytes uint64) {
	for _, b := range g.Blocks {
		if !b.Unmapped {
			bytes += b.Size
		}
	}
	return bytes
}

// expandableSize is the size of the block at a place plus that of the unmapped range
// after it.
func (s *State) expandableSize(p place) uint64 {
	blocks := s.Segments[p.segment].Blocks
	size := blocks[p.block].Size
	if next := p.block + 1; next < len(blocks) && blocks[next].Unmapped {
		size += blocks[next].Size
	}
	return size
}

// chooseExpandable continues from the best fit along the free list while the present
// block can be expanded and the expandable size of the next one is smaller. A block that
// can be expanded is kept for larger requests.
func (s *State) chooseExpandable(fits []place) place {
	at := 0
	for s.expandableSize(fits[at]) > s.at(fits[at]).Size && at+1 < len(fits) && s.expandableSize(fits[at+1]) < s.expandableSize(fits[at]) {
		at++
	}
	return fits[at]
}

// tryAllocateExpandableBlock maps pages for a block. If the device has no more pages, those that
// were mapped before stay mapped.
func (s *State) tryAllocateExpandableBlock(c *PendingMalloc, g DriverResults) (p place, found bool) {
	if p, found = s.findExpandableBlock(c); !found {
		at, err := s.addExpandableSegment(c, g)
		if err != nil {
			c.err, c.stage = err, stageDone
			return place{}, false
		}
		p = place{at, 0}
	}
	for s.at(p).Unmapped || s.at(p).Size < c.size {
		if c.driverCalls <= g.Refusals {
			s.refused()
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
	s.countDriverSegment(c.pool, 1)
	return p, true
}

// findExpandableBlock is the lowest place at which the request fits: at an unmapped range
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
			if j > 0 && g.Blocks[j-1].IsFree() {
				j--
			}
			if roomFrom(g.Blocks[j:]) >= c.size {
				return place{i, j}, true
			}
		}
	}
	return place{}, false
}

// roomFrom is the bytes of the leading free blocks and unmapped ranges.
func roomFrom(blocks []Block) (bytes uint64) {
	for _, b := range blocks {
		if b.State != spec.Inactive {
			break
		}
		bytes += b.Size
	}
	return bytes
}

// PageSize is the page size of a new expandable segment.
func (s *State) PageSize(kind spec.PoolKind) uint64 {
	if kind == spec.LargePool {
		return s.Config.LargeSegmentSize
	}
	return s.Geometry.SmallBuffer
}

// addExpandableSegment adds a segment that is one unmapped range of 9/8 of the memory, and returns
// its index. A larger request finds no room in it, and the device has no memory for it.
func (s *State) addExpandableSegment(c *PendingMalloc, g DriverResults) (int, error) {
	page := s.PageSize(s.poolKind(c))
	size := nextMultiple(s.Config.Reserve.Of(s.Memory), page)
	s.driverCall(callReserveAddress)
	address := g.Segment
	if g.LowestFrom != 0 {
		address = s.lowestHole(g.LowestFrom, size)
	}
	if err := s.checkAddress(address, size); err != nil {
		return 0, err
	}
	return s.insertSegment(Segment{
		Address: address, Size: size, Stream: c.Stream, Pool: c.pool, PoolKind: s.poolKind(c),
		Made:       s.nextSegment(),
		Expandable: true, Page: page, Blocks: []Block{{Address: address, Size: size, Unmapped: true, Made: s.nextBlock()}},
	}), nil
}

// mapBlock maps at least the first bytes of an unmapped range, or all of it, in whole
// pages. If the device does not have memory for all of them it maps none. It returns the
// place of the free block that contains them.
func (s *State) mapBlock(p place, bytes uint64) (place, bool) {
	g := &s.Segments[p.segment]
	b := g.Blocks[p.block]
	size := min(nextMultiple(bytes, g.Page), b.Size)
	if s.deviceUsed()+size > s.Memory {
		s.driverCall(callCreatePages)
		return place{}, false
	}
	s.driverCall(callMapPages)
	s.Counters.NumDeviceAlloc++
	for offset := uint64(0); offset < size; offset += g.Page {
		s.Truth = s.Truth.Grant(spec.Range{Ptr: b.Address + spec.Ptr(offset), Bytes: g.Page}, g.Stream)
	}
	s.splitAt(p, 0, size)
	if next := p.block + 1; size < b.Size {
		g.Blocks[next].Made = s.nextBlock() // what is mapped keeps the object
	}
	g.Blocks[p.block].Unmapped = false
	return s.tryMergeBlocks(p), true
}

// splitAt splits a block into its bytes below begin, those below end, and the rest. Empty
// parts are left out. It returns the place of the middle part.
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

// unmapFreePages unmaps the pages that lie wholly in the free blocks of a pool's
// expandable segments. The blocks are chosen before the first is unmapped.
func (s *State) unmapFreePages(pool spec.PoolID, kind spec.PoolKind) {
	var free []spec.Ptr
	for _, p := range s.freeList(pool, kind) {
		if s.Segments[p.segment].Expandable {
			free = append(free, s.at(p).Address)
		}
	}
	for _, address := range free {
		p, _ := s.find(func(_ *Segment, b *Block) bool { return b.Address == address })
		s.unmapBlock(p)
	}
}

// unmapBlock unmaps the pages that lie wholly in a free block, one after the other, when the
// work in the segment's stream is complete. The rest of the block stays free. A segment without
// mapped pages is removed. Nothing is unmapped while the stream is captured, and so cannot be
// waited for: the driver is asked first.
func (s *State) unmapBlock(p place) {
	s.driverCall(callCaptureStatus)
	g, b := &s.Segments[p.segment], s.at(p)
	offset := uint64(b.Address - g.Address)
	begin := nextMultiple(offset, g.Page)
	end := (offset + b.Size) / g.Page * g.Page
	if begin >= end || s.isCaptured(g.Stream) {
		return
	}
	s.driverCall(callSynchronizeStream)
	s.synchronizeStream(g.Stream)
	s.drain(spec.DeviceStream{Device: s.Device, Stream: g.Stream})
	size := b.Size
	requested, made := b.RequestedSize, b.Made // the unmapped range keeps them
	for at := begin; at < end; at += g.Page {
		s.driverCall(callUnmapPage)
		if at == begin {
			s.Counters.NumDeviceFree++
			s.countDriverSegment(g.Pool, -1)
		}
		s.returnMemory(spec.Range{Ptr: g.Address + spec.Ptr(at), Bytes: g.Page})
		inBlock := at - uint64(s.at(p).Address-g.Address)
		p = s.splitAt(p, inBlock, inBlock+g.Page)
		if at == begin { // what stays free gets objects of its own
			if begin > offset {
				g.Blocks[p.block-1].Made = s.nextBlock()
			}
			if begin+g.Page < offset+size {
				g.Blocks[p.block+1].Made = s.nextBlock()
			}
		}
		s.at(p).Unmapped, s.at(p).Made = true, made
		p = s.tryMergeBlocks(p)
		s.at(p).RequestedSize = requested
		p.block++ // the rest of the free block, if there is one
	}
	if g.mapped() == 0 {
		s.driverCall(callFreeAddress)
		s.Segments = slices.Delete(s.Segments, p.segment, p.segment+1)
	}
}

// dropUnmappedSegments removes the segments of a pool of which no page could be mapped. If
// the addresses of one cannot be freed, only that one stays.
func (s *State) dropUnmappedSegments(pool spec.PoolID) {
	all := s.Segments
	without := func(keep spec.Ptr) []Segment {
		return slices.DeleteFunc(slices.Clone(all), func(g Segment) bool {
			return g.Pool == pool && g.mapped() == 0 && g.Address != keep
		})
	}
	for _, g := range all {
		if g.Pool == pool && g.mapped() == 0 {
			s.Segments = without(g.Address)
			s.driverCall(callFreeAddress)
		}
	}
	s.Segments = without(0)
}

// insertSegment inserts a segment in order of address, and returns its index.
func (s *State) insertSegment(g Segment) int {
	at, _ := slices.BinarySearchFunc(s.Segments, g.Address, func(o Segment, p spec.Ptr) int {
		return cmp.Compare(o.Address, p)
	})
	s.Segments = slices.Insert(s.Segments, at, g)
	return at
}
