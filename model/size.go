package model

import "gaugeblock/spec"

// Round is the block size in bytes for a request of at least 1 byte: the next multiple
// of MinBlock, or, with roundup_power2_divisions for this size, the next division of
// the interval between two powers of two.
func Round(bytes uint64, cfg spec.Config, g spec.Geometry) uint64 { return round(bytes, &cfg, &g) }

// Round is the block size in bytes for a request in this state.
func (s *State) Round(bytes uint64) uint64 { return round(bytes, &s.Config, &s.Geometry) }

func round(bytes uint64, cfg *spec.Config, g *spec.Geometry) uint64 {
	divisions := divisionsFor(bytes, cfg, g)
	switch {
	case bytes < g.MinBlock:
		return g.MinBlock
	case divisions > 1 && bytes > g.MinBlock*divisions:
		return nextDivision(bytes, divisions)
	}
	return nextMultiple(bytes, g.MinBlock)
}

// divisionsFor is the number of divisions for a request. There is a bucket for each
// power of two from DivisionsStart on. Smaller requests are in the first bucket, and
// requests above the last power of two in the last.
func divisionsFor(bytes uint64, cfg *spec.Config, g *spec.Geometry) uint64 {
	bucket := 0
	for next := 2 * g.DivisionsStart; next <= bytes && bucket < len(cfg.Divisions)-1; next *= 2 {
		bucket++
	}
	return cfg.Divisions[bucket]
}

// nextDivision is the first size not below bytes among the powers of two and the
// divisions-1 sizes at equal distances between each two of them. If a distance would be
// less than one byte, only the powers of two count.
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

// SegmentSize is the size in bytes of a new segment for a block of a rounded size.
func SegmentSize(size uint64, cfg spec.Config, g spec.Geometry) uint64 {
	return segmentSize(size, &cfg, &g)
}

// SegmentSize is the size in bytes of a new segment in this state.
func (s *State) SegmentSize(size uint64) uint64 { return segmentSize(size, &s.Config, &s.Geometry) }

func segmentSize(size uint64, cfg *spec.Config, g *spec.Geometry) uint64 {
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
