package conformance

import "gaugeblock/spec"

// Sizes that are of interest: those at which an allocator decides otherwise, and
// one more and one less. Uniform sizes would hardly ever meet one.

// boundaries are sizes in bytes at which something changes, for a geometry and for
// what settings may have made of it.
func boundaries(g spec.Geometry, settings ...uint64) []uint64 {
	list := []uint64{
		g.MinBlock, 2 * g.MinBlock, 3 * g.MinBlock,
		g.SmallSize, g.SmallSize / 2, g.SmallBuffer - g.MinBlock,
		g.MinLargeAlloc, g.LargeBuffer, g.LargeBuffer - g.SmallSize,
		g.MinLargeAlloc + g.RoundLarge, g.LargeBuffer / 2,
		3 * g.SmallSize, 5 * g.SmallSize,
	}
	return append(list, settings...)
}

// size draws the bytes of a request, at most most.
func size(c Choices, g spec.Geometry, near []uint64, most uint64) uint64 {
	var n uint64
	switch c.Intn(8) {
	case 0: // anything small
		n = 1 + uint64(c.Intn(int(g.SmallSize)))
	case 1: // a multiple of the smallest block, or next to one
		n = beside(c, g.MinBlock*uint64(1+c.Intn(64)))
	case 2: // a power of two, or next to one
		n = beside(c, uint64(1)<<c.Intn(26))
	case 3: // anything large
		n = g.SmallSize * uint64(1+c.Intn(40))
	default:
		n = beside(c, pick(c, near))
	}
	return min(n, most)
}

// beside is the size itself or one of its neighbours, a byte or a block away.
func beside(c Choices, n uint64) uint64 {
	switch c.Intn(5) {
	case 0:
		return n - 1
	case 1:
		return n + 1
	case 2:
		return n + 512
	}
	return n
}
