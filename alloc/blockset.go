package alloc

import (
	"iter"
	"slices"

	"gaugeblock/spec"
)

// A blockSet has blocks of one block pool, ordered by stream handle and then by key. The
// set of the free blocks has keys (size, address), so that the lower bound of a size is
// the best fit. The set of the unmapped blocks has keys (0, address).
//
// Contract: a block is in at most one set. Its stream, size and address do not change
// while it is. insert and remove panic where they find that the contract was broken (a
// block that is there already, or is not there), because all later results would be wrong.
//
// The blocks of a stream are a sorted list in chunks, so that an insertion moves at most
// one chunk of entries. The keys that a search compares are adjacent in memory, while the
// nodes of a tree are not. An ordered tree from a library takes 4.2, 3.4 and 2.4 times as
// long at 10, 1,000 and 30,000 free blocks (BenchmarkFreeList, docs/benchmarks.md); a test
// compares the two.
type blockSet struct {
	bySize  bool
	streams []streamBlocks // ascending by stream
}

// streamBlocks is the blocks of one stream in a blockSet. It has at least one chunk. A
// chunk is empty only if the stream has no blocks, and then it is the only one.
type streamBlocks struct {
	stream spec.Stream
	chunks []chunk    // ascending
	firsts []blockKey // each chunk's first key, adjacent for searching; that of the first chunk is not used
}

// chunk is a part of a list, in order, at most chunkLimit long.
type chunk []entry

// entry is a block with its key beside it.
type entry struct {
	key   blockKey
	block *block
}

// blockKey orders the blocks of one stream.
type blockKey struct {
	size uint64 // bytes; 0 in a set that is ordered by address only
	ptr  spec.Ptr
}

func (k blockKey) less(o blockKey) bool {
	return k.size < o.size || (k.size == o.size && k.ptr < o.ptr)
}

// chunkLimit balances the two searches: a chunk is about as long as the list of chunks
// when a stream has some thousands of free blocks.
const chunkLimit = 64

func (s *blockSet) key(b *block) blockKey {
	if s.bySize {
		return blockKey{b.size, b.ptr}
	}
	return blockKey{0, b.ptr}
}

// insert adds a block.
func (s *blockSet) insert(b *block) {
	list := s.listFor(b.segment.stream)
	e := entry{s.key(b), b}
	c := list.chunkOf(e.key)
	i := list.chunks[c].lowerBound(e.key)
	if i < len(list.chunks[c]) && list.chunks[c][i].key == e.key {
		panic("alloc: a block is inserted twice")
	}
	if len(list.chunks[c]) == chunkLimit {
		list.splitChunk(c)
		if half := len(list.chunks[c]); i > half {
			c, i = c+1, i-half
		}
	}
	list.chunks[c].insertAt(i, e)
	list.firsts[c] = list.chunks[c][0].key
}

// remove takes a block out.
func (s *blockSet) remove(b *block) {
	at, found := s.find(b.segment.stream)
	if !found {
		panic("alloc: a block is removed that is not there")
	}
	list := &s.streams[at]
	key := s.key(b)
	c := list.chunkOf(key)
	i := list.chunks[c].lowerBound(key)
	if i == len(list.chunks[c]) || list.chunks[c][i].block != b {
		panic("alloc: a block is removed that is not there")
	}
	list.chunks[c].deleteAt(i)
	switch {
	case len(list.chunks[c]) > 0:
		list.firsts[c] = list.chunks[c][0].key
	case len(list.chunks) > 1:
		list.chunks = slices.Delete(list.chunks, c, c+1)
		list.firsts = slices.Delete(list.firsts, c, c+1)
	}
}

// lowerBound is the first block of the stream whose key is not below the given one, or nil.
func (s *blockSet) lowerBound(stream spec.Stream, key blockKey) *block {
	at, found := s.find(stream)
	if !found {
		return nil
	}
	list := &s.streams[at]
	c := list.chunkOf(key)
	i := list.chunks[c].lowerBound(key)
	if i < len(list.chunks[c]) {
		return list.chunks[c][i].block
	}
	if c+1 < len(list.chunks) {
		return list.chunks[c+1][0].block
	}
	return nil
}

