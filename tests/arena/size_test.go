package arena

// Sizes, as in the seed, in bytes.
const (
	minBlockSize  = 512
	smallSize     = 1 << 20  // the largest rounded size of the small pool
	smallBuffer   = 2 << 20  // the segment size of the small pool
	minLargeAlloc = 10 << 20 // requests from here on get a segment of their size
	largeBuffer   = 20 << 20 // smaller ones get a segment of this size
	roundLarge    = 2 << 20
)

// roundSize is the block size of a request. Close to 2^64 it wraps around, as in the
// seed.
func roundSize(size uint64) uint64 {
	if size < minBlockSize {
		return minBlockSize
	}
	return (size + minBlockSize - 1) &^ (minBlockSize - 1)
}

// DriverAllocSize is the size of the segment to allocate when CacheFind finds no block.
func DriverAllocSize(size uint64) uint64 {
	switch rounded := roundSize(size); {
	case rounded <= smallSize:
		return smallBuffer
	case rounded < minLargeAlloc:
		return largeBuffer
	default:
		return (rounded + roundLarge - 1) &^ (roundLarge - 1)
	}
}
