package alloc

import (
	"iter"
	"math/bits"
	"slices"

	"gaugeblock/spec"
)

// Contract: a blockList is a set of blocks in the order of their keys. TestSizeClassesEqualTree and
// TestStreamLists compare it with a tree and a map; the rest of this file need not be read.

// A blockList is blocks in the order of their keys. It is divided into chunks, so that an
// insertion moves at most one chunk of entries. The keys that a search compares are adjacent
// in memory, while the nodes of a tree are not.
//
// Most lists are one chunk, the front. The front is empty only if the list is. A chunk is in
// descending order: most often the first block of a list is taken out, the best fit, and no
// entry is moved then.
type blockList struct {
	front chunk
	more  *moreChunks // nil until the front was full for the first time
}

// moreChunks is the chunks behind the front, ascending. None is empty.
type moreChunks struct {
	chunks []chunk
	firsts []blockKey // each chunk's first key, adjacent for searching
	spare  chunk      // an empty one, to be used again
}

// chunk is a part of a list, in descending order, at most chunkLimit long.
type chunk []entry

// entry is a block with its key beside it.
type entry struct {
	key   blockKey
	block *block
}

// blockKey orders blocks.
type blockKey struct {
	size  uint64 // bytes; 0 in a set that is ordered by address only
	order uint64 // what is before the address, see block.order
	ptr   spec.Ptr
}

func (k blockKey) less(o blockKey) bool { return k.below(o) != 0 }

// below is 1 if k is before o, else 0. It is the borrow of a subtraction of 192 bits, because
// the processor cannot predict how a search branches.
func (k blockKey) below(o blockKey) uint64 {
	_, borrow := bits.Sub64(uint64(k.ptr), uint64(o.ptr), 0)
	_, borrow = bits.Sub64(k.order, o.order, borrow)
	_, borrow = bits.Sub64(k.size, o.size, borrow)
	return borrow
}

// chunkLimit is the length of a full chunk. The longer chunks are, the fewer lists need several;
// the shorter, the fewer entries an insertion moves.
const chunkLimit = 128

// fewEntries is up to how many entries one loop is faster than a search and a copy: the processor
// predicts wrong only where the loop ends. Most blocks are inserted and removed near the end of a
// list: the lowest addresses are allocated first, and so most frees are there.
const fewEntries = 32

// insert adds a block.
func (l *blockList) insert(e entry) {
	if l.more == nil && len(l.front) < chunkLimit {
		l.front.insert(e)
	} else {
		l.insertIntoChunk(e)
	}
}

// insertIntoChunk adds a block to a list that has, or needs, several chunks.
func (l *blockList) insertIntoChunk(e entry) {
	c, n := l.chunkOf(e.key)
	if len(*c) == chunkLimit {
		l.splitChunk(c, n+1)
		c, _ = l.chunkOf(e.key)
	}
	c.insert(e)
}

// removeFirst takes a block out if it is the first and there are few. (Its entry stays behind the
// end: structs of blocks are used again, not collected.)
func (l *blockList) removeFirst(b *block) bool {
	front := l.front
	last := len(front) - 1
	if last < 0 || front[last].block != b || l.more != nil {
		return false
	}
	l.front = front[:last]
	return true
}

// remove takes a block out. For the first of the front no search is needed, unless the front has no
// other.
func (l *blockList) remove(e entry) {
	if l.more == nil || len(l.front) > 1 && l.front.first().block == e.block {
		l.front.remove(e)
	} else {
		l.removeFromChunk(e)
	}
}

// removeFromChunk takes a block out of a list that has had several chunks.
func (l *blockList) removeFromChunk(e entry) {
	c, n := l.chunkOf(e.key)
	c.remove(e)
	switch {
	case len(*c) > 0:
		if n >= 0 {
			l.more.firsts[n] = c.first().key
		}
	case n >= 0:
		l.more.spare = *c
		l.more.delete(n)
	case len(l.more.chunks) > 0:
		l.front, l.more.spare = l.more.chunks[0], l.front
		l.more.delete(0)
	}
}

// lowerBound is the first block whose key is not below the given one, or nil.
func (l *blockList) lowerBound(key blockKey) *block {
	c, n := l.chunkOf(key)
	if i := c.notBelow(key); i > 0 {
		return (*c)[i-1].block
	}
	if l.more != nil && n+1 < len(l.more.chunks) {
		return l.more.chunks[n+1].first().block
	}
	return nil
}

