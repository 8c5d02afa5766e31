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
func (s *State) held() uint64 {
	bytes := s.reserved()
	for _, c := range s.Calls {
		if c.segment != 0 {
			bytes += c.segmentSize
		}
	}
	return bytes
}

// testLimit decides whether the driver is asked at all. The last attempt, after
// everything has been released, counts as a retry before its test.
func (s *State) testLimit(c *Call) {
	if c.attempt == 3 {
		s.Counts.Retries++
	}
	c.next = ask
	if s.Limited && s.reserved()+c.segmentSize > s.Limit {
		c.next = refused
	}
}

// askDriver is the driver's part: it grants what the device has memory for.
func (s *State) askDriver(c *Call, g DriverResults) {
	c.asked++
	if s.expands() {
		c.next = refused
		if p, found := s.grow(c, g); found {
			s.giveOut(c, p)
		}
		return
	}
	c.next = answered
	if c.asked <= g.Refusals || s.held()+c.segmentSize > s.Memory {
		return
	}
	if g.From != 0 {
		g.Segment = s.lowestHole(g.From, c.segmentSize)
	}
	if err := s.checkAddress(g.Segment, c.segmentSize); err != nil {
		c.failure, c.next = err, done
		return
	}
	c.segment = g.Segment
}

// lowestHole is the lowest address from one on at which so much is free.
func (s *State) lowestHole(from spec.Ptr, bytes uint64) spec.Ptr {
	for moved := true; moved; {
		moved = false
		for _, held := range s.heldRanges() {
			if held.Overlaps(spec.Range{Ptr: from, Bytes: bytes}) {
				from, moved = held.Ptr+spec.Ptr(held.Bytes), true
			}
		}
	}
	return from
}

// heldRanges are the addresses that are taken.
func (s *State) heldRanges() (ranges []spec.Range) {
	for _, g := range s.Segments {
		ranges = append(ranges, spec.Range{Ptr: g.Address, Bytes: g.Size})
	}
	for _, c := range s.Calls {
		if c.segment != 0 {
			ranges = append(ranges, spec.Range{Ptr: c.segment, Bytes: c.segmentSize})
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
	for _, c := range s.Calls {
		if c.segment != 0 && granted.Overlaps(spec.Range{Ptr: c.segment, Bytes: c.segmentSize}) {
			return &AddressError{fmt.Sprintf("%v has just been granted, at %v", base, c.segment)}
		}
	}
	return nil
}

// register takes a granted segment into the books, as one free block, and gives
// that out.
func (s *State) register(c *Call) {
	g := Segment{Address: c.segment, Size: c.segmentSize, Stream: c.Stream, Pool: c.pool, PoolKind: s.kind(c)}
	g.Blocks = []Block{{Address: c.segment, Size: c.segmentSize, State: spec.Inactive}}
	at := s.insert(g)
	c.segment = 0
	s.Counts.DriverMallocs++
	if g.Size >= s.Config.MaxSplitSize {
		s.Counts.OversizeSegments++
	}
	s.giveOut(c, place{at, 0})
}

// whole reports whether the block at a place is free and a whole plain segment: one
// that the driver could have back.
func (s *State) whole(p place) bool {
	return !s.Segments[p.segment].Expandable && len(s.Segments[p.segment].Blocks) == 1 && s.at(p).State == spec.Inactive
}

// giveBack returns segments, each of them whole, to the driver.
func (s *State) giveBack(addresses ...spec.Ptr) {
	for _, address := range addresses {
		i := slices.IndexFunc(s.Segments, func(g Segment) bool { return g.Address == address })
		s.Counts.DriverFrees++
		if s.Segments[i].Size >= s.Config.MaxSplitSize {
			s.Counts.OversizeSegments--
		}
		s.Segments = slices.Delete(s.Segments, i, i+1)
	}
}
