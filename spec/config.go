package spec

import (
	"math"
	"math/bits"
)

// NumDivisions is the number of size buckets of roundup_power2_divisions.
const NumDivisions = 16

// Unlimited is the value of Config.MaxSplitSize when any block may be split.
const Unlimited uint64 = math.MaxUint64

// Config is what PYTORCH_ALLOC_CONF sets, in force. Sizes are in bytes. The zero
// value is not useful; start from DefaultConfig.
type Config struct {
	// MaxSplitSize: blocks and requests of this size and more are oversize. Oversize
	// blocks serve only oversize requests, which take them whole, unless
	// ExpandableSegments is on. Unlimited by default.
	MaxSplitSize uint64
	// MaxNonSplitRounding: an oversize request takes a cached block only if it is
	// less than this much larger.
	MaxNonSplitRounding uint64
	// GarbageCollectionThreshold is a fraction of the memory limit above which
	// old cached blocks are returned before new ones are obtained; 0 is off.
	GarbageCollectionThreshold float64
	// Divisions says into how many steps the range between two powers of two is
	// divided when a request in it is rounded, for sizes of
	// Geometry.DivisionsStart * 2^i; 0 and 1 are off.
	Divisions [NumDivisions]uint64
	// ExpandableSegments: obtain memory by mapping pages into reserved ranges.
	ExpandableSegments bool
	// ReleaseLockOnMalloc: the device's mutex is not held during Driver.Malloc and
	// PoolMemory.Allocate (release_lock_on_cudamalloc).
	ReleaseLockOnMalloc bool
	// LargeSegmentSize is the segment for requests in (SmallSize, MinLargeAlloc),
	// and the page of a large expandable segment.
	LargeSegmentSize uint64
	// GraphCaptureRecordStreamReuse: a block freed during a capture may be reused
	// in it when the graph's order allows.
	GraphCaptureRecordStreamReuse bool
	// PerProcessMemoryFraction limits each device when the allocator is made; it
	// has no effect later.
	PerProcessMemoryFraction float64

	// ThrowOnOOM: a request whose new segment would bring the reserved memory above the
	// device's total ends at once, with nothing released and nothing tried again (throw_on_cudamalloc_oom).
	ThrowOnOOM bool
	// Reserve is the size of the address range of an expandable segment, and ReserveByClass
	// that of a segment for a stream of a class that it names.
	Reserve        Reserve
	ReserveByClass ReserveByClass

	// Pinned is for the allocator of pinned host memory, which is not in this module;
	// the settings are checked and kept.
	Pinned PinnedConfig

	// Last is the string that was applied last.
	Last string
}

// PinnedConfig are the settings that concern pinned host memory only.
type PinnedConfig struct {
	UseCUDAHostRegister  bool
	NumRegisterThreads   uint64
	UseBackgroundThreads bool
	ReserveSegmentSize   uint64 // bytes
	FreeCatchAll         bool
	MaxRoundThreshold    uint64 // bytes; larger requests are not rounded to a power of two
	MaxCachedSize        uint64 // bytes; larger blocks are not kept
}

// DefaultConfig is what is in force when nothing is set.
func DefaultConfig(g Geometry) Config {
	return Config{
		MaxSplitSize:             Unlimited,
		MaxNonSplitRounding:      g.LargeBuffer,
		LargeSegmentSize:         g.LargeBuffer,
		PerProcessMemoryFraction: 1,
		Pinned:                   PinnedConfig{NumRegisterThreads: 1, MaxRoundThreshold: Unlimited, MaxCachedSize: Unlimited},
	}
}

// DivisionsFor is the number of divisions for a request of size bytes (size is at
// least 1): that of the power of two at or below the size, or of the nearest bucket.
// 0 and 1 mean that the setting is off for such sizes.
func (c *Config) DivisionsFor(size uint64, g Geometry) uint64 {
	bucket := bits.Len64(size) - bits.Len64(g.DivisionsStart)
	return c.Divisions[min(max(bucket, 0), NumDivisions-1)]
}
