package conformance_test

import (
	"cmp"
	"slices"
	"sync"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// bestFit is what a reader of conformance/README.md might write: best fit with splitting
// and merging, a free list for each stream, and events for memory that other streams
// use. It has none of the other abilities.
type bestFit struct {
	driver spec.Driver

	mu      sync.Mutex
	blocks  []*block // of all pieces, by address: neighbours are neighbours
	waiting []*block // freed, with events to wait for
}

// block is a part of a piece of driver memory.
type block struct {
	device      spec.Device
	stream      spec.Stream
	at          spec.Ptr
	bytes       uint64
	asked       uint64 // by the caller
	first, last bool   // in its piece
	out         bool
	uses        []use
	events      []spec.EventHandle
}

// use is a stream that uses a block, beside its own.
type use struct {
	device spec.Device
	stream spec.Stream
}

func newBestFit(driver spec.Driver, _ *trace.Header) (spec.Allocator, error) {
	return &bestFit{driver: driver}, nil
}

func (b *bestFit) Malloc(r spec.Request) (spec.Ptr, error) {
	if err := b.known("malloc", r.Device); err != nil || r.Bytes == 0 {
		return 0, err
	}
	if r.Bytes >= spec.EiB {
		return 0, &spec.OutOfMemoryError{Device: r.Device, Requested: r.Bytes}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.collect(false); err != nil {
		return 0, err
	}
	bytes := (r.Bytes + 511) / 512 * 512
	found := b.find(r, bytes)
	if found == nil {
		var err error
		if found, err = b.grow(r, bytes); err != nil {
			return 0, err
		}
	}
	b.split(found, bytes)
	found.out, found.asked = true, r.Bytes
	return found.at, nil
}

// find is the smallest free block that is large enough, the first of equals.
func (b *bestFit) find(r spec.Request, bytes uint64) *block {
	var best *block
	for _, c := range b.blocks {
		if c.free() && c.device == r.Device && c.stream == r.Stream && c.bytes >= bytes &&
			(best == nil || c.bytes < best.bytes) {
			best = c
		}
	}
	return best
}

func (c *block) free() bool { return !c.out && len(c.events) == 0 }

// grow obtains a piece. If there is no memory, what is cached is returned first.
func (b *bestFit) grow(r spec.Request, bytes uint64) (*block, error) {
	piece := max((bytes+2*spec.MiB-1)/(2*spec.MiB)*(2*spec.MiB), 8*spec.MiB)
	at, err := b.driver.Malloc(r.Device, piece)
	if err != nil {
		if failed := b.collect(true); failed != nil {
			return nil, failed
		}
		if failed := b.release(); failed != nil {
			return nil, failed
		}
		at, err = b.driver.Malloc(r.Device, piece)
	}
	if err != nil {
		return nil, outOfMemory(b.driver, r, piece, err)
	}
	c := &block{device: r.Device, stream: r.Stream, at: at, bytes: piece, first: true, last: true}
	b.insert(c)
	return c, nil
}

func (b *bestFit) insert(c *block) {
	i, _ := b.place(c.at)
	b.blocks = slices.Insert(b.blocks, i, c)
}

// place is where a block of the address is, or would be.
func (b *bestFit) place(at spec.Ptr) (int, bool) {
	return slices.BinarySearchFunc(b.blocks, at, func(c *block, at spec.Ptr) int { return cmp.Compare(c.at, at) })
}

// split gives the rest of a block back.
func (b *bestFit) split(c *block, bytes uint64) {
	if c.bytes == bytes {
		return
	}
	rest := &block{device: c.device, stream: c.stream, at: c.at + spec.Ptr(bytes), bytes: c.bytes - bytes, last: c.last}
	c.bytes, c.last = bytes, false
	b.insert(rest)
}

func (b *bestFit) Free(p spec.Ptr) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p == 0 {
		return nil
	}
	c, err := b.owned("free", p)
	if err != nil {
		return err
	}
	events, err := b.record(c.uses)
	if err != nil {
		return err // and the block is still out
	}
	c.out, c.uses, c.events = false, nil, events
	if len(c.events) > 0 {
		b.waiting = append(b.waiting, c)
		return nil
	}
	b.merge(c)
	return nil
}

// record records an event at the end of each stream, or none at all.
func (b *bestFit) record(uses []use) ([]spec.EventHandle, error) {
	var events []spec.EventHandle
	for _, u := range uses {
		e, err := b.driver.CreateEvent(u.device)
		if err == nil {
			events = append(events, e)
			err = b.driver.RecordEvent(e, u.device, u.stream)
		}
		if err != nil {
			for _, e := range events {
				_ = b.driver.DestroyEvent(e)
			}
			return nil, err
		}
	}
	return events, nil
}

// merge joins a free block with its free neighbours of the same piece.
func (b *bestFit) merge(c *block) {
	i, _ := b.place(c.at)
	if !c.last && b.blocks[i+1].free() {
		b.absorb(c, i+1)
	}
	if !c.first && b.blocks[i-1].free() {
		b.absorb(b.blocks[i-1], i)
	}
}

func (b *bestFit) absorb(c *block, next int) {
	c.bytes += b.blocks[next].bytes
	c.last = b.blocks[next].last
	b.blocks = slices.Delete(b.blocks, next, next+1)
}

// collect frees the blocks whose events have completed, having waited for them if it is
// told to.
func (b *bestFit) collect(wait bool) error {
	var waiting []*block
	var failed error
	for _, c := range b.waiting {
		if failed == nil {
			failed = b.advance(c, wait)
		}
		if len(c.events) > 0 {
			waiting = append(waiting, c)
		} else {
			b.merge(c)
		}
	}
	b.waiting = waiting
	return failed
}

// advance forgets the events of a block that have completed.
func (b *bestFit) advance(c *block, wait bool) error {
	for len(c.events) > 0 {
		if wait {
			if err := b.driver.SynchronizeEvent(c.events[0]); err != nil {
				return err
			}
		}
		done, err := b.driver.QueryEvent(c.events[0])
		if err != nil || !done {
			return err
		}
		if err := b.driver.DestroyEvent(c.events[0]); err != nil {
			return err
		}
		c.events = c.events[1:]
	}
	return nil
}

// release gives the pieces that are free as a whole back to the driver.
func (b *bestFit) release() error {
	var failed error
	b.blocks = slices.DeleteFunc(b.blocks, func(c *block) bool {
		if failed != nil || !c.free() || !c.first || !c.last {
			return false
		}
		failed = b.driver.Free(c.device, c.at)
		return failed == nil
	})
	return failed
}

func (b *bestFit) EmptyCache() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.collect(true); err != nil {
		return err
	}
	return b.release()
}

