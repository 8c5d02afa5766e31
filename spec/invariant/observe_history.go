package invariant

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// History is what a program did and what it was given: which memory is allocated,
// which streams have used it, which work may still run, what was allocated in
// captures, and what checkpoints saved. It asks no allocator and knows no rule by which one
// chooses its blocks, so any allocator can be held to it.
//
// Whoever runs the program reports every operation to the history, in order, once it
// has succeeded; operations that failed changed nothing and are not reported. There is
// a method for each; Apply reports a whole operation of a trace. A history
// is kept from the allocator's first operation on and is not for use by several
// goroutines at once.
//
// # When work is over
//
// Work that was given to a stream counts as running until it is reported complete.
// Reporting too little makes a sound allocator look bad, so whoever keeps a history
// must report every completion that the allocator could know of, before telling
// of the operation in which it could act on it: what the program waited for, what
// an event of the allocator's own showed to be complete, and what a driver call of
// the allocator's waited for (returning memory waits for the whole device).
type History struct {
	order streamOrder

	live    []allocation // by address
	retired []retirement // freed memory that work may still use, oldest first

	// FirstRoutingWins: of several routings that accept a request the one begun first serves it, as
	// in some releases (upstream.Rules). Otherwise the one begun last.
	FirstRoutingWins bool

	pools       []poolHistory      // in use, in the order in which they were made
	routings    []poolRouting      // oldest first
	checkpoints map[int]checkpoint // by number
	restored    *checkpoint        // what the last operation restored, if it did

	sumsReset map[spec.Device]bool // accumulated statistics were reset

	// breaches are the violations seen so far. They stay: a block that was given
	// out too early is no better when the work has completed.
	breaches violationReport

	trace traceHistory
}

// Allocation is memory that an allocator has allocated.
type Allocation struct {
	Device spec.Device
	Stream spec.Stream
	Thread spec.Thread
	Ptr    spec.Ptr
	Bytes  uint64 // what was asked for

	// Uncached: it came from the driver directly, caching being switched off.
	Uncached bool
}

// allocation is one that has not been freed.
type allocation struct {
	Allocation
	recorded []recording // other streams that use it, in order
}

// recording is a stream that was recorded for an allocation.
type recording struct {
	stream   spec.DeviceStream
	captured bool // the stream was being captured: it is the graph that uses the memory
}

func (a *allocation) memory() spec.Range { return spec.Range{Ptr: a.Ptr, Bytes: a.Bytes} }
func (a *allocation) owner() spec.DeviceStream {
	return spec.DeviceStream{Device: a.Device, Stream: a.Stream}
}

// retirement is freed memory with the work that may still use it.
type retirement struct {
	memory spec.Range
	owner  spec.DeviceStream
	uses   []happensbefore.Epoch
}

// NewHistory is the history of a program that has done nothing yet.
func NewHistory() *History {
	return &History{
		order:       newStreamOrder(),
		checkpoints: map[int]checkpoint{},
		sumsReset:   map[spec.Device]bool{},
		trace:       newTraceHistory(),
	}
}

// Allocated: the allocator has allocated memory. The null pointer is no memory. It is
// here that memory allocated too early, or twice, is found.
func (h *History) Allocated(g Allocation) {
	h.restored = nil
	if g.Ptr == 0 {
		return
	}
	h.checkReuse(&g)
	h.addLive(allocation{Allocation: g})
	h.rememberCaptured(&g)
}

// addLive adds a live allocation and looks whether it overlaps with another one.
// Addresses are those of the process, whichever device they are on.
func (h *History) addLive(a allocation) {
	i, _ := h.find(a.Ptr)
	for _, j := range [...]int{i - 1, i} {
		if j < 0 || j >= len(h.live) {
			continue
		}
		if other := &h.live[j]; other.memory().Overlaps(a.memory()) {
			h.breaches.add(liveBlocksDisjoint, a.Device, a.Ptr,
				"%v (%d bytes) was allocated while %v (%d bytes) was", a.Ptr, a.Bytes, other.Ptr, other.Bytes)
		}
	}
	h.live = slices.Insert(h.live, i, a)
}

// find is where an address is, or would be, among the live allocations.
func (h *History) find(p spec.Ptr) (int, bool) {
	return slices.BinarySearchFunc(h.live, p, func(a allocation, p spec.Ptr) int { return cmp.Compare(a.Ptr, p) })
}

