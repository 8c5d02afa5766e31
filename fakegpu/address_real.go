package fakegpu

import (
	"slices"

	"github.com/tidwall/btree"

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
	return &realLike{gaps: below(window.End()), lowest: window.Ptr}
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
	byAge  chunksByAge
	byAddr btree.Map[spec.Ptr, *chunk] // by where they begin
	// between the chunks, by address, never adjacent; the first is below all chunks
	gaps   []spec.Range
	ranges []spec.Range
	lowest spec.Ptr // where ranges begin
}

// chunk is a stretch of address space that the driver cuts pieces from.
type chunk struct {
	area  spec.Range
	holes []spec.Range // what is not in use, by address, never adjacent
	age   int          // its index in chunksByAge
}

// below is one gap, up to an address.
func below(top spec.Ptr) []spec.Range { return []spec.Range{{Bytes: uint64(top)}} }

func newRealLike(offset uint64) *realLike {
	return &realLike{
		gaps:   below(spec.Ptr(offset + realTop)),
		lowest: spec.Ptr(offset + realRangeBase),
		ranges: []spec.Range{{Ptr: spec.Ptr(offset + realTaken), Bytes: realTakenSize}},
	}
}

func (r *realLike) Place(bytes uint64) spec.Ptr {
	bytes = roundUp(bytes, pieceStep)
	c := r.byAge.newest(bytes)
	if c == nil {
		c = r.newChunk(roundUp(bytes, chunkBytes))
	}
	ptr := c.take(c.bestHole(bytes), bytes)
	r.byAge.update(c)
	return ptr
}

func (r *realLike) Vacate(ptr spec.Ptr, bytes uint64) {
	var c *chunk
	r.byAddr.Descend(ptr, func(_ spec.Ptr, below *chunk) bool {
		c = below
		return false
	})
	if c == nil || c.area.End() <= ptr {
		return
	}
	c.giveBack(spec.Range{Ptr: ptr, Bytes: roundUp(bytes, pieceStep)})
	if c.holes[0] != c.area {
		r.byAge.update(c)
		return
	}
	r.byAddr.Delete(c.area.Ptr)
	r.byAge.remove(c)
	r.gaps = merged(r.gaps, c.area)
}

// newChunk makes a chunk at the upper end of the highest gap that is larger.
func (r *realLike) newChunk(bytes uint64) *chunk {
	gap := len(r.gaps) - 1
	for gap > 0 && r.gaps[gap].Bytes <= bytes {
		gap--
	}
	area := spec.Range{Ptr: r.gaps[gap].End() - spec.Ptr(bytes), Bytes: bytes}
	r.gaps[gap].Bytes -= bytes
	c := &chunk{area: area, holes: []spec.Range{area}}
	r.byAddr.Set(area.Ptr, c)
	r.byAge.add(c)
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

// giveBack makes a hole.
func (c *chunk) giveBack(r spec.Range) { c.holes = merged(c.holes, r) }

// merged adds a range to ranges in order of address, merging it with its neighbours.
func merged(ranges []spec.Range, r spec.Range) []spec.Range {
	i, _ := slices.BinarySearchFunc(ranges, r.Ptr, byBase)
	ranges = slices.Insert(ranges, i, r)
	if i+1 < len(ranges) && r.End() == ranges[i+1].Ptr {
		ranges[i].Bytes += ranges[i+1].Bytes
		ranges = slices.Delete(ranges, i+1, i+2)
	}
	if i > 0 && ranges[i-1].End() == r.Ptr {
		ranges[i-1].Bytes += ranges[i].Bytes
		ranges = slices.Delete(ranges, i, i+1)
	}
	return ranges
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
