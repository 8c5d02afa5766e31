package bounded

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/spec"
)

// CachingAllocator is CachingAllocator.tla: a program that mallocs and frees on several
// streams, and a device on which work completes.
type CachingAllocator struct {
	Bounds
	actionTable
	keys
	malloc, free, recordStream, complete, emptyCache action

	recordsTwice bool // programs record a stream use before a capture and in it again
}

// newCachingAllocator is the module at these bounds.
func newCachingAllocator(b Bounds) *CachingAllocator {
	c := &CachingAllocator{Bounds: b}
	c.keys = keys{module: c, initial: b.initial(), names: symmetries(b.Streams, nil, nil, nil)}
	addresses, streams := upTo(b.addresses()), asInts(b.Streams)
	c.malloc = c.add("Malloc", streams, asInts(b.Sizes))
	c.free = c.add("Free", addresses)
	c.recordStream = c.add("RecordStream", addresses, streams)
	c.complete = c.add("Complete", streams)
	c.emptyCache = c.add("EmptyCache")
	return c
}

// Labels implements explore.Specification.
func (c *CachingAllocator) Labels() []string { return c.labels }

// Initial implements explore.Specification.
func (c *CachingAllocator) Initial() []*model.State {
	return []*model.State{c.keys.initial}
}

// Next implements explore.Specification.
func (c *CachingAllocator) Next(s *model.State, yield func(label int, next *model.State)) {
	for i, stream := range c.Streams {
		for j, size := range c.Sizes {
			next, _ := s.Malloc(stream, size, model.DriverResults{LowestFrom: AddressBase})
			yield(c.malloc.label(i, j), next.Keep())
		}
	}
	c.nextExceptMalloc(s, yield)
}

// nextExceptMalloc yields the steps that are no mallocs.
func (c *CachingAllocator) nextExceptMalloc(s *model.State, yield func(label int, next *model.State)) {
	emit := func(label int, next model.State) { yield(label, next.Keep()) }
	for i, stream := range c.Streams {
		if pendingWork(s, stream) > 0 {
			emit(c.complete.label(i), s.Complete(onDevice(stream)))
		}
	}
	for _, g := range s.Segments {
		for _, b := range g.Blocks {
			if b.State != spec.ActiveAllocated {
				continue
			}
			emit(c.free.label(toUnits(b.Address)), launchAndFree(s, &b))
			for i, stream := range c.Streams {
				if next, can := c.recordStreamStep(s, &g, &b, stream); can {
					emit(c.recordStream.label(toUnits(b.Address), i), next)
				}
			}
		}
	}
	emit(c.emptyCache.label(), s.EmptyCache())
}

// launchAndFree launches the last use of a block in each of its stream uses, and then
// frees it. Captured work is in a graph, and does not run.
func launchAndFree(s *model.State, b *model.Block) model.State {
	next := *s
	for _, id := range b.StreamUses {
		if captured, earlier := graphStreamUse(s, b, id); !captured || earlier {
			next = next.Launch(id, spec.Range{Ptr: b.Address, Bytes: b.Size})
		}
	}
	next, _ = next.Free(b.Address)
	return next
}

// recordStreamStep is the step RecordStream, if the program can do it. recordsTwice says
// whether programs record a stream before a capture and in it again.
func (c *CachingAllocator) recordStreamStep(s *model.State, g *model.Segment, b *model.Block, stream spec.Stream) (model.State, bool) {
	id := onDevice(stream)
	captured, _ := graphStreamUse(s, b, id)
	again := len(s.Routings) > 0 && !captured && slices.Contains(b.StreamUses, id)
	if stream == g.Stream || again && !c.recordsTwice {
		return *s, false
	}
	next, _ := s.RecordStream(b.Address, id)
	return next, true
}

// graphStreamUse reports whether a stream use was recorded in a capture, and before it too.
func graphStreamUse(s *model.State, b *model.Block, id spec.DeviceStream) (captured, earlier bool) {
	for _, u := range s.GraphStreamUses {
		if u.Block == b.Address && u.Stream == id {
			return true, u.Earlier
		}
	}
	return false, false
}

// pendingWork is how many pieces of work a stream has pending.
func pendingWork(s *model.State, stream spec.Stream) int {
	return len(s.StreamOf(onDevice(stream)).Work)
}

func onDevice(stream spec.Stream) spec.DeviceStream { return spec.DeviceStream{Stream: stream} }

// toUnits is an address in TLA+.
func toUnits(p spec.Ptr) int { return int(p - AddressBase) }
