package model

import (
	"cmp"
	"slices"

	"gaugeblock/upstream"
)

// Free blocks of one size can be in the order in which their segments were made, or in that in
// which their Block objects were. The numbers say nothing but this order: those of a state are
// 1, 2, ... without a gap, so that two states are equal if their orders are.

// nextSegment is the number of a new segment.
func (s *State) nextSegment() int {
	if s.Rules.Ties != upstream.TiesBySegment {
		return 0
	}
	last := 0
	for _, g := range s.Segments {
		last = max(last, g.Made)
	}
	return last + 1
}

// nextBlock is the number of a new Block object.
func (s *State) nextBlock() int {
	if s.Rules.Ties != upstream.TiesByBlock {
		return 0
	}
	last := 0
	for i := range s.Segments {
		for _, b := range s.Segments[i].Blocks {
			last = max(last, b.Made)
		}
	}
	return last + 1
}

// renumber closes the gaps that segments and blocks have left that are gone.
func (s *State) renumber() {
	var numbers []*int
	for i := range s.Segments {
		g := &s.Segments[i]
		switch s.Rules.Ties {
		case upstream.TiesBySegment:
			numbers = append(numbers, &g.Made)
		case upstream.TiesByBlock:
			for j := range g.Blocks {
				numbers = append(numbers, &g.Blocks[j].Made)
			}
		}
	}
	slices.SortFunc(numbers, func(a, b *int) int { return cmp.Compare(*a, *b) })
	for i, n := range numbers {
		*n = i + 1
	}
}

// Number makes the numbers of blocks whose Made is any number in that order, which is all that
// another account of the allocator knows.
func (s *State) Number() {
	for i := range s.Segments {
		g := &s.Segments[i]
		for j := range g.Blocks {
			if s.Rules.Ties == upstream.TiesBySegment {
				g.Made = g.Blocks[j].Made
			}
			if s.Rules.Ties != upstream.TiesByBlock {
				g.Blocks[j].Made = 0
			}
		}
	}
	s.renumber()
}
