package alloc

import (
	"iter"
	"math/bits"
)

// Contract: sizeClasses are a set of blocks in order of size and address, with bestFit, lowerBound
// and predecessor. TestSizeClassesEqualTree compares them with an ordered tree; the rest of this
// file need not be read.

// sizeClasses are blocks in order of size and address, divided by size: into octaves (between two
// powers of two), and each octave into classes. Bits say which have blocks. So a search finds the
// class in a few steps, and compares only keys of that class. (The structure is known as two-level
// segregated fit. Here a class is in order, so that the best fit is exact.) An ordered tree from a
// library takes several times as long (BenchmarkFreeList, docs/benchmarks.md); a test compares the
// two.
//
//	octaves   ...  512       1024      2048   ...
//	classes        [64 lists][64 lists]       in steps of 8 B, 16 B, ...
type sizeClasses struct {
	used     uint64      // a bit for each octave that has blocks
	byOctave [64]*octave // nil until an octave has had a block
}

// classBits is the number of bits, behind the highest of a size, that choose the class.
const classBits = 6

// An octave is the sizes with the same highest bit.
type octave struct {
	used    uint64 // a bit for each class that has blocks
	classes [1 << classBits]blockList
}

// classOf is the place of a size. It rises with the size. (The rotation moves the bits behind the
// highest to the end.)
func classOf(size uint64) (octave, class uint) {
	octave = uint(bits.Len64(size|1)-1) % 64
	return octave, uint(bits.RotateLeft64(size, classBits-int(octave))) % (1 << classBits)
}

// entryOf is a block with its key.
func entryOf(b *block) entry { return entry{blockKey{b.size, b.order(), b.ptr}, b} }

// insert adds a block. If there are few in its class, the entries of those before it move up one by
// one.
func (s *sizeClasses) insert(b *block) {
	o, c := classOf(b.size)
	in := s.byOctave[o]
	if in == nil {
		in = new(octave)
		s.byOctave[o] = in
	}
	in.used |= 1 << c
	s.used |= 1 << o
	b.class = uint16(o<<classBits | c)
	list := &in.classes[c]
	i := len(list.front)
	if i >= fewEntries || i >= cap(list.front) || list.more != nil {
		list.insert(entryOf(b))
		return
	}
	key := entryOf(b).key
	entries := list.front[:i+1]
	list.front = entries
	for ; i > 0; i-- {
		if before := &entries[i-1]; !before.key.less(key) {
			if before.key == key {
				panic("alloc: a block is inserted twice")
			}
			break
		}
		entries[i] = entries[i-1]
	}
	entries[i] = entry{key, b}
}

// remove takes a block out. Most often it is the first of its class.
func (s *sizeClasses) remove(b *block) {
	o, c := b.class>>classBits%64, b.class%(1<<classBits)
	in := s.byOctave[o]
	if in == nil {
		panic("alloc: a block is removed that is not there")
	}
	if !in.classes[c].removeFirst(b) {
		s.removeOther(b)
		return
	}
	in.clearIfEmpty(c)
	if in.used == 0 {
		s.used &^= 1 << o
	}
}

// removeOther takes a block out that is not the first of few. (In remove, what is needed after the
// call would be kept in memory, which costs more than the rest.)
func (s *sizeClasses) removeOther(b *block) {
	o, c := b.class>>classBits%64, b.class%(1<<classBits)
	in := s.byOctave[o]
	in.classes[c].remove(entryOf(b))
	in.clearIfEmpty(c)
	if in.used == 0 {
		s.used &^= 1 << o
	}
}

// clearIfEmpty clears the bit, which is set, of a class that has no blocks.
func (in *octave) clearIfEmpty(c uint16) {
	in.used ^= uint64(oneIf(len(in.classes[c%(1<<classBits)].front) == 0)) << (c % (1 << classBits))
}

