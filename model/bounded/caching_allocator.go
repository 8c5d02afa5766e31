package bounded

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// CachingAllocator is CachingAllocator.tla: a program that mallocs and frees on several
// streams, and a device on which work completes.
type CachingAllocator struct {
	Bounds
	actionTable
	keys
	malloc, free, recordStream, complete, emptyCache action
	launch                                           action // if Bounds.OwnWork is set

	// With private pools.
	recordsOwn   bool     // programs record the stream that memory was allocated for
	recordsTwice bool     // programs record a stream use in a capture and outside of it
	overflow     []uint64 // the pools with use_on_oom
	noSplit      []uint64 // those with no_split
	captures     bool     // there are captures

	firstFault int // the first label of a step in which a driver call fails, 0 if there is none
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
	if b.OwnWork {
		c.launch = c.add("Launch", addresses)
	}
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
	for i := range c.Streams {
		for j := range c.Sizes {
			next, r := s.Malloc(c.Streams[i], c.Sizes[j], atLowest)
			c.hold(&next, r, c.Streams[i], c.Sizes[j])
			yield(c.malloc.label(i, j), &next)
		}
	}
	c.nextExceptMalloc(s, yield)
}

// nextExceptMalloc yields the steps that are no mallocs.
func (c *CachingAllocator) nextExceptMalloc(s *model.State, yield func(label int, next *model.State)) {
	for i, stream := range c.Streams {
		if pendingWork(s, stream) > 0 {
			next := s.Complete(onDevice(stream))
			yield(c.complete.label(i), &next)
		}
	}
	for _, h := range s.Truth.Held {
		yield(c.free.label(toUnits(h.Ptr)), free(s, h.Ptr))
		for i, stream := range c.Streams {
			if c.canRecordStream(s, h, stream) {
				next, _ := s.RecordStream(h.Ptr, onDevice(stream))
				if stream != h.Stream {
					next.Truth = next.Truth.Touch(h.Ptr, onDevice(stream))
				}
				yield(c.recordStream.label(toUnits(h.Ptr), i), &next)
			}
		}
	}
	emptied := s.EmptyCache()
	yield(c.emptyCache.label(), &emptied)
	for _, h := range s.Truth.Held {
		if c.OwnWork && pendingWork(s, h.Stream) == 0 {
			next := s.Launch(onDevice(h.Stream), s.MemoryOf(h))
			yield(c.launch.label(toUnits(h.Ptr)), &next)
		}
	}
}

// free is the step Free of what the program holds at an address. An allocator that refuses it
// changes nothing; the program holds the memory no more.
func free(s *model.State, ptr spec.Ptr) *model.State {
	next, _ := s.LaunchUses(ptr).Free(ptr)
	next.Truth = next.Truth.GiveBack(ptr)
	return &next
}

// atLowest are the results of a driver that grants the lowest free addresses.
var atLowest = model.DriverResults{LowestFrom: AddressBase}

// hold records what the program holds after a malloc. A pool with use_on_oom may serve
// requests of the default pool too.
func (c *CachingAllocator) hold(s *model.State, r model.Result, stream spec.Stream, bytes uint64) {
	if r.Ptr == 0 {
		return
	}
	pool := routedTo(s, stream)
	source := poolAt(s, r.Ptr)
	if pool.IsDefault() && slices.Contains(c.overflow, uint64(poolNumber(source))) {
		pool = source
	}
	s.Truth = s.Truth.Hold(model.Held{Ptr: r.Ptr, Bytes: bytes, Stream: stream, Pool: pool})
}

// routedTo is the pool that the program routes the requests for a stream to: that of the
// capture that it began last, or first, as the rules say.
func routedTo(s *model.State, stream spec.Stream) spec.PoolID {
	pool := spec.DefaultPool
	for _, r := range s.Truth.Captures {
		if r.Stream == stream && (pool.IsDefault() || !s.Rules.FirstRoutingWins) {
			pool = r.Pool
		}
	}
	return pool
}

// underway reports whether a capture is underway for a call with a current stream, by the rules. That
// of a malloc is its own; that of other calls is none, except in CurrentStream.tla.
func underway(s *model.State, current spec.Stream) bool {
	if s.Rules.Captures == upstream.CapturesByMark {
		return s.Marked > 0 && s.Truth.IsCaptured(current)
	}
	return len(s.Truth.Captures) > 0
}

// poolAt is the pool of the segment that contains an address.
func poolAt(s *model.State, ptr spec.Ptr) spec.PoolID {
	for _, g := range s.Segments {
		if g.Address <= ptr && ptr < g.Address+spec.Ptr(g.Size) {
			return g.Pool
		}
	}
	return spec.DefaultPool
}

// canRecordStream reports whether the program can record a stream on what it holds. recordsTwice
// says whether programs record a stream both in a capture and outside of it.
func (c *CachingAllocator) canRecordStream(s *model.State, h model.Held, stream spec.Stream) bool {
	return c.canRecordStreamIn(s, h, stream, s.Truth.InCapture())
}

// canRecordStreamIn is the same of a use that is captured, or not.
func (c *CachingAllocator) canRecordStreamIn(s *model.State, h model.Held, stream spec.Stream, captured bool) bool {
	id := onDevice(stream)
	both := slices.ContainsFunc(s.Truth.Touches, func(x model.Touch) bool {
		return x.Ptr == h.Ptr && x.Stream == id && x.Captured != captured
	})
	return (stream != h.Stream || c.recordsOwn) && (!both || c.recordsTwice)
}

// pendingWork is how many pieces of work a stream has pending.
func pendingWork(s *model.State, stream spec.Stream) int {
	return len(s.StreamOf(onDevice(stream)).Work)
}

func onDevice(stream spec.Stream) spec.DeviceStream { return spec.DeviceStream{Stream: stream} }

// toUnits is an address in TLA+.
func toUnits(p spec.Ptr) int { return int(p - AddressBase) }