// predecessor is the last block of the stream whose key is below the given one, or nil.
func (s *blockSet) predecessor(stream spec.Stream, key blockKey) *block {
	at, found := s.find(stream)
	if !found {
		return nil
	}
	list := &s.streams[at]
	c := list.chunkOf(key)
	i := list.chunks[c].lowerBound(key)
	switch {
	case i > 0:
		return list.chunks[c][i-1].block
	case c > 0:
		before := list.chunks[c-1]
		return before[len(before)-1].block
	}
	return nil
}

// after is the block that follows b among those of its stream, or nil.
func (s *blockSet) after(b *block) *block {
	key := s.key(b)
	key.ptr++
	return s.lowerBound(b.segment.stream, key)
}

// before is the block that precedes b among those of its stream, or nil.
func (s *blockSet) before(b *block) *block { return s.predecessor(b.segment.stream, s.key(b)) }

// all yields every block in order. The set must not change meanwhile.
func (s *blockSet) all() iter.Seq[*block] {
	return func(yield func(*block) bool) {
		for i := range s.streams {
			for _, chunk := range s.streams[i].chunks {
				for j := range chunk {
					if !yield(chunk[j].block) {
						return
					}
				}
			}
		}
	}
}

// find is the index of the stream's list, or where it would be.
func (s *blockSet) find(stream spec.Stream) (int, bool) {
	const few = 8 // among which a search in order is the fastest
	low, high := 0, len(s.streams)
	for high-low > few {
		middle := int(uint(low+high) / 2)
		if s.streams[middle].stream < stream {
			low = middle + 1
		} else {
			high = middle
		}
	}
	for ; low < len(s.streams); low++ {
		if s.streams[low].stream >= stream {
			return low, s.streams[low].stream == stream
		}
	}
	return low, false
}

// listFor is the stream's list. If there is none it is made, and if there is no room for
// it the empty lists are dropped. Until then an empty list is kept, since it is likely to
// be filled again.
func (s *blockSet) listFor(stream spec.Stream) *streamBlocks {
	at, found := s.find(stream)
	if !found {
		if len(s.streams) == cap(s.streams) {
			s.streams = slices.DeleteFunc(s.streams, func(l streamBlocks) bool { return len(l.chunks[0]) == 0 })
			at, _ = s.find(stream)
		}
		empty := streamBlocks{stream, []chunk{make(chunk, 0, chunkLimit)}, make([]blockKey, 1)}
		s.streams = slices.Insert(s.streams, at, empty)
	}
	return &s.streams[at]
}

// chunkOf is the index of the only chunk that may hold the key: the last one that
// does not begin above it.
func (l *streamBlocks) chunkOf(key blockKey) int {
	low, high := 1, len(l.firsts) // the first chunk above the key is in [low, high]
	for low < high {
		middle := int(uint(low+high) / 2)
		if key.less(l.firsts[middle]) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low - 1
}

// splitChunk splits a full chunk into two.
func (l *streamBlocks) splitChunk(c int) {
	const half = chunkLimit / 2
	full := l.chunks[c]
	upper := append(make(chunk, 0, chunkLimit), full[half:]...)
	clear(full[half:])
	l.chunks[c] = full[:half]
	l.chunks = slices.Insert(l.chunks, c+1, upper)
	l.firsts = slices.Insert(l.firsts, c+1, upper[0].key)
}

// insertAt and deleteAt move the entries after i. (The functions of package slices do
// the same at half the speed.)
func (c *chunk) insertAt(i int, e entry) {
	*c = append(*c, entry{})
	copy((*c)[i+1:], (*c)[i:])
	(*c)[i] = e
}

func (c *chunk) deleteAt(i int) {
	last := len(*c) - 1
	copy((*c)[i:], (*c)[i+1:])
	(*c)[last] = entry{}
	*c = (*c)[:last]
}

// lowerBound is the index of the first entry whose key is not below the given one.
func (c chunk) lowerBound(key blockKey) int {
	low, high := 0, len(c)
	for low < high {
		middle := int(uint(low+high) / 2)
		if c[middle].key.less(key) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}
