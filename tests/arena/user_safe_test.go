package arena

import (
	"errors"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// MadeSafe uses the safe cache: it records events for blocks with stream uses, and when the
// driver is out of memory it empties the cache and tries again.
type MadeSafe struct{ user[*Safe] }

// NewMadeSafe is a replay.Factory.
func NewMadeSafe(driver spec.Driver, _ *trace.Header) (spec.Allocator, error) {
	u := &MadeSafe{}
	u.begin(driver, NewSafe)
	return u, nil
}

// Malloc implements spec.Allocator.
func (u *MadeSafe) Malloc(r spec.Request) (spec.Ptr, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	d, err := u.device("malloc", r.Device)
	switch {
	case err != nil || r.Bytes == 0:
		return 0, err
	case r.Bytes >= spec.EiB:
		return 0, &spec.OutOfMemoryError{Device: r.Device, Requested: r.Bytes}
	}
	defer d.recount()
	if err := u.processEvents(d, false); err != nil {
		return 0, err
	}
	i, err := u.allocate(d, r)
	if errors.Is(err, spec.ErrOutOfMemory) {
		if failed := u.freeSegments(r.Device, d); failed != nil {
			return 0, failed
		}
		d.stats.NumAllocRetries++
		i, err = u.allocate(d, r)
	}
	if err != nil {
		return 0, err
	}
	return d.register(r, i), nil
}

func (u *MadeSafe) allocate(d *deviceUser[*Safe], r spec.Request) (int, error) {
	if i, ok := d.cache.CacheFind(r.Bytes, r.Stream); ok {
		return i, nil
	}
	return u.allocateSegment(d, r, func(ptr spec.Ptr, bytes uint64) int {
		return d.cache.CacheInsert(r.Bytes, bytes, ptr, r.Stream)
	})
}

// owner is the device and block of an allocated pointer.
func (u *MadeSafe) owner(op string, p spec.Ptr) (*deviceUser[*Safe], int, error) {
	for _, d := range u.devices {
		if i, isAllocated := d.allocated[p]; isAllocated {
			return d, i, nil
		}
	}
	return nil, none, &spec.InvalidPointerError{Op: op, Ptr: p}
}

// Free implements spec.Allocator. Calls that can fail come first.
func (u *MadeSafe) Free(p spec.Ptr) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if p == 0 {
		return nil
	}
	d, i, err := u.owner("free", p)
	if err != nil {
		return err
	}
	h := pendingBlock{index: i, uses: d.cache.StreamUses(i)}
	if h.events, err = u.recordEvents(h.uses); err != nil {
		return err
	}
	pending, err := d.cache.CacheFree(i)
	if err != nil {
		return err
	}
	delete(d.allocated, p)
	if pending {
		d.pending = append(d.pending, h)
	}
	d.recount()
	return nil
}

// recordEvents records an event in each of the streams, or none.
func (u *MadeSafe) recordEvents(uses []streamUse) ([]spec.EventHandle, error) {
	var events []spec.EventHandle
	for _, s := range uses {
		e, err := u.driver.CreateEvent(s.device)
		if err == nil {
			events = append(events, e)
			err = u.driver.RecordEvent(e, s.device, s.stream)
		}
		if err != nil {
			for _, e := range events {
				err = errors.Join(err, u.driver.DestroyEvent(e))
			}
			return nil, err
		}
	}
	return events, nil
}

// processEvents releases the blocks whose events have completed. If wait is set it waits
// for the events.
func (u *MadeSafe) processEvents(d *deviceUser[*Safe], wait bool) error {
	var pending []pendingBlock
	var failed error
	for _, h := range d.pending {
		for failed == nil && len(h.events) > 0 {
			var done bool
			if done, failed = u.completed(h.events[0], wait); !done {
				break
			}
			h.events, h.uses = h.events[1:], h.uses[1:]
		}
		if len(h.events) == 0 {
			d.cache.Release(h.index)
		} else {
			pending = append(pending, h)
		}
	}
	d.pending = pending
	return failed
}

// completed reports whether an event has completed, and destroys it if so.
func (u *MadeSafe) completed(e spec.EventHandle, wait bool) (bool, error) {
	if wait {
		if err := u.driver.SynchronizeEvent(e); err != nil {
			return false, err
		}
	}
	done, err := u.driver.QueryEvent(e)
	if !done || err != nil {
		return false, err
	}
	err = u.driver.DestroyEvent(e)
	return err == nil, err
}

// RecordStream implements spec.Allocator.
func (u *MadeSafe) RecordStream(p spec.Ptr, dev spec.Device, s spec.Stream) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, err := u.device("record_stream", dev); err != nil || p == 0 {
		return err
	}
	d, i, err := u.owner("record_stream", p)
	if err != nil {
		return err
	}
	own := streamUse{d.number, d.cache.list[i].stream}
	if u := (streamUse{dev, s}); u != own {
		return d.cache.RecordStreamOnBlock(i, u)
	}
	return nil
}

// EmptyCache implements spec.Allocator.
func (u *MadeSafe) EmptyCache() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	var failed error
	for dev, d := range u.devices {
		failed = errors.Join(failed, u.freeSegments(spec.Device(dev), d))
		d.recount()
	}
	return failed
}

// freeSegments frees the segments without allocated or pending blocks.
func (u *MadeSafe) freeSegments(dev spec.Device, d *deviceUser[*Safe]) error {
	if err := u.processEvents(d, true); err != nil {
		return err
	}
	for _, i := range d.cache.Releasable() {
		ptr := d.cache.list[i].ptr
		if err := u.driver.Free(dev, ptr); err != nil {
			return err
		}
		d.stats.NumDeviceFree++
		at, _ := d.segmentAt(ptr)
		d.segments = append(d.segments[:at], d.segments[at+1:]...)
		d.cache.Forget(i)
	}
	return nil
}