// predecessor is the last block whose key is below the given one, or nil.
func (l *blockList) predecessor(key blockKey) *block {
	c, n := l.chunkOf(key)
	if i := c.notBelow(key); i < len(*c) {
		return (*c)[i].block
	}
	if n >= 0 {
		return (*l.chunkAt(n - 1))[0].block
	}
	return nil
}

// first is the entry of the first block of a list that is not empty.
func (l *blockList) first() *entry { return l.front.first() }

// last is the last block of a list that is not empty.
func (l *blockList) last() *block {
	if l.more == nil {
		return l.front[0].block
	}
	return (*l.chunkAt(len(l.more.chunks) - 1))[0].block
}

// all yields every block in order. The list must not change meanwhile.
func (l *blockList) all() iter.Seq[*block] {
	return func(yield func(*block) bool) {
		chunks := []chunk{l.front}
		if l.more != nil {
			chunks = append(chunks, l.more.chunks...)
		}
		for _, c := range chunks {
			for _, e := range slices.Backward(c) {
				if !yield(e.block) {
					return
				}
			}
		}
	}
}

// chunkOf is the only chunk that may hold the key, the last one that does not begin above
// it, and its index in more: -1 for the front.
func (l *blockList) chunkOf(key blockKey) (*chunk, int) {
	if l.more == nil {
		return &l.front, -1
	}
	low := 0
	for n := len(l.more.firsts); n > 0; {
		half := (n + 1) / 2 // the answer is low to low+n
		low += half & (int(key.below(l.more.firsts[low+half-1])) - 1)
		n -= half
	}
	return l.chunkAt(low - 1), low - 1
}

// chunkAt is the chunk at an index of more: -1 for the front. It is at this address until a
// chunk is added or taken out.
func (l *blockList) chunkAt(n int) *chunk {
	if n < 0 {
		return &l.front
	}
	return &l.more.chunks[n]
}

// splitChunk moves the upper half of a full chunk into a new one, at an index of more. The upper
// half is in front.
func (l *blockList) splitChunk(full *chunk, at int) {
	const half = chunkLimit / 2
	if l.more == nil {
		l.more = new(moreChunks)
	}
	upper := l.more.spare
	if upper == nil {
		upper = make(chunk, 0, chunkLimit)
	}
	l.more.spare = nil
	upper = append(upper, (*full)[:half]...)
	copy(*full, (*full)[half:])
	clear((*full)[half:])
	*full = (*full)[:half]
	l.more.chunks = slices.Insert(l.more.chunks, at, upper)
	l.more.firsts = slices.Insert(l.more.firsts, at, upper.first().key)
}

func (m *moreChunks) delete(n int) {
	m.chunks = slices.Delete(m.chunks, n, n+1)
	m.firsts = slices.Delete(m.firsts, n, n+1)
}

// first is the entry of the first block, which is at the end.
func (c chunk) first() *entry { return &c[len(c)-1] }

// insert adds a block to a chunk that is not full. The entries of the blocks before it move up: a
// few one by one, more than that at once.
func (c *chunk) insert(e entry) {
	entries := append(*c, e)
	*c = entries
	i := len(entries) - 1
	far := max(0, i-fewEntries)
	for i > far && entries[i-1].key.less(e.key) {
		entries[i] = entries[i-1]
		i--
	}
	if i == far && i > 0 {
		i = entries[:far].notBelow(e.key)
		copy(entries[i+1:], entries[i:far])
	}
	if i > 0 && entries[i-1].key == e.key {
		panic("alloc: a block is inserted twice")
	}
	entries[i] = e
}

// remove takes a block out. The entries of the blocks before it move down. (A search for the key
// costs more, for most blocks are near the end.)
func (c *chunk) remove(e entry) {
	entries := *c
	last := len(entries) - 1
	i := last
	for i >= 0 && entries[i].block != e.block {
		i--
	}
	if i < 0 {
		panic("alloc: a block is removed that is not there")
	}
	copy(entries[i:], entries[i+1:])
	entries[last].block = nil
	*c = entries[:last]
}

// notBelow is the number of entries whose key is not below the given one. They are in front.
func (c chunk) notBelow(key blockKey) int {
	low := 0
	for n := len(c); n > 0; {
		half := (n + 1) / 2 // the answer is low to low+n
		low += half & (int(c[low+half-1].key.below(key)) - 1)
		n -= half
	}
	return low
}
