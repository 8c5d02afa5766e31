package alloc

import (
	"math/bits"

	"gaugeblock/spec"
)

// Sizes. A request is rounded up to the size of a block. If the driver must be asked, that
// is rounded up to the size of a segment.
//
//	rounded size            segment
//	up to SmallSize         SmallBuffer            (1 MiB → 2 MiB)
//	below MinLargeAlloc     large segment size     (10 MiB → 20 MiB, or as set)
//	from there on           next RoundLarge        (2 MiB steps)

// roundSize is the block size for a request of that many bytes (at least 1).
//
// If divisions are set for the size, and the size is larger than so many smallest blocks,
// the range between the neighbouring powers of two is divided into that many steps, and
// the size is rounded up to the next step. Fewer different sizes mean more reuse and more
// unused bytes.
func roundSize(bytes uint64, cfg *spec.Config, g *spec.Geometry) uint64 {
	if bytes < g.MinBlock {
		return g.MinBlock
	}
	divisions := cfg.DivisionsFor(bytes, *g)
	if divisions > 1 && bytes > g.MinBlock*divisions {
		return roundupPower2NextDivision(bytes, divisions)
	}
	return roundUp(bytes, g.MinBlock)
}

// roundToDivision rounds size up to the next of the steps into which the range between
// the neighbouring powers of two is divided. divisions is a power of two. A power of two
// stays as it is. A step of less than a byte means the next power of two.
func roundupPower2NextDivision(size, divisions uint64) uint64 {
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

// roundUp is the next multiple of step that is not below n.
func roundUp(n, step uint64) uint64 { return (n + step - 1) / step * step }
