package alloc

import (
	"iter"
	"slices"

	"gaugeblock/spec"
)

// streamLists are the lists of the blocks of one stream in a block pool: those free and
// mapped, in order of size and address, so that the first that is not below a size is the best fit,
// and the unmapped ones of expandable segments, in order of address.
//
// Contract: the lists of a block pool are a map from each free block to its place in that order
// (TestStreamLists compares the two; the rest of this file need not be read). A block is in at most
// one list. Its size and address do not change while it is. A list
// panics where it finds that the contract was broken (a block is there already, or is not there),
// because all later results would be wrong.
type streamLists struct {
	stream   spec.Stream
	segments int // of the stream in the block pool; each has a pointer to the lists
	free     sizeClasses
	unmapped blockList
}

// blocksByStream are the lists of a block pool.
type blocksByStream struct {
	handles []spec.Stream // ascending, adjacent for searching
	lists   []*streamLists
}

// of is the lists of a stream, or nil if the block pool has no segment of the stream.
func (s *blocksByStream) of(stream spec.Stream) *streamLists {
	if len(s.lists) > 0 && s.lists[0].stream == stream {
		return s.lists[0]
	}
	return s.search(stream)
}

func (s *blocksByStream) search(stream spec.Stream) *streamLists {
	if at, found := s.find(stream); found {
		return s.lists[at]
	}
	return nil
}

// addSegment makes the lists of a new segment's stream, if there are none, and ties the
// segment to them.
func (s *blocksByStream) addSegment(segment *segment) {
	at, found := s.find(segment.stream)
	if !found {
		s.handles = slices.Insert(s.handles, at, segment.stream)
		s.lists = slices.Insert(s.lists, at, &streamLists{stream: segment.stream})
	}
	segment.lists = s.lists[at]
	segment.lists.segments++
}

// removeSegment drops the lists of a segment's stream if it was the last segment.
func (s *blocksByStream) removeSegment(segment *segment) {
	segment.lists.segments--
	if segment.lists.segments == 0 {
		at, _ := s.find(segment.stream)
		s.handles = deleteAt(s.handles, at)
		s.lists = deleteAt(s.lists, at)
	}
}

// find is the index of a stream, or where it would be.
func (s *blocksByStream) find(stream spec.Stream) (int, bool) {
	const few = 16 // among which a search in order is the fastest
	low, high := 0, len(s.handles)
	for high-low > few {
		middle := int(uint(low+high) / 2)
		if s.handles[middle] < stream {
			low = middle + 1
		} else {
			high = middle
		}
	}
	for ; low < len(s.handles); low++ {
		if s.handles[low] >= stream {
			return low, s.handles[low] == stream
		}
	}
	return low, false
}

// allFree yields the free, mapped blocks by stream, size and address. The lists must not
// change meanwhile.
func (s *blocksByStream) allFree() iter.Seq[*block] {
	return s.all(func(l *streamLists) iter.Seq[*block] { return l.free.all() })
}

// allUnmapped yields the unmapped blocks by stream and address.
func (s *blocksByStream) allUnmapped() iter.Seq[*block] {
	return s.all(func(l *streamLists) iter.Seq[*block] { return l.unmapped.all() })
}

func (s *blocksByStream) all(of func(*streamLists) iter.Seq[*block]) iter.Seq[*block] {
	return func(yield func(*block) bool) {
		for _, l := range s.lists {
			for b := range of(l) {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// insertUnmapped puts an unmapped block into its list.
func (b *block) insertUnmapped() { b.segment.lists.unmapped.insert(entry{blockKey{ptr: b.ptr}, b}) }

// removeFromList takes a block that is free, mapped or not, out of its list.
func (b *block) removeFromList() {
	if b.mapped {
		b.segment.lists.free.remove(b)
	} else {
		b.removeUnmapped()
	}
}

func (b *block) removeUnmapped() { b.segment.lists.unmapped.remove(entry{blockKey{ptr: b.ptr}, b}) }
