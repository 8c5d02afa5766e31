package model

import (
	"fmt"
	"slices"

	"gaugeblock/spec"
)

// Memory comes from the driver in segments, against two bounds: the limit, which
// the allocator tests, and the memory of the device, which the driver does.

// reserved is what is registered. It is what counts against the limit.
func (s *State) reserved() (bytes uint64) {
	for _, g := range s.Segments {
		bytes += g.mapped()
	}
	return bytes
}

// held is what the driver has given: what is registered, and what has been granted
// to calls that have not come to registering it.
func (s *State) deviceUsed() uint64 {
	bytes := s.reserved()
	for _, c := range s.PendingMallocs {
		if c.granted != 0 {
			bytes += c.segmentSize
		}
	}
	return bytes
}

// testLimit decides whether the driver is asked at all. The last attempt, after
// everything has been released, counts as a retry before its test.
func (s *State) testLimit(c *PendingMalloc) {
	if c.attempt == 3 {
		s.Counters.NumAllocRetries++
	}
	c.stage = stageDriverMalloc
	if s.Limited && s.reserved()+c.segmentSize > s.Limit {
		c.stage = stageFailed
	}
}

// askDriver is the driver's part: it grants what the device has memory for.
func (s *State) driverMalloc(c *PendingMalloc, g DriverResults) {
	c.driverCalls++
	if s.expandable() {
		c.stage = stageFailed
		if p, found := s.allocExpandable(c, g); found {
			s.allocFoundBlock(c, p)
		}
		return
	}
	c.stage = stageRegister
	if c.driverCalls <= g.Refusals || s.deviceUsed()+c.segmentSize > s.Memory {
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
}

// lowestHole is the lowest address from one on at which so much is free.
func (s *State) lowestHole(from spec.Ptr, bytes uint64) spec.Ptr {
	for moved := true; moved; {
		moved = false
		for _, held := range s.usedRanges() {
			if held.Overlaps(spec.Range{Ptr: from, Bytes: bytes}) {
				from, moved = held.Ptr+spec.Ptr(held.Bytes), true
			}
		}
	}
	return from
}

// heldRanges are the addresses that are taken.
func (s *State) usedRanges() (ranges []spec.Range) {
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

// An AddressError says that no driver would have put a segment there. It is never
// the result of an allocator: what was given to the model cannot have happened.
type AddressError struct{ Reason string }

func (e *AddressError) Error() string { return "the driver grants a segment: " + e.Reason }

// checkAddress: any range will do that overlaps nothing held.
func (s *State) checkAddress(base spec.Ptr, bytes uint64) error {
	if base == 0 || uint64(base)%s.Geometry.MinBlock != 0 {
		return &AddressError{fmt.Sprintf("%v is not an address for one", base)}
	}
	granted := spec.Range{Ptr: base, Bytes: bytes}
	for _, g := range s.Segments {
		if granted.Overlaps(spec.Range{Ptr: g.Address, Bytes: g.Size}) {
			return &AddressError{fmt.Sprintf("%v is in use, by the segment at %v", base, g.Address)}
		}
	}
	for _, c := range s.PendingMallocs {
		if c.granted != 0 && granted.Overlaps(spec.Range{Ptr: c.granted, Bytes: c.segmentSize}) {
			return &AddressError{fmt.Sprintf("%v has just been granted, at %v", base, c.granted)}
		}
	}
	return nil
}

// register takes a granted segment into the books, as one free block, and gives
// that out.
func (s *State) registerSegment(c *PendingMalloc) {
	g := Segment{Address: c.granted, Size: c.segmentSize, Stream: c.Stream, Pool: c.pool, PoolKind: s.poolKind(c)}
	g.Blocks = []Block{{Address: c.granted, Size: c.segmentSize, State: spec.Inactive}}
	at := s.insertSegment(g)
	c.granted = 0
	s.Counters.NumDeviceAlloc++
	if g.Size >= s.Config.MaxSplitSize {
		s.Counters.OversizeSegments++
	}
	s.allocFoundBlock(c, place{at, 0})
}

// whole reports whether the block at a place is free and a whole plain segment: one
// that the driver could have back.
func (s *State) isWholeSegment(p place) bool {
	return !s.Segments[p.segment].Expandable && len(s.Segments[p.segment].Blocks) == 1 && s.at(p).State == spec.Inactive
}

// giveBack returns segments, each of them whole, to the driver.
func (s *State) driverFree(addresses ...spec.Ptr) {
	for _, address := range addresses {
		i := slices.IndexFunc(s.Segments, func(g Segment) bool { return g.Address == address })
		s.Counters.NumDeviceFree++
		if s.Segments[i].Size >= s.Config.MaxSplitSize {
			s.Counters.OversizeSegments--
		}
		s.Segments = slices.Delete(s.Segments, i, i+1)
	}
}
