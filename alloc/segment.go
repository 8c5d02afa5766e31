package alloc

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// A segment is memory obtained from the driver in one piece, or, if it is expandable,
// a reserved range of addresses. Its blocks, linked from head on, cover it. (Upstream
// has no type for it: a segment is the block without a prev, and each block repeats
// what all blocks of the segment share.)
type segment struct {
	// What every free reads is first, mostly in one cache line.

	blockPool  *blockPool
	lists      *streamLists       // of the stream in the block pool
	expandable *expandableSegment // nil for a segment of one driver allocation
	number     uint64             // of the segments that were made, with TiesBySegment; see block.order

	base   spec.Ptr
	size   uint64 // bytes
	head   *block
	stream spec.Stream // the allocation stream of all of its blocks

	contextWhenAllocated gatheredContext
}

// A segmentList is the segments of a device in order of address.
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
	*l = deleteAt(*l, at)
}

// deleteAt deletes an element and moves the shorter part of the others: the cache is released
// from the lowest stream and address on.
func deleteAt[T any](list []T, at int) []T {
	if at >= len(list)/2 {
		return slices.Delete(list, at, at+1)
	}
	copy(list[1:at+1], list[:at])
	clear(list[:1])
	return list[1:]
}

// at is the segment that begins at an address, or nil.
func (l segmentList) at(base spec.Ptr) *segment {
	if at, found := slices.BinarySearchFunc(l, base, compareBase); found {
		return l[at]
	}
	return nil
}

// errRejected says that throw_on_cudamalloc_oom ends the request: see rejectLocked.
var errRejected = errors.New("rejected")

func compareBase(s *segment, base spec.Ptr) int { return cmp.Compare(s.base, base) }

// allocBlockLocked obtains a segment from the driver and makes one block of it, or
// serves the request from an expandable segment. nil without an error means out of
// memory: the limit would be exceeded, or the device has no more. The limit is tested with the size
// of a segment, also if an expandable segment needs fewer pages, or more (pytorch/pytorch#96995).
//
// It releases the mutex meanwhile if release_lock_on_cudamalloc is set.
func (d *device) allocBlockLocked(params *allocParams) (*block, error) {
	d.deliverLocked()
	if d.limited && d.reservedBytesLocked()+params.segmentSize > d.allowedMemoryMaximum {
		return nil, nil
	}
	if d.cfg.ThrowOnOOM && d.reservedBytesLocked()+params.segmentSize > d.totalMemory {
		return nil, errRejected
	}
	if params.useExpandable {
		return d.tryAllocateExpandableBlockLocked(params)
	}
	ptr, err := d.driverMallocLocked(params)
	switch {
	case errors.Is(err, spec.ErrDriverOutOfMemory):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("obtaining a segment of %d bytes: %w", params.segmentSize, err)
	}
	r := spec.Range{Ptr: ptr, Bytes: params.segmentSize}
	if err := d.checkSegmentLocked(r, d.geometry.MinBlock); err != nil {
		return nil, err
	}
	return d.addDriverSegmentLocked(params, ptr), nil
}

// checkSegmentLocked tests what the driver, or a pool's own allocator, has returned. (Upstream
// trusts it.) A range that is refused is not returned to it: it may be memory that is in use.
// The alignment is in bytes.
func (d *device) checkSegmentLocked(r spec.Range, alignment uint64) error {
	if err := checkRange("malloc", r, alignment); err != nil {
		return err
	}
	at, found := slices.BinarySearchFunc(d.segments, r.Ptr, compareBase)
	switch {
	case found || at < len(d.segments) && d.segments[at].base < r.End():
		return refused("malloc", r, overlaps(d.segments[at]))
	case at > 0 && d.segments[at-1].base+spec.Ptr(d.segments[at-1].size) > r.Ptr:
		return refused("malloc", r, overlaps(d.segments[at-1]))
	case d.uncached.used.Load() && d.uncached.has(r.Ptr):
		return refused("malloc", r, "an uncached allocation has that address")
	}
	return nil
}

func overlaps(s *segment) string { return fmt.Sprintf("the segment at %v is there", s.base) }

// driverAlignment is what addresses of the driver's memory are multiples of, in bytes: CUDA
// promises 256, and gives 512 at least (spec.Driver). A segment is divided into blocks, and must be aligned as they are.
func (d *device) driverAlignment() uint64 { return min(256, d.geometry.MinBlock) }

// checkRange tests whether a range can be memory at all.
func checkRange(op string, r spec.Range, alignment uint64) error {
	switch {
	case r.Ptr == 0 || uint64(r.Ptr)%alignment != 0:
		return refused(op, r, fmt.Sprintf("the address is not a multiple of %d", alignment))
	case r.End() < r.Ptr:
		return refused(op, r, "the end is above the highest address")
	}
	return nil
}

// refused is the error about memory that the driver, or a pool's own allocator, has returned.
func refused(op string, r spec.Range, why string) error {
	reason := fmt.Sprintf("obtained %d bytes at %v, but %s", r.Bytes, r.Ptr, why)
	return &spec.InvalidArgumentError{Op: op, Reason: reason}
}

