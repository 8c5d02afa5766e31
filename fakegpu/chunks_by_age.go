package fakegpu

// chunksByAge finds the newest chunk that has a hole of a size, in logarithmic time: there can
// be tens of thousands, each with a hole that is too small.
//
// largest is a complete binary tree: node i has the children 2i and 2i+1, and the root is
// node 1. The leaves are the chunks in order of age, and each node has the size in bytes of the
// largest hole below it.
type chunksByAge struct {
	chunks  []*chunk // the newest last; nil where one is gone
	largest []uint64 // 2*leaves nodes
	live    int      // chunks that are not gone
}

// leaves is how many chunks the tree has room for.
func (a *chunksByAge) leaves() int { return len(a.largest) / 2 }

// add adds a chunk that is newer than all others.
func (a *chunksByAge) add(c *chunk) {
	if len(a.chunks) == a.leaves() {
		a.rebuild()
	}
	c.age = len(a.chunks)
	a.chunks = append(a.chunks, c)
	a.live++
	a.update(c)
}

// rebuild makes room, without the chunks that are gone.
func (a *chunksByAge) rebuild() {
	leaves := 16
	for leaves < 2*a.live {
		leaves *= 2
	}
	old := a.chunks
	*a = chunksByAge{chunks: make([]*chunk, 0, leaves), largest: make([]uint64, 2*leaves)}
	for _, c := range old {
		if c != nil {
			a.add(c)
		}
	}
}

// remove removes a chunk.
func (a *chunksByAge) remove(c *chunk) {
	a.chunks[c.age] = nil
	a.live--
	a.set(c.age, 0)
}

// update is called when the holes of a chunk have changed.
func (a *chunksByAge) update(c *chunk) {
	largest := uint64(0)
	for _, h := range c.holes {
		largest = max(largest, h.Bytes)
	}
	a.set(c.age, largest)
}

// set sets a leaf, and the nodes above it.
func (a *chunksByAge) set(leaf int, largest uint64) {
	i := a.leaves() + leaf
	a.largest[i] = largest
	for i /= 2; i > 0; i /= 2 {
		a.largest[i] = max(a.largest[2*i], a.largest[2*i+1])
	}
}

// newest is the newest chunk with a hole of this size, which is more than 0, or nil.
func (a *chunksByAge) newest(bytes uint64) *chunk {
	if a.live == 0 || a.largest[1] < bytes {
		return nil
	}
	i := 1
	for i < a.leaves() {
		i *= 2
		if a.largest[i+1] >= bytes {
			i++
		}
	}
	return a.chunks[i-a.leaves()]
}
