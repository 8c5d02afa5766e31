package arena

// Sizes, as in the seed, in bytes.
const (
	minBlockSize  = 512
	smallSize     = 1 << 20  // the largest rounded size of the small pool
	smallBuffer   = 2 << 20  // what the small pool asks the driver for
	minLargeAlloc = 10 << 20 // from here on the driver is asked for the request
	largeBuffer   = 20 << 20 // and below for this
	roundLarge    = 2 << 20
)

// roundSize is the size of the block for a request. Close to 2^64 it wraps around, as
// in the seed.
func roundSize(size uint64) uint64 {
	if size < minBlockSize {
		return minBlockSize
	}
	return (size + minBlockSize - 1) &^ (minBlockSize - 1)
}

// DriverAllocSize is what the user asks the driver for when CacheFind has nothing.
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
