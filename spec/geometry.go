package spec

import "fmt"

// Geometry is upstream's size constants (kMinBlockSize and so on), in bytes, as
// variables: the same code runs with PyTorch's sizes, and on a model device of a few
// dozen bytes.
type Geometry struct {
	MinBlock       uint64 // kMinBlockSize: rounded sizes are multiples of it, unless divisions are set
	SmallSize      uint64 // kSmallSize: largest rounded size that a small pool serves
	SmallBuffer    uint64 // kSmallBuffer: segment of a small pool; page of a small expandable segment
	MinLargeAlloc  uint64 // kMinLargeAlloc: from here on a segment is the request, rounded up to RoundLarge
	LargeBuffer    uint64 // kLargeBuffer: segment for (SmallSize, MinLargeAlloc), unless the settings say otherwise
	RoundLarge     uint64 // kRoundLarge: granularity of segments for MinLargeAlloc and more
	DivisionsStart uint64 // sizes below its double are in the first bucket of roundup_power2_divisions
	MaxRequest     uint64 // a request of this size or more is out of memory at once
	MiB            uint64 // the unit of settings whose key ends in _mb
}

// Sizes in bytes.
const (
	KiB uint64 = 1 << 10
	MiB uint64 = 1 << 20
	GiB uint64 = 1 << 30
	EiB uint64 = 1 << 60
)

// DefaultGeometry is PyTorch's.
func DefaultGeometry() Geometry {
	return Geometry{
		MinBlock:       512,
		SmallSize:      1 * MiB,
		SmallBuffer:    2 * MiB,
		MinLargeAlloc:  10 * MiB,
		LargeBuffer:    20 * MiB,
		RoundLarge:     2 * MiB,
		DivisionsStart: 1 * MiB,
		MaxRequest:     EiB,
		MiB:            MiB,
	}
}

// Validate reports the first relation between the sizes that does not hold. All of
// upstream's constants satisfy them.
func (g Geometry) Validate() error {
	switch {
	case !isPowerOfTwo(g.MinBlock):
		return fmt.Errorf("geometry: MinBlock %d is not a power of two", g.MinBlock)
	case g.SmallSize < g.MinBlock || g.SmallSize%g.MinBlock != 0:
		return fmt.Errorf("geometry: SmallSize %d is not a positive multiple of MinBlock %d", g.SmallSize, g.MinBlock)
	case g.SmallBuffer < g.SmallSize || g.SmallBuffer%g.MinBlock != 0:
		return fmt.Errorf("geometry: SmallBuffer %d cannot hold SmallSize %d in whole blocks", g.SmallBuffer, g.SmallSize)
	case g.MinLargeAlloc <= g.SmallSize:
		return fmt.Errorf("geometry: MinLargeAlloc %d is not above SmallSize %d", g.MinLargeAlloc, g.SmallSize)
	case g.LargeBuffer < g.MinLargeAlloc || g.LargeBuffer%g.MinBlock != 0:
		return fmt.Errorf("geometry: LargeBuffer %d cannot hold requests below MinLargeAlloc %d in whole blocks", g.LargeBuffer, g.MinLargeAlloc)
	case g.RoundLarge == 0 || g.RoundLarge%g.MinBlock != 0:
		return fmt.Errorf("geometry: RoundLarge %d is not a positive multiple of MinBlock %d", g.RoundLarge, g.MinBlock)
	case !isPowerOfTwo(g.DivisionsStart):
		return fmt.Errorf("geometry: DivisionsStart %d is not a power of two", g.DivisionsStart)
	case g.MaxRequest == 0:
		return fmt.Errorf("geometry: MaxRequest is zero")
	case g.MiB == 0:
		return fmt.Errorf("geometry: MiB is zero")
	}
	return nil
}

// PoolKind is the kind of the block pool that serves a rounded size in bytes
// (upstream's get_pool chooses it together with the pool).
func (g *Geometry) PoolKind(size uint64) PoolKind {
	if size <= g.SmallSize {
		return SmallPool
	}
	return LargePool
}

func isPowerOfTwo(n uint64) bool { return n != 0 && n&(n-1) == 0 }
