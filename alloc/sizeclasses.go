package alloc

import (
	"iter"
	"math/bits"
)

// sizeClasses are blocks in order of size and address, divided by size: into octaves (between two powers
// of two), and each octave into classes. Bits say which have blocks. So a search finds
// the class in a few steps, and compares only keys of that class. (The structure is known as
// two-level segregated fit. Here a class is in order, so that the best fit is exact.) An ordered
// tree from a library takes several times as long (BenchmarkFreeList, docs/benchmarks.md); a test
// compares the two.
//
//	octaves   ...  512       1024      2048   ...
//	classes        [32 lists][32 lists]       in steps of 16 B, 32 B, ...
type sizeClasses struct {
	used     uint64      // a bit for each octave that has blocks
	byOctave [64]*octave // nil until an octave has had a block
}

// classBits is the number of bits, behind the highest of a size, that choose the class.
const classBits = 5

// An octave is the sizes with the same highest bit.
type octave struct {
	used    uint32 // a bit for each class that has blocks
	classes [1 << classBits]blockList
}

// classOf is the place of a size. It rises with the size.
func classOf(size uint64) (octave, class uint) {
	zeros := uint(bits.LeadingZeros64(size|1)) % 64
	return 63 - zeros, uint(size<<zeros>>(63-classBits)) % (1 << classBits)
}

// entryOf is a block with its key.
func entryOf(b *block) entry { return entry{blockKey{b.size, b.ptr}, b} }

// insert adds a block.
func (s *sizeClasses) insert(b *block) {
	o, c := classOf(b.size)
	in := s.byOctave[o]
	if in == nil {
		in = new(octave)
		s.byOctave[o] = in
	}
	if list := &in.classes[c]; in.used>>c&1 != 0 || !list.insertAlone(entryOf(b)) {
		list.insert(entryOf(b))
	}
	in.used |= 1 << c
	s.used |= 1 << o
}

// remove takes a block out.
func (s *sizeClasses) remove(b *block) {
	o, c := classOf(b.size)
	in := s.byOctave[o]
	if in == nil {
		panic("alloc: a block is removed that is not there")
	}
	list := &in.classes[c]
	if !list.removeAlone(b) {
		list.remove(entryOf(b))
	}
	if list.isEmpty() {
		in.used &^= 1 << c
		if in.used == 0 {
			s.used &^= 1 << o
		}
	}
}

// after is the block that follows b, or nil.
func (s *sizeClasses) after(b *block) *block { return s.lowerBound(blockKey{b.size, b.ptr + 1}) }

// before is the block that precedes b, or nil.
func (s *sizeClasses) before(b *block) *block { return s.predecessor(blockKey{b.size, b.ptr}) }

// lowerBound is the first block whose key is not below the given one, or nil.
func (s *sizeClasses) lowerBound(key blockKey) *block {
	o, c := classOf(key.size)
	if s.used>>o&1 != 0 {
		in := s.byOctave[o]
		if in.used>>c&1 != 0 {
			if b := in.classes[c].lowerBound(key); b != nil {
				return b
			}
		}
		if above := in.used & (^uint32(1) << c); above != 0 {
			return in.classes[bits.TrailingZeros32(above)].first()
		}
	}
	above := s.used & (^uint64(1) << o)
	if above == 0 {
		return nil
	}
	in := s.byOctave[bits.TrailingZeros64(above)]
	return in.classes[bits.TrailingZeros32(in.used)].first()
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
			return in.classes[bits.Len32(below)-1].last()
		}
	}
	below := s.used & (1<<o - 1)
	if below == 0 {
		return nil
	}
	in := s.byOctave[bits.Len64(below)-1]
	return in.classes[bits.Len32(in.used)-1].last()
}

// all yields every block in order. It must not change meanwhile.
func (s *sizeClasses) all() iter.Seq[*block] {
	return func(yield func(*block) bool) {
		for octaves := s.used; octaves != 0; octaves &= octaves - 1 {
			in := s.byOctave[bits.TrailingZeros64(octaves)]
			for classes := in.used; classes != 0; classes &= classes - 1 {
				for b := range in.classes[bits.TrailingZeros32(classes)].all() {
					if !yield(b) {
						return
					}
				}
			}
		}
	}
}
