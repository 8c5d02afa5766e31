package bounded

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/spec"
)

// Streams differ in their names only. The order of names decides in which order
// events are looked at, but not what comes of it: blocks become free in one action,
// and one free block is made of neighbours whichever of them came first.

// Variants implements Mirror: all ways to exchange the streams, but the one that
// exchanges none.
func (c *CachingAllocator) Variants(s *model.State, yield func(*model.State)) {
	c.permute(slices.Clone(c.Streams), 0, func(names []spec.Stream) {
		if !slices.Equal(names, c.Streams) {
			variant := s.Rename(func(stream spec.Stream) spec.Stream {
				return names[slices.Index(c.Streams, stream)]
			})
			yield(&variant)
		}
	})
}

// permute tells all orders of the names from one on.
func (c *CachingAllocator) permute(names []spec.Stream, from int, yield func([]spec.Stream)) {
	if from == len(names) {
		yield(names)
		return
	}
	for i := from; i < len(names); i++ {
		names[from], names[i] = names[i], names[from]
		c.permute(names, from+1, yield)
		names[from], names[i] = names[i], names[from]
	}
}
