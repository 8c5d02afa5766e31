package refinement

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/bounded"
	"gaugeblock/spec"
)

// The truth (model.Truth) is what the program did and what reached the driver. The system
// records both itself and asks the allocator for nothing.

// hold records what the program holds after a malloc.
func (sys *System) hold(ptr spec.Ptr, r spec.Request) {
	pool := spec.DefaultPool
	for _, c := range sys.record.Truth.Captures {
		if c.Stream == r.Stream && (pool.IsDefault() || !sys.record.Rules.FirstRoutingWins) {
			pool = c.Pool
		}
	}
	if source := sys.poolAt(ptr); pool.IsDefault() && sys.overflow[source] {
		pool = source
	}
	sys.record.Truth = sys.record.Truth.Hold(model.Held{Ptr: ptr, Bytes: r.Bytes, Stream: r.Stream, Pool: pool})
}

// poolAt is the pool of the block at an address.
func (sys *System) poolAt(ptr spec.Ptr) (pool spec.PoolID) {
	sys.allocator.Inspect(0, spec.Visitor{Block: func(b *spec.BlockView) {
		if b.Address == ptr {
			pool = b.Pool
		}
	}})
	return pool
}

// launchUses launches the last use of the memory at an address in each stream that uses it,
// other than in graphs.
func (sys *System) launchUses(ptr spec.Ptr) error {
	memory := sys.record.MemoryOf(sys.heldAt(ptr))
	for _, x := range sys.record.Truth.Touches {
		if x.Ptr != ptr || x.Captured {
			continue
		}
		if err := sys.driver.queues[x.Stream.Stream].launch(memory); err != nil {
			return err
		}
	}
	return nil
}

// launchOwn launches work that uses the memory at an address, on the stream that it is allocated
// for.
func (sys *System) launchOwn(ptr spec.Ptr) error {
	h := sys.heldAt(ptr)
	return sys.driver.queues[h.Stream].launch(sys.record.MemoryOf(h))
}

// heldAt is what the program holds at an address.
func (sys *System) heldAt(ptr spec.Ptr) model.Held {
	held := sys.record.Truth.Held
	return held[slices.IndexFunc(held, func(h model.Held) bool { return h.Ptr == ptr })]
}

// restored records what the program holds after a restore: the saved blocks that were
// allocated.
func (sys *System) restored(saved model.Checkpoint) {
	for _, h := range sys.record.Truth.Held {
		if h.Pool == saved.Pool {
			sys.record.Truth = sys.record.Truth.GiveBack(h.Ptr)
		}
	}
	for _, b := range saved.Blocks {
		if b.Allocated {
			grants := sys.record.Truth.Granted
			at := slices.IndexFunc(grants, func(g model.Grant) bool { return g.Memory.Overlaps(b.Memory) })
			sys.record.Truth = sys.record.Truth.Hold(model.Held{Ptr: b.Memory.Ptr, Bytes: b.Memory.Bytes, Stream: grants[at].Stream, Pool: saved.Pool})
		}
	}
}

// called records a driver call that a capture may forbid.
func (r *recordingDriver) called(call model.DriverCall, forbidden bool) {
	r.record.Truth = r.record.Truth.Call(call, forbidden)
}

// returned records that memory was returned to the driver.
func (r *recordingDriver) returned(memory spec.Range) {
	r.called(model.FreeMemory, r.FreeForbidden())
	r.record.Truth = r.record.Truth.Return(memory)
}

// inCapture reports whether the program has begun a capture and not ended it.
func inCapture(s *bounded.State) bool { return s.Truth.InCapture() }

// Malloc implements spec.Driver.
func (r *recordingDriver) Malloc(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	malloc := func() (spec.Ptr, error) {
		r.about("Malloc")
		ptr, err := r.GPU.Malloc(dev, bytes)
		if err == nil {
			r.record.Truth = r.record.Truth.Grant(spec.Range{Ptr: ptr, Bytes: bytes}, r.stream)
		}
		return ptr, err
	}
	if r.releasesLock {
		return r.calls.AroundDriver(malloc)
	}
	return malloc()
}

// Free implements spec.Driver.
func (r *recordingDriver) Free(dev spec.Device, ptr spec.Ptr) error {
	r.about("Free")
	err := r.GPU.Free(dev, ptr)
	for _, g := range r.record.Truth.Granted {
		if err == nil && g.Memory.Ptr == ptr {
			r.returned(g.Memory)
		}
	}
	return err
}

// MapPage implements spec.VirtualMemory.
func (r *recordingDriver) MapPage(ptr spec.Ptr, bytes uint64, page spec.PageHandle) error {
	r.about("MapPage")
	err := r.GPU.MapPage(ptr, bytes, page)
	if err != nil {
		return err
	}
	owner := r.stream
	if was, is := r.unmapped[page]; is { // mapped again, since it could not be released
		owner = was
	}
	r.record.Truth = r.record.Truth.Grant(spec.Range{Ptr: ptr, Bytes: bytes}, owner)
	r.mapped[ptr] = mappedPage{page, owner}
	return nil
}

// UnmapPage implements spec.VirtualMemory.
func (r *recordingDriver) UnmapPage(ptr spec.Ptr, bytes uint64) error {
	r.about("UnmapPage")
	err := r.GPU.UnmapPage(ptr, bytes)
	if err == nil {
		r.returned(spec.Range{Ptr: ptr, Bytes: bytes})
		r.unmapped[r.mapped[ptr].page] = r.mapped[ptr].owner
	}
	return err
}

// mappedPage is a page, and the stream whose malloc mapped it first.
type mappedPage struct {
	page  spec.PageHandle
	owner spec.Stream
}

// SynchronizeStream implements spec.Driver.
func (r *recordingDriver) SynchronizeStream(dev spec.Device, s spec.Stream) error {
	r.about("SynchronizeStream")
	r.called(model.WaitEvent, r.record.Truth.IsCaptured(s))
	return r.GPU.SynchronizeStream(dev, s)
}

// FreeForbidden implements spec.Driver.
func (r *recordingDriver) FreeForbidden() bool {
	return inCapture(r.record) && !r.record.RelaxedCaptures
}

// QueryEvent implements spec.Driver.
func (r *recordingDriver) QueryEvent(e spec.EventHandle) (bool, error) {
	r.about("QueryEvent")
	r.called(model.QueryEvent, inCapture(r.record))
	return r.GPU.QueryEvent(e)
}

// SynchronizeEvent implements spec.Driver.
func (r *recordingDriver) SynchronizeEvent(e spec.EventHandle) error {
	r.about("SynchronizeEvent")
	r.called(model.WaitEvent, inCapture(r.record))
	return r.GPU.SynchronizeEvent(e)
}
