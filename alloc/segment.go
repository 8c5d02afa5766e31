package alloc

import (
	"errors"
	"fmt"
	"slices"

	"gaugeblock/spec"
)

// A segment is memory obtained from the driver in one piece. Its blocks, linked
// from head on, cover it.
type segment struct {
	base    spec.Ptr
	size    uint64 // bytes
	head    *block
	context any // where the program was when it was obtained

	// expandable is what makes the segment grow, nil for a plain one. base and
	// size are then those of the reserved range.
	expandable *expandable
}

// A segmentList keeps a device's segments in order of address.
type segmentList []*segment

func (l *segmentList) insert(s *segment) {
	at, _ := slices.BinarySearchFunc(*l, s.base, compareBase)
	*l = slices.Insert(*l, at, s)
}

func (l *segmentList) remove(s *segment) {
	at, found := slices.BinarySearchFunc(*l, s.base, compareBase)
	if !found || (*l)[at] != s {
		panic("alloc: a segment is removed that is not there")
	}
	*l = slices.Delete(*l, at, at+1)
}

// at is the segment that begins at an address, or nil.
func (l segmentList) at(base spec.Ptr) *segment {
	if at, found := slices.BinarySearchFunc(l, base, compareBase); found {
		return l[at]
	}
	return nil
}

func compareBase(s *segment, base spec.Ptr) int {
	switch {
	case s.base < base:
		return -1
	case s.base > base:
		return 1
	}
	return 0
}

// obtainSegment asks the driver for a segment and makes one block of it. nil
// without an error means out of memory: the limit would be passed, or the device
// has no more. The last attempt, after the whole cache went back, counts as a
// retry whether or not it succeeds.
func (d *device) obtainSegment(w *want, lastAttempt bool) (*block, error) {
	if lastAttempt {
		d.stats.NumAllocRetries++
	}
	if d.limited && d.reserved()+w.segmentSize > d.limit {
		return nil, nil
	}
	if w.expandable {
		return d.growInto(w)
	}
	ptr, err := d.driverMalloc(w)
	switch {
	case errors.Is(err, spec.ErrDriverOutOfMemory):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("obtaining a segment of %d bytes: %w", w.segmentSize, err)
	}
	return d.adoptSegment(w, ptr), nil
}

// driverMalloc calls the driver, with the device's lock released meanwhile if the
// settings say so. Other callers may then find and change everything in between:
// the caller of driverMalloc must not rely on what it saw before.
func (d *device) driverMalloc(w *want) (spec.Ptr, error) {
	if d.cfg.ReleaseLockOnMalloc {
		defer d.unlockFor(w.pool.owner)()
	}
	if memory := w.pool.owner.memory; memory != nil {
		ptr, err := memory.Allocate(d.id, w.segmentSize, w.stream)
		if err == nil && ptr == 0 {
			err = spec.ErrDriverOutOfMemory // as C functions say it
		}
		return ptr, err
	}
	return d.driver.Malloc(d.id, w.segmentSize)
}

// unlockFor releases the lock in the middle of a request for a pool, which must
// still be there when the returned function has taken the lock again.
func (d *device) unlockFor(p *pool) (lock func()) {
	p.pins++
	d.mu.Unlock()
	return func() {
		d.mu.Lock()
		p.pins--
	}
}

// adoptSegment takes a new piece of driver memory into the books.
func (d *device) adoptSegment(w *want, ptr spec.Ptr) *block {
	s := &segment{base: ptr, size: w.segmentSize, context: w.context}
	b := d.addSegment(s, w)

	kind := w.pool.kind
	d.stats.Segment.Increase(kind, 1)
	d.stats.ReservedBytes.Increase(kind, int64(s.size))
	if s.size >= d.cfg.MaxSplitSize {
		d.stats.OversizeSegments.Increase(1)
	}
	d.stats.NumDeviceAlloc++
	w.pool.owner.driverSegments++
	d.trace(spec.ActionSegmentAlloc, b, b.size, w.context, w.thread)
	return b
}

// addSegment makes the one block that covers a new segment.
func (d *device) addSegment(s *segment, w *want) *block {
	template := block{pool: w.pool, segment: s, stream: w.stream}
	s.head = d.newBlock(&template, s.base, s.size)
	d.segments.insert(s)
	return s.head
}

// releaseSegment gives a free block that is a whole plain segment back to the
// driver. Everything is as before if the driver refuses.
func (d *device) releaseSegment(b *block, context any) error {
	s, p := b.segment, b.pool
	if err := d.driverFree(s, p.owner); err != nil {
		return fmt.Errorf("returning the segment at %v (%d bytes): %w", s.base, s.size, err)
	}
	d.stats.NumDeviceFree++
	d.trace(spec.ActionSegmentFree, b, b.size, orElse(context, s.context), 0)
	d.stats.Segment.Decrease(p.kind, 1)
	d.stats.ReservedBytes.Decrease(p.kind, int64(s.size))
	if s.size >= d.cfg.MaxSplitSize {
		d.stats.OversizeSegments.Decrease(1)
	}
	p.free.remove(b)
	d.segments.remove(s)
	p.owner.driverSegments--
	d.retire(b)
	return nil
}

// driverFree returns a plain segment to where its pool's memory comes from.
func (d *device) driverFree(s *segment, p *pool) error {
	if p.memory != nil {
		return p.memory.Free(d.id, s.base, s.size, s.head.stream)
	}
	return d.driver.Free(d.id, s.base)
}

// reserved is how many bytes the device holds from the driver.
func (d *device) reserved() uint64 {
	return uint64(d.stats.ReservedBytes[spec.Aggregate].Current)
}
