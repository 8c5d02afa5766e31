package arena

import (
	"errors"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// MadeSafe uses the safe cache: it waits for events where the cache says that streams
// use a block, and when the driver has no memory it empties the cache and tries again.
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
	if err := u.collect(d, false); err != nil {
		return 0, err
	}
	i, err := u.serve(d, r)
	if errors.Is(err, spec.ErrOutOfMemory) {
		if failed := u.release(r.Device, d); failed != nil {
			return 0, failed
		}
		d.stats.NumAllocRetries++
		i, err = u.serve(d, r)
	}
	if err != nil {
		return 0, err
	}
	return d.give(r, i), nil
}

func (u *MadeSafe) serve(d *deviceUser[*Safe], r spec.Request) (int, error) {
	if i, ok := d.cache.CacheFind(r.Bytes, r.Stream); ok {
		return i, nil
	}
	return u.obtain(d, r, func(ptr spec.Ptr, bytes uint64) int {
		return d.cache.CacheInsert(r.Bytes, bytes, ptr, r.Stream)
	})
}

// owner is the device and block of a pointer that is out.
func (u *MadeSafe) owner(op string, p spec.Ptr) (*deviceUser[*Safe], int, error) {
	for _, d := range u.devices {
		if i, out := d.out[p]; out {
			return d, i, nil
		}
	}
	return nil, none, &spec.InvalidPointerError{Op: op, Ptr: p}
}

// Free implements spec.Allocator. What can fail is done first.
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
	h := heldBlock{index: i, on: d.cache.Uses(i)}
	if h.events, err = u.record(h.on); err != nil {
		return err
	}
	held, err := d.cache.CacheFree(i)
	if err != nil {
		return err
	}
	delete(d.out, p)
	if held {
		d.held = append(d.held, h)
	}
	d.recount()
	return nil
}

// record records an event at the end of each stream, or none at all.
func (u *MadeSafe) record(uses []use) ([]spec.EventHandle, error) {
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

// collect releases the blocks whose events have completed, having waited for them if it
// is told to.
func (u *MadeSafe) collect(d *deviceUser[*Safe], wait bool) error {
	var held []heldBlock
	var failed error
	for _, h := range d.held {
		for failed == nil && len(h.events) > 0 {
			var done bool
			if done, failed = u.completed(h.events[0], wait); !done {
				break
			}
			h.events, h.on = h.events[1:], h.on[1:]
		}
		if len(h.events) == 0 {
			d.cache.Release(h.index)
		} else {
			held = append(held, h)
		}
	}
	d.held = held
	return failed
}

// completed reports whether an event has, and destroys it if so.
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
	own := use{d.number, d.cache.list[i].stream}
	if u := (use{dev, s}); u != own {
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
		failed = errors.Join(failed, u.release(spec.Device(dev), d))
		d.recount()
	}
	return failed
}

// release returns the pieces of which nothing is out or held.
func (u *MadeSafe) release(dev spec.Device, d *deviceUser[*Safe]) error {
	if err := u.collect(d, true); err != nil {
		return err
	}
	for _, i := range d.cache.Releasable() {
		ptr := d.cache.list[i].ptr
		if err := u.driver.Free(dev, ptr); err != nil {
			return err
		}
		d.stats.NumDeviceFree++
		at, _ := d.piece(ptr)
		d.pieces = append(d.pieces[:at], d.pieces[at+1:]...)
		d.cache.Forget(i)
	}
	return nil
}
