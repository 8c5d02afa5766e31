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
// An ordered tree from a library takes several times as long (BenchmarkFreeList,
// docs/benchmarks.md); a test compares the two.
type blockSet struct {
	bySize  bool
	streams []*streamBlocks // ascending by stream
}

func (s *blockSet) key(b *block) blockKey {
	if s.bySize {
		return blockKey{b.size, b.ptr}
	}
	return blockKey{0, b.ptr}
}

// insert adds a block.
func (s *blockSet) insert(b *block) {
	s.blocksOf(b.segment.stream).insert(entry{s.key(b), b})
}

// remove takes a block out.
func (s *blockSet) remove(b *block) {
	at, found := s.find(b.segment.stream)
	if !found {
		panic("alloc: a block is removed that is not there")
	}
	s.streams[at].remove(entry{s.key(b), b})
}

// lowerBound is the first block of the stream whose key is not below the given one, or nil.
func (s *blockSet) lowerBound(stream spec.Stream, key blockKey) *block {
	if at, found := s.find(stream); found {
		return s.streams[at].lowerBound(key)
	}
	return nil
}

// predecessor is the last block of the stream whose key is below the given one, or nil.
func (s *blockSet) predecessor(stream spec.Stream, key blockKey) *block {
	if at, found := s.find(stream); found {
		return s.streams[at].predecessor(key)
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
		for _, blocks := range s.streams {
			for b := range blocks.all() {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// find is the index of a stream, or where it would be.
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

// blocksOf is the stream's blocks. If the stream is not there it is added, and if there is no
// room for it the streams without blocks are dropped. Until then they are kept, since
// they are likely to have blocks again.
func (s *blockSet) blocksOf(stream spec.Stream) *streamBlocks {
	at, found := s.find(stream)
	if !found {
		if len(s.streams) == cap(s.streams) {
			s.streams = slices.DeleteFunc(s.streams, (*streamBlocks).isEmpty)
			at, _ = s.find(stream)
		}
		s.streams = slices.Insert(s.streams, at, &streamBlocks{stream: stream})
	}
	return s.streams[at]
}
