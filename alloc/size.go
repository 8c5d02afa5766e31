package alloc

import (
	"math/bits"

	"gaugeblock/spec"
)

// Sizes. A request is rounded up to the size of a block (upstream: round_size). If a new
// segment is needed, that is rounded up to its size (get_allocation_size, alloc_size).
//
//	rounded size            segment
//	up to SmallSize         SmallBuffer            (up to 1 MiB: 2 MiB)
//	below MinLargeAlloc     large segment size     (below 10 MiB: 20 MiB, or as set)
//	from there on           next RoundLarge        (the next multiple of 2 MiB)

// roundSize is the block size for a request of that many bytes (at least 1).
//
// If more than one division is set for the size (roundup_power2_divisions), and the size is
// above MinBlock times the divisions, the range between the neighbouring powers of two is
// divided into that many steps, and the size is rounded up to the next step.
func roundSize(bytes uint64, cfg *spec.Config, g *spec.Geometry) uint64 {
	if bytes < g.MinBlock {
		return g.MinBlock
	}
	divisions := cfg.DivisionsFor(bytes, *g)
	if divisions > 1 && bytes > g.MinBlock*divisions {
		return roundupPower2NextDivision(bytes, divisions)
	}
	return alignUp(bytes, g.MinBlock)
}

// roundupPower2NextDivision rounds size up to the next of the steps into which the range
// between the neighbouring powers of two is divided. divisions is a power of two. A power of
// two is returned as it is. If a step would be less than a byte, the next power of two is.
func roundupPower2NextDivision(size, divisions uint64) uint64 {
	if size&(size-1) == 0 {
		return size
	}
	floor := uint64(1) << (bits.Len64(size) - 1)
	step := floor >> (bits.Len64(divisions) - 1)
	if step == 0 {
		return floor << 1
	}
	return alignUp(size, step)
}

// segmentSize is the size of a new segment for a block of that size.
func segmentSize(size uint64, cfg *spec.Config, g *spec.Geometry) uint64 {
	switch {
	case size <= g.SmallSize:
		return g.SmallBuffer
	case size < g.MinLargeAlloc:
		return cfg.LargeSegmentSize
	}
	return roundUp(size, g.RoundLarge)
}

// alignUp is roundUp for a step that is a power of two. It needs no division.
func alignUp(n, step uint64) uint64 { return (n + step - 1) &^ (step - 1) }

// roundUp is the next multiple of step that is not below n.
func roundUp(n, step uint64) uint64 { return (n + step - 1) / step * step }