func (b *bestFit) RecordStream(p spec.Ptr, dev spec.Device, s spec.Stream) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p == 0 {
		return nil
	}
	c, err := b.owned("record_stream", p)
	if err != nil {
		return err
	}
	u := use{dev, s}
	if err := b.known("record_stream", dev); err != nil || slices.Contains(c.uses, u) || u == (use{c.device, c.stream}) {
		return err
	}
	c.uses = append(c.uses, u)
	return nil
}

// owned is the block of a pointer that is allocated.
func (b *bestFit) owned(op string, p spec.Ptr) (*block, error) {
	if i, found := b.place(p); found && b.blocks[i].out {
		return b.blocks[i], nil
	}
	return nil, &spec.InvalidPointerError{Op: op, Ptr: p}
}

func (b *bestFit) known(op string, dev spec.Device) error {
	if dev < 0 || int(dev) >= b.driver.DeviceCount() {
		return &spec.InvalidArgumentError{Op: op, Reason: "there is no such device"}
	}
	return nil
}

// Stats are not kept; what can be seen can be seen in the snapshot.
func (b *bestFit) Stats(spec.Device) (spec.DeviceStats, error) {
	return spec.DeviceStats{}, &spec.NotSupportedError{Op: "statistics", Reason: "none are kept"}
}

func (b *bestFit) Snapshot() (spec.Snapshot, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var s spec.Snapshot
	for _, c := range b.blocks {
		if c.first {
			s.Segments = append(s.Segments, spec.Segment{Device: c.device, Address: c.at, Stream: c.stream, PoolKind: spec.LargePool})
		}
		g := &s.Segments[len(s.Segments)-1]
		g.TotalSize += c.bytes
		shown := spec.Block{Address: c.at, Size: c.bytes, RequestedSize: c.asked}
		switch {
		case c.out:
			shown.State = spec.ActiveAllocated
			g.AllocatedSize += c.bytes
			g.ActiveSize += c.bytes
			g.RequestedSize += c.asked
		case len(c.events) > 0:
			shown.State = spec.ActivePendingFree
			g.ActiveSize += c.bytes
			g.RequestedSize += c.asked
		}
		g.Blocks = append(g.Blocks, shown)
	}
	return s, nil
}