// Freed: the allocator has freed memory.
func (h *History) Freed(p spec.Ptr) {
	h.restored = nil
	if p == 0 {
		return
	}
	i, ok := h.find(p)
	if !ok {
		h.breaches.add(allocatedBlocksWereGivenOut, 0, p, "a free of %v was accepted, which is not allocated", p)
		return
	}
	a := h.live[i]
	h.live = slices.Delete(h.live, i, i+1)
	if a.Uncached {
		h.DeviceSynchronized(a.Device) // the driver's Free waits
	}
	h.retire(&a)
}

// retire remembers the work that may use memory at the moment of its free.
func (h *History) retire(a *allocation) {
	uses := h.order.uses(a.owner())
	for _, r := range a.recorded {
		uses = append(uses, h.order.usesOf(r)...)
	}
	if len(uses) > 0 {
		h.retired = append(h.retired, retirement{a.memory(), a.owner(), uses})
	}
}

// StreamRecorded: a stream was recorded for the memory (record_stream). Of a stream
// that is being captured it is the work in the capture that does.
func (h *History) StreamRecorded(p spec.Ptr, dev spec.Device, s spec.Stream) {
	if p == 0 {
		return
	}
	i, ok := h.find(p)
	if !ok {
		h.breaches.add(allocatedBlocksWereGivenOut, dev, p, "a stream was recorded for %v, which is not allocated", p)
		return
	}
	stream := spec.DeviceStream{Device: dev, Stream: s}
	use := recording{stream, h.order.capture(stream) != 0}
	if a := &h.live[i]; !slices.Contains(a.recorded, use) {
		a.recorded = append(a.recorded, use)
	}
}

// Submitted: work was given to a stream (a launch, a copy, a fill, a graph).
func (h *History) Submitted(dev spec.Device, s spec.Stream) happensbefore.Position {
	return h.order.submit(spec.DeviceStream{Device: dev, Stream: s})
}

// Completed: the stream's work is over up to and with the position.
func (h *History) Completed(dev spec.Device, s spec.Stream, p happensbefore.Position) {
	h.order.complete(spec.DeviceStream{Device: dev, Stream: s}, p)
}

// StreamSynchronized: all of the stream's work is over.
func (h *History) StreamSynchronized(dev spec.Device, s spec.Stream) {
	h.order.synchronize(spec.DeviceStream{Device: dev, Stream: s})
}

// DeviceSynchronized: all work of the device is over.
func (h *History) DeviceSynchronized(dev spec.Device) {
	h.order.SynchronizeDevice(dev)
}

// StreamWaited: the stream's later work waits for all that is now in another one,
// which may be on another device.
func (h *History) StreamWaited(dev spec.Device, s spec.Stream, onDev spec.Device, on spec.Stream) {
	h.order.wait(spec.DeviceStream{Device: dev, Stream: s}, h.order.mark(spec.DeviceStream{Device: onDev, Stream: on}))
}

// EventRecorded: an event of the program was moved to the end of the stream.
func (h *History) EventRecorded(ev spec.EventHandle, dev spec.Device, s spec.Stream) {
	h.order.record(ev, spec.DeviceStream{Device: dev, Stream: s})
}

// EventWaited: the stream's later work waits for an event. One that was never
// recorded holds nothing back.
func (h *History) EventWaited(ev spec.EventHandle, dev spec.Device, s spec.Stream) {
	h.order.wait(spec.DeviceStream{Device: dev, Stream: s}, h.order.marks[ev])
}

// EventSynchronized: all before an event is over.
func (h *History) EventSynchronized(ev spec.EventHandle) {
	h.order.See(h.order.marks[ev].clock)
}

// CaptureBegun: the stream's work goes into a graph from now on.
func (h *History) CaptureBegun(dev spec.Device, s spec.Stream) {
	h.order.beginCapture(spec.DeviceStream{Device: dev, Stream: s})
}

// CaptureEnded: the capture that the stream took part in is over, whether it gave
// a graph or was invalid.
func (h *History) CaptureEnded(dev spec.Device, s spec.Stream) {
	h.order.endCapture(spec.DeviceStream{Device: dev, Stream: s})
}

// AccumulatedStatsReset: the device's accumulated statistics were reset.
func (h *History) AccumulatedStatsReset(dev spec.Device) { h.sumsReset[dev] = true }

// examine adds what the history shows, by itself and together with a snapshot.
func (h *History) examine(o *Observation, r *violationReport) {
	for number := range h.breaches.dropped {
		r.dropped[number] += h.breaches.dropped[number]
	}
	r.found = append(r.found, h.breaches.found...)
	if o.Snapshot == nil {
		return
	}
	h.checkAllocated(o.Snapshot, r)
	h.checkCaptured(o.Snapshot, r)
	h.checkRestored(o.Snapshot, r)
}
