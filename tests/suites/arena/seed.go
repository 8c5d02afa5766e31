package arena

import (
	"slices"

	"gaugeblock/spec"
)

// Seed is the cache as it was found. It has no errors: what makes no sense is ignored.
type Seed struct{ cache }

// NewSeed is an empty cache.
func NewSeed() *Seed { return &Seed{newCache()} }

// CacheFree takes a block back.
func (s *Seed) CacheFree(i int) {
	if !s.isOut(i) {
		return
	}
	b := &s.list[i]
	b.allocated = false
	b.streamUses = nil
	s.allocated -= min(b.size, s.allocated)
	prev, next := b.prev, b.next
	s.tryMerge(i, prev)
	s.tryMerge(i, next)
	s.put(i)
}

// RecordStreamOnBlock notes that a stream uses a block. A stream was a number here,
// whichever device it is of.
func (s *Seed) RecordStreamOnBlock(i int, stream spec.Stream) {
	u := use{stream: stream}
	if i >= 0 && i < len(s.list) && !slices.Contains(s.list[i].streamUses, u) {
		s.list[i].streamUses = append(s.list[i].streamUses, u)
	}
}

// EmptyCache forgets what is cached, so that the user can return the pieces.
func (s *Seed) EmptyCache() {
	s.small.blocks.Clear()
	s.large.blocks.Clear()
	s.reserved = s.allocated
}
