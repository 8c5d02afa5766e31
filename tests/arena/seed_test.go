package arena

import (
	"slices"

	"gaugeblock/spec"
)

// Seed is the cache as it was found. It has no errors: misuse is ignored.
type Seed struct{ cache }

// NewSeed is an empty cache.
func NewSeed() *Seed { return &Seed{newCache()} }

// CacheFree frees a block.
func (s *Seed) CacheFree(i int) {
	if !s.isAllocated(i) {
		return
	}
	b := &s.list[i]
	b.allocated = false
	b.streamUses = nil
	s.allocated -= min(b.size, s.allocated)
	prev, next := b.prev, b.next
	s.tryMerge(i, prev)
	s.tryMerge(i, next)
	s.insertFree(i)
}

// RecordStreamOnBlock records that a stream uses a block. A stream is a number here,
// without its device.
func (s *Seed) RecordStreamOnBlock(i int, stream spec.Stream) {
	u := streamUse{stream: stream}
	if i >= 0 && i < len(s.list) && !slices.Contains(s.list[i].streamUses, u) {
		s.list[i].streamUses = append(s.list[i].streamUses, u)
	}
}

// EmptyCache forgets the cached blocks, so that the user can free the segments.
func (s *Seed) EmptyCache() {
	s.small.blocks.Clear()
	s.large.blocks.Clear()
	s.reserved = s.allocated
}
