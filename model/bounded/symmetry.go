package bounded

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/spec"
)

// States that differ only in the numbers of streams are symmetric. The numbers decide the
// order in which events are processed, but not the result: the blocks become free in one
// action, and neighbours are merged in whatever order they become free.

// Variants implements Module: the states after all permutations of the streams except the
// identity.
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

// permute yields all permutations of the names from an index on.
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
