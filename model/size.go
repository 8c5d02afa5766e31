package model

import "gaugeblock/spec"

// Round is the size of the block that serves a request of so many bytes, at least
// 1: the next multiple of MinBlock, or, where divisions are set for sizes like
// this one, the next of the steps between two powers of two.
func Round(bytes uint64, cfg spec.Config, g spec.Geometry) uint64 {
	divisions := cfg.DivisionsFor(bytes, g)
	switch {
	case bytes < g.MinBlock:
		return g.MinBlock
	case divisions > 1 && bytes > g.MinBlock*divisions:
		return nextDivision(bytes, divisions)
	}
	return nextMultiple(bytes, g.MinBlock)
}

// nextDivision is the first size not below bytes among the powers of two and the
// divisions-1 sizes at equal distances between each two of them. Where there is
// no room for so many, only the powers of two count.
func nextDivision(bytes, divisions uint64) uint64 {
	lower := uint64(1)
	for lower*2 <= bytes {
		lower *= 2
	}
	step := lower / divisions
	if step == 0 {
		step = lower
	}
	size := lower
	for size < bytes {
		size += step
	}
	return size
}

// SegmentSize is what the driver is asked for when a block of a rounded size is
// needed.
func SegmentSize(size uint64, cfg spec.Config, g spec.Geometry) uint64 {
	switch {
	case size <= g.SmallSize:
		return g.SmallBuffer
	case size < g.MinLargeAlloc:
		return cfg.LargeSegmentSize
	}
	return nextMultiple(size, g.RoundLarge)
}

func nextMultiple(n, step uint64) uint64 {
	if n%step == 0 {
		return n
	}
	return n - n%step + step
}
