package bounded

import (
	"gaugeblock/model"
	"gaugeblock/spec"
)

// What properties say of sizes. They say it with numbers, and ask no rule of the model.

// roundedUp is the least positive multiple of a step that is not below n.
func roundedUp(n, step uint64) uint64 { return max(1, (n+step-1)/step) * step }

// blockFor is the size of the block that a request needs.
func (b *Bounds) blockFor(bytes uint64) uint64 {
	return blockOf(bytes, b.Geometry.MinBlock, b.Config.Divisions[0])
}

// blockIn is the same in a state.
func blockIn(s *model.State, bytes uint64) uint64 {
	return blockOf(bytes, s.Geometry.MinBlock, s.Config.Divisions[0])
}

// blockOf is the size of the block that a request needs: a multiple of MinBlock, or, for larger
// requests, a power of two or one of the sizes that divide the interval between two of them.
func blockOf(bytes, minBlock, divisions uint64) uint64 {
	if bytes <= minBlock*divisions || divisions == 0 {
		return roundedUp(bytes, minBlock)
	}
	for !isDivision(bytes, divisions) {
		bytes++
	}
	return bytes
}

// isDivision reports whether a size is p and some of the p/divisions, for a power of two.
func isDivision(n, divisions uint64) bool {
	for p := uint64(1); p <= n; p *= 2 {
		if n*divisions%p == 0 && n <= 2*p {
			return true
		}
	}
	return false
}

// kindFor is the kind of pool that serves a request.
func (b *Bounds) kindFor(bytes uint64) spec.PoolKind {
	if b.blockFor(bytes) <= b.Geometry.SmallSize {
		return spec.SmallPool
	}
	return spec.LargePool
}

// segmentFor is the size of the plain segment for a request.
func (b *Bounds) segmentFor(bytes uint64) uint64 {
	g, size := b.Geometry, b.blockFor(bytes)
	switch {
	case size <= g.SmallSize:
		return g.SmallBuffer
	case size < g.MinLargeAlloc:
		return g.LargeBuffer
	}
	return roundedUp(size, g.RoundLarge)
}

// pagesFor is the size of the pages that a request needs, if all are to be mapped.
func (b *Bounds) pagesFor(bytes uint64) uint64 {
	if b.kindFor(bytes) == spec.SmallPool {
		return roundedUp(b.blockFor(bytes), b.Geometry.SmallBuffer)
	}
	return roundedUp(b.blockFor(bytes), b.Geometry.LargeBuffer)
}

// NeededFor is the memory that there must be room for if nothing is cached: a segment, or pages.
// (The limit is tested by the segment, also where pages are mapped.)
func (b *Bounds) NeededFor(bytes uint64) uint64 {
	if b.Config.ExpandableSegments {
		return max(b.segmentFor(bytes), b.pagesFor(bytes))
	}
	return b.segmentFor(bytes)
}

// room is the memory that can be granted: of the device, and within the limit.
func (b *Bounds) room() uint64 { return min(b.Limit, b.Memory) }
