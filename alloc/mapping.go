package alloc

import (
	"errors"
	"slices"

	"gaugeblock/spec"
)

// What the allocator does with expandable segments: finding room in them, and
// moving the border between free blocks and unmapped ranges. expandable.go has the
// pages themselves.
//
// Expandable memory is outside the figures of segments and of inactive split
// blocks: a free page can always go, so neither says what it is meant to say.
// Upstream's count of a private pool's driver segments has an oddity, kept here: it
// goes up once for each request that growInto serves, however many pages were
// mapped for it, and down once for each unmapped block.

// growInto serves a request from an expandable segment of its stream, mapping what
// is missing, and reserving a segment if no other has room. The block it returns
// is on no list. nil without an error means out of memory; what was mapped until
// then stays mapped, and free.
func (d *device) growInto(w *want) (*block, error) {
	b, err := d.findRoom(w)
	if err != nil {
		return nil, err
	}
	if !b.mapped {
		err = d.mapBlock(b, min(b.size, w.size), w)
	}
	for err == nil && b.size < w.size {
		// b is free and too small, and what follows is unmapped. Mapping it merges
		// the two into the struct that was unmapped.
		next := b.next
		err = d.mapBlock(next, min(next.size, w.size-b.size), w)
		b = next
	}
	switch {
	case errors.Is(err, spec.ErrDriverOutOfMemory):
		return nil, nil
	case err != nil:
		return nil, err
	}
	w.pool.owner.driverSegments++
	w.pool.free.remove(b)
	return b, nil
}

// findRoom is the lowest place in the stream's expandable segments where a block
// of the wanted size could be: a free block that is followed by unmapped ranges,
// or an unmapped range, such that the run of free blocks and unmapped ranges from
// there on is long enough.
func (d *device) findRoom(w *want) (*block, error) {
	unmapped := &w.pool.unmapped
	for b := unmapped.firstNotBelow(w.stream, blockKey{}); b != nil; b = unmapped.after(b) {
		start := b
		if b.prev != nil && b.prev.free() {
			start = b.prev
		}
		if roomFrom(start, w.size) {
			return start, nil
		}
	}
	return d.newExpandableSegment(w)
}

// roomFrom reports whether at least so many bytes from b on are free or unmapped.
func roomFrom(b *block, bytes uint64) bool {
	room := uint64(0)
	for room < bytes && b != nil && b.free() {
		room += b.size
		b = b.next
	}
	return room >= bytes
}

// newExpandableSegment reserves a segment, all of it one unmapped range.
func (d *device) newExpandableSegment(w *want) (*block, error) {
	x, err := d.reserveSegment(w.stream, w.pool.kind)
	if err != nil {
		return nil, err
	}
	s := &segment{base: x.base, size: x.size(), expandable: x}
	b := d.addSegment(s, w)
	b.mapped = false
	w.pool.unmapped.insert(b)
	d.growing = append(d.growing, x)
	return b, nil
}

// mapBlock puts memory behind at least the first bytes of an unmapped range, in
// whole pages, and merges it with a free block before it. With an error it has done
// so for what could not be undone (pages.go), if anything.
func (d *device) mapBlock(b *block, bytes uint64, w *want) error {
	grown, err := b.segment.expandable.grow(spec.Range{Ptr: b.ptr, Bytes: bytes})
	if grown.Bytes == 0 {
		return err
	}
	p := b.pool
	p.unmapped.remove(b)
	b.mapped = true
	if grown.Bytes < b.size {
		rest := d.newBlock(b, grown.End(), b.size-grown.Bytes)
		rest.mapped = false
		b.linkAfter(rest)
		b.size = grown.Bytes
		p.unmapped.insert(rest)
	}
	d.absorb(b, b.prev)
	d.absorb(b, b.next)
	p.keep(b)

	d.stats.ReservedBytes.Increase(p.kind, int64(grown.Bytes))
	d.stats.NumDeviceAlloc++
	if b.prev == nil && b.segment.context == nil {
		b.segment.context = w.context
	}
	d.traceRange(spec.ActionSegmentMap, grown, b, w.context, w.thread)
	return err
}

// openBlock sees to it that the memory of a block that was found, and is on no list,
// can be used. If it cannot the block goes back.
func (d *device) openBlock(b *block) error {
	if b.plain() {
		return nil
	}
	err := b.segment.expandable.open(spec.Range{Ptr: b.ptr, Bytes: b.size})
	if err != nil {
		b.pool.keep(b)
	}
	return err
}

// unmapBlock returns the pages that lie wholly in a free block. What is left of
// the block before and behind them stays free; a segment without any page goes,
// with its addresses. Nothing goes while the block's stream is being captured, in
// whatever mode: it cannot be waited for.
func (d *device) unmapBlock(b *block, context any) error {
	status, err := d.captureStatus(d.id, b.stream)
	if err != nil || status.State != spec.CaptureNone {
		return err
	}
	lost, failure := b.segment.expandable.shrink(spec.Range{Ptr: b.ptr, Bytes: b.size})
	if lost.Bytes == 0 {
		return failure
	}
	p := b.pool
	p.free.remove(b)
	if lost.Ptr > b.ptr {
		before := d.newBlock(b, b.ptr, uint64(lost.Ptr-b.ptr))
		b.linkBefore(before)
		p.keep(before)
	}
	if end := b.end(); end > lost.End() {
		behind := d.newBlock(b, lost.End(), uint64(end-lost.End()))
		b.linkAfter(behind)
		p.keep(behind)
	}
	b.ptr, b.size, b.mapped = lost.Ptr, lost.Bytes, false
	d.absorb(b, b.prev)
	d.absorb(b, b.next)
	p.unmapped.insert(b)

	d.stats.ReservedBytes.Decrease(p.kind, int64(lost.Bytes))
	d.stats.NumDeviceFree++
	p.owner.driverSegments--
	d.traceRange(spec.ActionSegmentUnmap, lost, b, orElse(context, b.segment.context), 0)
	if failure != nil || b.split() {
		return failure
	}
	return d.dropExpandableSegment(b)
}

// dropUnmappedSegments gives up the segments that are one unmapped range, of one
// pool or of all (nil). There are such if no page could be had when a segment was
// made. Emptying the cache leaves them, as upstream: the next request finds them.
func (d *device) dropUnmappedSegments(only *pool) (failures error) {
	for _, s := range slices.Clone(d.segments) {
		if b := s.head; !b.mapped && !b.split() && (only == nil || b.pool.owner == only) {
			failures = errors.Join(failures, d.dropExpandableSegment(b))
		}
	}
	return failures
}

// dropExpandableSegment gives up a segment that is one unmapped range.
func (d *device) dropExpandableSegment(b *block) error {
	s := b.segment
	if err := s.expandable.abandon(); err != nil {
		return err
	}
	b.pool.unmapped.remove(b)
	d.segments.remove(s)
	d.growing = slices.DeleteFunc(d.growing, func(x *expandable) bool { return x == s.expandable })
	d.retire(b)
	return nil
}
