package arena

import "gaugeblock/spec"

// cache is the part that was right: how a request is served.
type cache struct {
	blocks
	reserved, allocated uint64 // bytes
}

func newCache() cache { return cache{blocks: newBlocks()} }

// CacheFind allocates the smallest cached block of the stream that fits, and splits it.
func (c *cache) CacheFind(size uint64, stream spec.Stream) (index int, ok bool) {
	rounded := roundSize(size)
	i, ok := c.pool(rounded <= smallSize).findFreeBlock(stream, rounded)
	if !ok {
		return none, false
	}
	c.removeFree(i)
	c.allocate(i, rounded)
	return i, true
}

// CacheInsert adds a segment that the user allocated, and allocates a block for a request.
func (c *cache) CacheInsert(size, driverBytes uint64, ptr spec.Ptr, stream spec.Stream) (index int) {
	rounded := roundSize(size)
	i := c.add(block{
		size: driverBytes, ptr: ptr, stream: stream, prev: none, next: none, small: rounded <= smallSize,
	})
	c.reserved += driverBytes
	c.allocate(i, rounded)
	return i
}

func (c *cache) allocate(i int, rounded uint64) {
	if c.shouldSplit(i, rounded) {
		c.split(i, rounded)
	}
	c.list[i].allocated = true
	c.allocated += c.list[i].size
}

// isAllocated reports whether the block is allocated.
func (c *cache) isAllocated(i int) bool { return i >= 0 && i < len(c.list) && c.list[i].allocated }

// MemoryReserved is the reserved bytes.
func (c *cache) MemoryReserved() uint64 { return c.reserved }

// BlockCount is the length of the arena.
func (c *cache) BlockCount() int { return len(c.list) }