// driverMallocLocked calls the driver. It releases the mutex meanwhile if
// release_lock_on_cudamalloc is set.
func (d *device) driverMallocLocked(params *allocParams) (spec.Ptr, error) {
	pool := params.blockPool.owner
	if !d.cfg.ReleaseLockOnMalloc {
		return pool.driverMalloc(d.driver, d.id, params)
	}
	var ptr spec.Ptr
	var err error
	d.withoutMutexLocked(pool, func() { ptr, err = pool.driverMalloc(d.driver, d.id, params) })
	return ptr, err
}

// driverMalloc obtains a segment from the pool's own allocator, if it has one, or from the
// driver.
func (p *pool) driverMalloc(
	driver spec.Driver, dev spec.Device, params *allocParams,
) (spec.Ptr, error) {
	if p.allocator == nil {
		return driver.Malloc(dev, params.segmentSize)
	}
	ptr, err := p.allocator.Allocate(dev, params.segmentSize, params.stream)
	if err == nil && ptr == 0 {
		err = spec.ErrDriverOutOfMemory // what a null pointer of a C function means
	}
	return ptr, err
}

// driverFree returns a segment to where driverMalloc obtained it.
func (p *pool) driverFree(driver spec.Driver, dev spec.Device, s *segment) error {
	if p.allocator == nil {
		return driver.Free(dev, s.base)
	}
	return p.allocator.Free(dev, s.base, s.size, s.stream)
}

// addDriverSegmentLocked adds, counts and traces a segment obtained from the driver.
func (d *device) addDriverSegmentLocked(params *allocParams, ptr spec.Ptr) *block {
	s := &segment{base: ptr, size: params.segmentSize, contextWhenAllocated: d.operation.context}
	b := d.addSegmentLocked(s, params)
	kind := params.blockPool.kind
	d.stats.Segment.Increase(kind, 1)
	d.increaseReservedLocked(params.blockPool, b.size)
	if b.size >= d.cfg.MaxSplitSize {
		d.stats.OversizeSegments.Increase(1)
	}
	d.stats.NumDeviceAlloc++
	params.blockPool.owner.cudaMallocCount++
	d.recordTraceLocked(spec.ActionSegmentAlloc, b.segment, b.whole(), nil)
	return b
}

// addSegmentLocked adds a segment for a request, with one block that covers it.
func (d *device) addSegmentLocked(s *segment, params *allocParams) *block {
	s.blockPool, s.stream = params.blockPool, params.stream
	if d.rules.Ties == upstream.TiesBySegment {
		d.segmentsMade++
		s.number = d.segmentsMade
	}
	s.head = d.newBlockLocked(s, s.base, s.size)
	s.head.prev, s.head.next = nil, nil
	s.blockPool.blocks.addSegment(s)
	d.segments.insert(s)
	return s.head
}

// removeSegmentLocked removes a segment, whose memory was returned. Its block is in no list.
func (d *device) removeSegmentLocked(s *segment) {
	s.blockPool.blocks.removeSegment(s)
	d.segments.remove(s)
}

// releaseBlockLocked returns a free block that is a whole segment, not an expandable one, to
// the driver (upstream: release_block). If the driver call fails, nothing has changed.
func (d *device) releaseBlockLocked(b *block) error {
	s := b.segment
	blockPool := s.blockPool
	if err := blockPool.owner.driverFree(d.driver, d.id, s); err != nil {
		return fmt.Errorf("returning the segment at %v (%d bytes): %w", s.base, s.size, err)
	}
	d.stats.NumDeviceFree++
	d.recordTraceLocked(spec.ActionSegmentFree, s, b.whole(), s.contextWhenAllocated)
	d.stats.Segment.Decrease(blockPool.kind, 1)
	d.decreaseReservedLocked(blockPool, s.size)
	if s.size >= d.cfg.MaxSplitSize {
		d.stats.OversizeSegments.Decrease(1)
	}
	b.removeFromList()
	d.removeSegmentLocked(s)
	blockPool.owner.cudaMallocCount--
	d.recycleBlockLocked(b)
	d.deliverLocked()
	return nil
}

// BaseAllocation returns the base and the size in bytes of the segment around an
// allocated pointer. It is an InvalidArgumentError for an expandable segment, which is
// no single allocation of the driver.
func (a *Allocator) BaseAllocation(p spec.Ptr) (spec.Ptr, uint64, error) {
	const op = "base_allocation"
	d := a.deviceOf(p)
	if d == nil {
		return 0, 0, &spec.InvalidPointerError{Op: op, Ptr: p}
	}
	d.mu.Lock()
	defer d.unlock()
	b := d.allocatedBlocks.findLocked(p)
	if b == nil {
		return 0, 0, &spec.InvalidPointerError{Op: op, Ptr: p}
	}
	if b.isExpandable() {
		const reason = "the pointer is in an expandable segment, which is not one driver allocation"
		return 0, 0, &spec.InvalidArgumentError{Op: op, Reason: reason}
	}
	return b.segment.base, b.segment.size, nil
}
