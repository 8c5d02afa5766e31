package model

import (
	"fmt"
	"slices"

	"gaugeblock/spec"
)

// Driver allocations have two bounds: the limit, which the allocator tests, and the
// memory of the device, which the driver tests.

// Reserved is the mapped bytes of the segments, which the limit is compared with.
func (s *State) Reserved() (bytes uint64) {
	for _, g := range s.Segments {
		bytes += g.mapped()
	}
	return bytes
}

// deviceUsed is the bytes that the driver has allocated: the reserved bytes, and the
// segments of pending mallocs that are not registered yet.
func (s *State) deviceUsed() uint64 {
	bytes := s.Reserved()
	for _, c := range s.PendingMallocs {
		if c.granted != 0 {
			bytes += c.segmentSize
		}
	}
	return bytes
}

// testLimit decides whether there is a driver call. The last attempt counts as a retry,
// before its test.
func (s *State) testLimit(c *PendingMalloc) {
	if c.attempt == 3 {
		s.Counters.NumAllocRetries++
	}
	c.stage = stageDriverMalloc
	switch after := s.Reserved() + c.segmentSize; {
	case s.Limited && after > s.Limit:
		c.stage = stageFailed
	case s.Config.ThrowOnOOM && after > s.Memory: // nothing is released, and it does not count as out of memory
		c.err, c.stage = s.outOfMemory(c), stageDone
	}
}

// driverMalloc is the driver call: the driver grants a segment if the device has memory.
func (s *State) driverMalloc(c *PendingMalloc, g DriverResults) {
	c.driverCalls++
	if s.expandable() {
		c.stage = stageFailed
		if p, found := s.tryAllocateExpandableBlock(c, g); found {
			s.allocFoundBlock(c, p)
		}
		return
	}
	s.driverCall(callMalloc)
	c.stage = stageRegister
	if c.driverCalls <= g.Refusals {
		s.refused()
		return
	}
	if s.deviceUsed()+c.segmentSize > s.Memory {
		return
	}
	if g.LowestFrom != 0 {
		g.Segment = s.lowestHole(g.LowestFrom, c.segmentSize)
	}
	if err := s.checkAddress(g.Segment, c.segmentSize); err != nil {
		c.err, c.stage = err, stageDone
		return
	}
	c.granted = g.Segment
	s.Truth = s.Truth.Grant(spec.Range{Ptr: c.granted, Bytes: c.segmentSize}, c.Stream)
}

// lowestHole is the lowest address, not below from, of a number of free bytes.
func (s *State) lowestHole(from spec.Ptr, bytes uint64) spec.Ptr {
	ranges := s.usedRanges()
	for moved := true; moved; {
		moved = false
		for _, used := range ranges {
			if used.Overlaps(spec.Range{Ptr: from, Bytes: bytes}) {
				from, moved = used.Ptr+spec.Ptr(used.Bytes), true
			}
		}
	}
	return from
}

// usedRanges are the address ranges in use.
func (s *State) usedRanges() []spec.Range {
	var ranges []spec.Range
	for _, g := range s.Segments {
		ranges = append(ranges, spec.Range{Ptr: g.Address, Bytes: g.Size})
	}
	for _, c := range s.PendingMallocs {
		if c.granted != 0 {
			ranges = append(ranges, spec.Range{Ptr: c.granted, Bytes: c.segmentSize})
		}
	}
	return ranges
}

// An AddressError says that no driver can have granted a segment at this address. It is
// never the result of an allocator: the inputs of the model are contradictory.
type AddressError struct{ Reason string }

func (e *AddressError) Error() string { return "the driver grants a segment: " + e.Reason }

// checkAddress tests that a range overlaps no other.
func (s *State) checkAddress(base spec.Ptr, bytes uint64) error {
	if base == 0 || uint64(base)%s.Geometry.MinBlock != 0 {
		return &AddressError{fmt.Sprintf("%v is not the address of a segment", base)}
	}
	granted := spec.Range{Ptr: base, Bytes: bytes}
	for _, used := range s.usedRanges() {
		if granted.Overlaps(used) {
			return &AddressError{fmt.Sprintf("%v overlaps the segment at %v", base, used.Ptr)}
		}
	}
	return nil
}

// registerSegment adds a granted segment as one free block, and allocates from it.
func (s *State) registerSegment(c *PendingMalloc) {
	g := Segment{Address: c.granted, Size: c.segmentSize, Stream: c.Stream, Pool: c.pool, PoolKind: s.poolKind(c)}
	g.Made = s.nextSegment()
	g.Blocks = []Block{{Address: c.granted, Size: c.segmentSize, State: spec.Inactive, Made: s.nextBlock()}}
	at := s.insertSegment(g)
	c.granted = 0
	s.countDriverSegment(g.Pool, 1)
	s.Counters.NumDeviceAlloc++
	if g.Size >= s.Config.MaxSplitSize {
		s.Counters.OversizeSegments++
	}
	s.allocFoundBlock(c, place{at, 0})
}

// isWholeSegment reports whether the block at a place is free and a whole plain segment,
// which can be released.
func (s *State) isWholeSegment(p place) bool {
	return !s.Segments[p.segment].Expandable && len(s.Segments[p.segment].Blocks) == 1 && s.at(p).State == spec.Inactive
}

// driverFree releases whole segments to the driver.
func (s *State) driverFree(addresses ...spec.Ptr) {
	for _, address := range addresses {
		s.driverCall(callFree)
		i := slices.IndexFunc(s.Segments, func(g Segment) bool { return g.Address == address })
		s.Counters.NumDeviceFree++
		s.countDriverSegment(s.Segments[i].Pool, -1)
		s.returnMemory(spec.Range{Ptr: address, Bytes: s.Segments[i].Size})
		for j := range s.Streams {
			if x := &s.Streams[j]; s.FreeWaits {
				x.completeTo(x.launched())
			}
		}
		if s.Segments[i].Size >= s.Config.MaxSplitSize {
			s.Counters.OversizeSegments--
		}
		s.Segments = slices.Delete(s.Segments, i, i+1)
	}
}
