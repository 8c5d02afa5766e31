package bounded

import (
	"gaugeblock/model"
	"gaugeblock/spec"
)

// Key implements explore.Specification. It has a byte for each number that text.go writes
// and that does not follow from others; a list is its length and its elements. What else
// the model has (the requested size of free blocks, counters) has no effect on later
// steps, and is left out.
func (c *CachingAllocator) Key(to []byte, s *model.State) []byte {
	to = append(to, byte(len(s.Segments)))
	for i := range s.Segments {
		to = segmentKey(to, &s.Segments[i])
	}
	for _, stream := range c.Streams {
		to = streamKey(to, s, onDevice(stream))
	}
	return truthKey(to, s)
}

func segmentKey(to []byte, g *model.Segment) []byte {
	to = append(to, byte(toUnits(g.Address)), byte(g.Stream), byte(poolNumber(g.Pool)), byte(g.PoolKind), byte(len(g.Blocks)))
	for _, b := range g.Blocks {
		requested := byte(b.RequestedSize)
		if b.State == spec.Inactive {
			requested = 0
		}
		to = append(to, byte(b.Size), byte(b.State)|flag(b.Unmapped)<<7, requested, streamMask(b.StreamUses))
	}
	return to
}

// streamKey is the pending work of a stream and its events.
func streamKey(to []byte, s *model.State, id spec.DeviceStream) []byte {
	stream := s.StreamOf(id)
	to = append(to, byte(len(stream.Work)))
	for _, w := range stream.Work {
		to = append(to, byte(toUnits(w.Ptr)), byte(w.Bytes))
	}
	at := len(to)
	to = append(to, 0)
	for _, e := range s.Events {
		if e.Stream == id {
			to[at]++
			to = append(to, byte(toUnits(e.Block)), byte(max(0, e.After-stream.Completed)))
		}
	}
	return to
}

func flag(is bool) byte {
	if is {
		return 1
	}
	return 0
}

func streamMask(streams []spec.DeviceStream) (mask byte) {
	for _, id := range streams {
		mask |= 1 << (id.Stream - 1)
	}
	return mask
}
