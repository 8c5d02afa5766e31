package fakegpu

import (
	"slices"

	"gaugeblock/spec"
)

// The real driver's addresses.
//
// The driver takes address space in chunks, multiples of 32 MiB, and cuts pieces
// from them. What follows was read off an H200 (driver 580); testdata/addresses
// has recordings that this policy reproduces to the last address, and it also
// reproduces those of the golden traces wherever what the process did before the
// recording is known.
//
//   - A piece goes into the newest chunk that has a hole for it, there into the
//     smallest such hole, of equal ones the lowest. It takes the low end.
//   - Without one, a new chunk is made, just large enough, at the upper end of
//     the highest gap in the address space that is larger (not: large enough)
//     than it; below all others at first, therefore.
//   - A chunk without pieces is given back.
//   - Ranges are reserved in another region, at multiples of 32 MiB, in the lowest
//     gap that is large enough. Something of the driver's lies at 1 TiB.
//
// Pieces are counted in steps of 2 MiB. The real driver packs smaller ones
// together; no caching allocator asks for such.

// RealLike is the address policy of the real driver.
func RealLike(dev spec.Device) AddressPolicy {
	return newRealLike(uint64(dev) << 48)
}

// RealLikeWithin is that policy in another part of the address space: chunks end where it ends,
// and ranges begin where it begins.
func RealLikeWithin(window spec.Range) AddressPolicy {
	return &realLike{top: window.End(), lowest: window.Ptr}
}

const (
	chunkBytes    = 32 * spec.MiB
	pieceStep     = 2 * spec.MiB
	realRangeStep = 32 * spec.MiB

	// Where chunks end and ranges begin, typical of what was seen, and what lies
	// in the way of ranges.
	realTop       = 0x7f5440000000
	realRangeBase = 0x302000000
	realTaken     = 0x10000000000
	realTakenSize = 64 * spec.MiB
)

type realLike struct {
	top    spec.Ptr
	newest []*chunk // in order of age, the newest last
	byAddr []*chunk // in order of address
	ranges []spec.Range
	lowest spec.Ptr // where ranges begin
}

// chunk is a stretch of address space that the driver cuts pieces from.
type chunk struct {
	area  spec.Range
	holes []spec.Range // what is not in use, by address, never adjacent
}

func newRealLike(offset uint64) *realLike {
	return &realLike{
		top:    spec.Ptr(offset + realTop),
		lowest: spec.Ptr(offset + realRangeBase),
		ranges: []spec.Range{{Ptr: spec.Ptr(offset + realTaken), Bytes: realTakenSize}},
	}
}

func (r *realLike) Place(bytes uint64) spec.Ptr {
	bytes = roundUp(bytes, pieceStep)
	for _, c := range slices.Backward(r.newest) {
		if i := c.bestHole(bytes); i >= 0 {
			return c.take(i, bytes)
		}
	}
	return r.newChunk(roundUp(bytes, chunkBytes)).take(0, bytes)
}

func (r *realLike) Vacate(ptr spec.Ptr, bytes uint64) {
	i, found := slices.BinarySearchFunc(r.byAddr, ptr, func(c *chunk, p spec.Ptr) int {
		switch {
		case c.area.End() <= p:
			return -1
		case c.area.Ptr > p:
			return 1
		}
		return 0
	})
	if !found {
		return
	}
	c := r.byAddr[i]
	c.giveBack(spec.Range{Ptr: ptr, Bytes: roundUp(bytes, pieceStep)})
	if c.holes[0] != c.area {
		return
	}
	r.byAddr = slices.Delete(r.byAddr, i, i+1)
	age := slices.Index(r.newest, c)
	r.newest = slices.Delete(r.newest, age, age+1)
}

// newChunk makes a chunk at the upper end of the highest gap that is larger.
func (r *realLike) newChunk(bytes uint64) *chunk {
	end, at := r.top, len(r.byAddr)
	for ; at > 0; at-- {
		below := r.byAddr[at-1].area
		if uint64(end-below.End()) > bytes {
			break
		}
		end = below.Ptr
	}
	area := spec.Range{Ptr: end - spec.Ptr(bytes), Bytes: bytes}
	c := &chunk{area: area, holes: []spec.Range{area}}
	r.byAddr = slices.Insert(r.byAddr, at, c)
	r.newest = append(r.newest, c)
	return c
}

// bestHole finds the smallest hole that is large enough, the lowest of equal
// ones; -1 if there is none.
func (c *chunk) bestHole(bytes uint64) int {
	best := -1
	for i, h := range c.holes {
		if h.Bytes >= bytes && (best < 0 || h.Bytes < c.holes[best].Bytes) {
			best = i
		}
	}
	return best
}

// take cuts bytes off the low end of a hole.
func (c *chunk) take(hole int, bytes uint64) spec.Ptr {
	h := &c.holes[hole]
	ptr := h.Ptr
	h.Ptr += spec.Ptr(bytes)
	h.Bytes -= bytes
	if h.Bytes == 0 {
		c.holes = slices.Delete(c.holes, hole, hole+1)
	}
	return ptr
}

// giveBack makes a hole, merging it with its neighbours.
func (c *chunk) giveBack(r spec.Range) {
	i, _ := slices.BinarySearchFunc(c.holes, r.Ptr, byBase)
	c.holes = slices.Insert(c.holes, i, r)
	if i+1 < len(c.holes) && r.End() == c.holes[i+1].Ptr {
		c.holes[i].Bytes += c.holes[i+1].Bytes
		c.holes = slices.Delete(c.holes, i+1, i+2)
	}
	if i > 0 && c.holes[i-1].End() == r.Ptr {
		c.holes[i-1].Bytes += c.holes[i].Bytes
		c.holes = slices.Delete(c.holes, i, i+1)
	}
}

func (r *realLike) PlaceRange(bytes uint64) spec.Ptr {
	base, at := r.lowest, 0
	for ; at < len(r.ranges); at++ {
		if uint64(r.ranges[at].Ptr-base) >= bytes {
			break
		}
		base = spec.Ptr(roundUp(uint64(r.ranges[at].End()), realRangeStep))
	}
	r.ranges = slices.Insert(r.ranges, at, spec.Range{Ptr: base, Bytes: bytes})
	return base
}

func (r *realLike) VacateRange(ptr spec.Ptr, _ uint64) {
	if i, found := slices.BinarySearchFunc(r.ranges, ptr, byBase); found {
		r.ranges = slices.Delete(r.ranges, i, i+1)
	}
}

// byBase orders ranges by where they begin.
func byBase(r spec.Range, ptr spec.Ptr) int {
	switch {
	case r.Ptr < ptr:
		return -1
	case r.Ptr > ptr:
		return 1
	}
	return 0
}
