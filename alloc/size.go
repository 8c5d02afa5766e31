package alloc

import (
	"math/bits"

	"gaugeblock/spec"
)

// Sizes. A request is rounded twice: to the size of the block that will serve it,
// and, if the driver must be asked, to the size of the segment.
//
//	rounded size            segment
//	up to SmallSize         SmallBuffer            (1 MiB → 2 MiB)
//	below MinLargeAlloc     large segment size     (10 MiB → 20 MiB, or as set)
//	from there on           next RoundLarge        (2 MiB steps)

// roundSize is the block size for a request of that many bytes (at least 1).
//
// With divisions set for sizes like this one, and more than one step above the
// smallest block, the range between the two powers of two around the size is cut
// into that many steps and the size goes up to the next one. Fewer different
// sizes mean more reuse and more waste.
func roundSize(bytes uint64, cfg *spec.Config, g *spec.Geometry) uint64 {
	if bytes < g.MinBlock {
		return g.MinBlock
	}
	divisions := cfg.DivisionsFor(bytes, *g)
	if divisions > 1 && bytes > g.MinBlock*divisions {
		return roundToDivision(bytes, divisions)
	}
	return roundUp(bytes, g.MinBlock)
}

// roundToDivision goes up to the next of the steps into which divisions (a power
// of two) cuts the range between the powers of two around size. A power of two
// stays. A step of less than a byte means the next power of two.
func roundToDivision(size, divisions uint64) uint64 {
	if size&(size-1) == 0 {
		return size
	}
	floor := uint64(1) << (bits.Len64(size) - 1)
	step := floor >> (bits.Len64(divisions) - 1)
	if step == 0 {
		return floor << 1
	}
	return roundUp(size, step)
}

// segmentSize is how much to ask the driver for when a block of that size is
// needed.
func segmentSize(size uint64, cfg *spec.Config, g *spec.Geometry) uint64 {
	switch {
	case size <= g.SmallSize:
		return g.SmallBuffer
	case size < g.MinLargeAlloc:
		return cfg.LargeSegmentSize
	}
	return roundUp(size, g.RoundLarge)
}

// roundUp is the next multiple of step that is not below n.
func roundUp(n, step uint64) uint64 { return (n + step - 1) / step * step }