// bestFit is the first block of at least that size, or nil.
func (s *sizeClasses) bestFit(size uint64) *block {
	list := s.listFrom(classOf(size))
	if list == nil {
		return nil
	}
	if first := list.first(); first.key.size >= size {
		return first.block
	}
	// The class has a size below and perhaps one above.
	if list.more == nil && len(list.front) < fewEntries {
		return s.bestFitOfFew(list.front, size)
	}
	return s.lowerBound(blockKey{size: size})
}

// bestFitOfFew is bestFit if the class of the size has few blocks, of which the first is too small.
func (s *sizeClasses) bestFitOfFew(blocks chunk, size uint64) *block {
	for i := len(blocks) - 2; i >= 0; i-- {
		if blocks[i].key.size >= size {
			return blocks[i].block
		}
	}
	o, c := classOf(size)
	return s.firstFrom(o, c+1)
}

// listFrom is the first list that has blocks from a class on, or nil. The class may be one above
// the last of the octave: then the search begins in the next one.
func (s *sizeClasses) listFrom(o, c uint) *blockList {
	if s.used>>o&1 == 0 || s.byOctave[o].used>>c == 0 {
		above := s.used & (^uint64(1) << o)
		if above == 0 {
			return nil
		}
		o, c = uint(bits.TrailingZeros64(above)), 0
	}
	in := s.byOctave[o]
	c += uint(bits.TrailingZeros64(in.used >> c))
	return &in.classes[c%(1<<classBits)]
}

// firstFrom is the first block from a class on, or nil. The class is as for listFrom.
func (s *sizeClasses) firstFrom(o, c uint) *block {
	if list := s.listFrom(o, c); list != nil {
		return list.first().block
	}
	return nil
}

// after is the block that follows b, which is in the set, or nil.
func (s *sizeClasses) after(b *block) *block {
	o, c := uint(b.class>>classBits)%64, uint(b.class%(1<<classBits))
	if list := &s.byOctave[o].classes[c]; len(list.front) > 1 || list.more != nil {
		return s.lowerBound(blockKey{b.size, b.order(), b.ptr + 1})
	}
	return s.firstFrom(o, c+1)
}

// before is the block that precedes b, or nil.
func (s *sizeClasses) before(b *block) *block { return s.predecessor(entryOf(b).key) }

// lowerBound is the first block whose key is not below the given one, or nil.
func (s *sizeClasses) lowerBound(key blockKey) *block {
	o, c := classOf(key.size)
	if s.used>>o&1 != 0 && s.byOctave[o].used>>c&1 != 0 {
		if b := s.byOctave[o].classes[c].lowerBound(key); b != nil {
			return b
		}
		c++
	}
	return s.firstFrom(o, c)
}

// predecessor is the last block whose key is below the given one, or nil.
func (s *sizeClasses) predecessor(key blockKey) *block {
	o, c := classOf(key.size)
	if s.used>>o&1 != 0 {
		in := s.byOctave[o]
		if in.used>>c&1 != 0 {
			if b := in.classes[c].predecessor(key); b != nil {
				return b
			}
		}
		if below := in.used & (1<<c - 1); below != 0 {
			return in.classes[bits.Len64(below)-1].last()
		}
	}
	below := s.used & (1<<o - 1)
	if below == 0 {
		return nil
	}
	in := s.byOctave[bits.Len64(below)-1]
	return in.classes[bits.Len64(in.used)-1].last()
}

// all yields every block in order. It must not change meanwhile.
func (s *sizeClasses) all() iter.Seq[*block] {
	return func(yield func(*block) bool) {
		for octaves := s.used; octaves != 0; octaves &= octaves - 1 {
			in := s.byOctave[bits.TrailingZeros64(octaves)]
			for classes := in.used; classes != 0; classes &= classes - 1 {
				for b := range in.classes[bits.TrailingZeros64(classes)].all() {
					if !yield(b) {
						return
					}
				}
			}
		}
	}
}
