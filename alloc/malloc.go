package alloc

import (
	"errors"
	"fmt"
	"slices"

	"gaugeblock/spec"
)

// The steps of a malloc, in order. The first that yields a block is the last.
//
//	complete frees that need not wait any longer     events.go, capture.go
//	round the size                                   size.go
//	choose the pool, then its block pool             capture.go, pool.go
//	search the free blocks                           bestfit.go
//	call the free-memory callbacks, search again     malloc.go
//	collect garbage                                  release.go
//	a new segment, or pages for an expandable one    segment.go, mapping.go
//	search the pools marked use_on_oom               pool.go
//	release oversize blocks; a new segment           release.go
//	release the whole cache; a new segment           release.go
//	out of memory                                    malloc.go
//
// A block that is found is split if should_split says so (shouldSplitLocked, bestfit.go).

// allocParams is a request and what was decided for it (upstream: AllocParams).
type allocParams struct {
	stream        spec.Stream
	requestedSize uint64 // bytes
	size          uint64 // bytes: the request, rounded (round_size)
	segmentSize   uint64 // bytes, of a new segment for the request (alloc_size)
	blockPool     *blockPool
	useExpandable bool // expandable segments are on, and the pool can have them
}

// malloc serves a request of at least one byte. The fast path of malloc, a block from the cache, and
// that of free take the device's mutex once and hold it through all steps. They take no other mutex,
// but their turn if another caller has it (lock.go); with several devices the table of allocated blocks
// is also written as atomics (pointertable.go). The slow path releases the mutex around the free-memory
// callbacks and, with release_lock_on_cudamalloc, around the driver's malloc (withoutMutexLocked).
//
// The fast path calls nothing but functions of this package, and need not be prepared for a panic.
// Everything else is in functions of its own, so that the fast path writes little to the stack.
func (d *device) malloc(r spec.Request) (spec.Ptr, error) {
	if d.contextRecorder.Load() != nil {
		return d.mallocWithContext(r)
	}
	if !d.mu.TryLock() {
		d.lockInTurn()
	}
	if ptr := d.hitLocked(r.Stream, r.Bytes); ptr != 0 {
		d.mu.Unlock()
		return ptr, nil
	}
	return d.mallocAndUnlock(r, nil)
}

// mallocWithContext is malloc if the program's function is to be asked for the context.
func (d *device) mallocWithContext(r spec.Request) (spec.Ptr, error) {
	context := d.gatherContext(spec.ContextState)
	d.lock()
	return d.mallocAndUnlock(r, context)
}

// mallocAndUnlock goes through all steps of a malloc. It releases the mutex, which is held.
func (d *device) mallocAndUnlock(r spec.Request, context gatheredContext) (spec.Ptr, error) {
	d.operation = operation{context: context, thread: r.Thread, stream: r.Stream}
	ptr, failure, err := d.findAllocateAndUnlock(&allocParams{stream: r.Stream, requestedSize: r.Bytes})
	if failure != nil {
		return 0, failure.report()
	}
	return ptr, err
}

func (d *device) findAllocateAndUnlock(params *allocParams) (spec.Ptr, *outOfMemory, error) {
	defer d.unlock()
	return d.findAndAllocateLocked(params)
}

// hitLocked serves the usual request by the same functions as the steps above: nothing waits for
// an event, no request is routed, no capture is marked, nothing is traced, no garbage is collected,
// and a free block that is accessible is the best fit. If it returns 0, nothing has changed, and
// the steps follow.
func (d *device) hitLocked(stream spec.Stream, bytes uint64) spec.Ptr {
	if len(d.cudaEvents)|len(d.deferredBlocks)|len(d.capturesUnderway)|d.capturesMarked != 0 ||
		d.traceBuffer.enabled || d.gcEnabledLocked() {
		return 0
	}
	size := roundSize(bytes, &d.cfg, &d.geometry)
	blockPool := d.defaultPool.blockPoolFor(size, &d.geometry)
	b := d.bestFitLocked(blockPool, stream, size, d.cfg.ExpandableSegments)
	if b == nil || b.segment.hasInaccessible() {
		return 0
	}
	b.segment.lists.free.remove(b)
	split := d.shouldSplitLocked(b, size, d.cfg.ExpandableSegments)
	return d.allocFoundBlockLocked(b, size, bytes, split).ptr
}

// hasInaccessible reports whether memory of the segment still has to be made accessible.
func (s *segment) hasInaccessible() bool {
	return s.expandable != nil && s.expandable.inaccessible > 0
}

// chooseBlockPoolLocked rounds the size of a request and chooses the block pool.
func (d *device) chooseBlockPoolLocked(params *allocParams, pool *pool) {
	params.size = roundSize(params.requestedSize, &d.cfg, &d.geometry)
	params.blockPool = pool.blockPoolFor(params.size, &d.geometry)
	params.useExpandable = d.cfg.ExpandableSegments && pool.allocator == nil
}

// findAndAllocateLocked goes through all steps. It releases the mutex meanwhile as
// findBlockLocked does.
func (d *device) findAndAllocateLocked(params *allocParams) (spec.Ptr, *outOfMemory, error) {
	b, err := d.findBlockLocked(params)
	if errors.Is(err, errRejected) {
		return 0, d.rejectLocked(params), nil
	}
	if err != nil {
		return 0, nil, err
	}
	if b == nil {
		return 0, d.outOfMemoryLocked(params), nil
	}
	if b.isExpandable() {
		if err := d.setAccessLocked(b); err != nil {
			return 0, nil, err
		}
	}
	split := d.shouldSplitLocked(b, params.size, params.useExpandable)
	b = d.allocFoundBlockLocked(b, params.size, params.requestedSize, split)
	d.recordAllocLocked(b)
	if d.traceBuffer.hasUndelivered() {
		d.deliverOrFreeLocked(b.ptr)
	}
	return b.ptr, nil, nil
}

// deliverOrFreeLocked delivers the trace entries of a malloc. If one of the program's
// functions panics, malloc does not return: the memory is freed again, since nobody has its
// pointer.
func (d *device) deliverOrFreeLocked(ptr spec.Ptr) {
	undo := func() { d.freeAtOnceLocked(d.allocatedBlocks.findLocked(ptr)) }
	unlessReturned(undo, d.traceBuffer.deliver)
}

// findBlockLocked finds a block for the request, in the steps listed above. The block is
// free and in no list. nil without an error means out of memory. It releases the mutex
// meanwhile for callbacks, and as allocBlockLocked does.
func (d *device) findBlockLocked(params *allocParams) (*block, error) {
	if err := d.reclaimBlocksLocked(params); err != nil {
		return nil, err
	}
	pool := d.getPoolLocked(params)
	if err := d.markIfCapturingLocked(pool, params.stream); err != nil {
		return nil, err
	}
	d.chooseBlockPoolLocked(params, pool)
	params.segmentSize = segmentSize(params.size, &d.cfg, &d.geometry)
	if b := d.getFreeBlockLocked(params.blockPool, params.stream, params.size, params.useExpandable); b != nil {
		return b, nil
	}
	if d.triggerFreeMemoryCallbacksLocked(params) {
		if b := d.getFreeBlockLocked(params.blockPool, params.stream, params.size, params.useExpandable); b != nil {
			return b, nil
		}
	}
	if d.gcEnabledLocked() {
		if err := d.garbageCollectCachedBlocksLocked(); err != nil {
			return nil, err
		}
	}
	return d.allocOrReleaseLocked(params)
}

// reclaimBlocksLocked completes the frees of pending blocks whose events have completed. Deferred
// blocks become pending before that, or free if they need no event. While there may be a capture
// (mayCaptureLocked) no event is recorded or queried, and with
// graph_capture_record_stream_reuse the deferred blocks of the request's stream become free whose
// markers are all before that stream's next node in the graph.
func (d *device) reclaimBlocksLocked(params *allocParams) error {
	capturing, err := d.mayCaptureLocked()
	if err != nil {
		return err
	}
	if !capturing {
		return d.processEventsLocked()
	}
	if d.cfg.GraphCaptureRecordStreamReuse {
		return d.freeSafeBlocksInCaptureLocked(params)
	}
	return nil
}

// triggerFreeMemoryCallbacksLocked calls the callbacks that may free memory, and reports
// whether one says that it did. It releases the mutex meanwhile, so that they can.
func (d *device) triggerFreeMemoryCallbacksLocked(params *allocParams) bool {
	callbacks, pool := d.freeMemoryCallbacks, params.blockPool.owner
	if len(callbacks) == 0 {
		return false
	}
	freed := false
	d.withoutMutexLocked(pool, func() {
		for _, callback := range callbacks {
			if callback() {
				freed = true
			}
		}
	})
	return freed
}

// allocOrReleaseLocked obtains memory from the driver; if there is none, it returns more and
// more of the cache to the driver and tries again. It releases the mutex meanwhile as
// allocBlockLocked does.
func (d *device) allocOrReleaseLocked(params *allocParams) (*block, error) {
	b, err := d.allocBlockLocked(params)
	if b != nil || err != nil {
		return b, err
	}
	if !d.rules.UseOnOOMLast {
		if b := d.tryMempoolFallbackLocked(params); b != nil {
			return b, nil
		}
	}
	released, err := d.releaseAvailableCachedBlocksLocked(params)
	if err != nil {
		return nil, err
	}
	if released {
		b, err = d.allocBlockLocked(params)
		if b != nil || err != nil {
			return b, err
		}
	}
	capturing, err := d.mayCaptureLocked()
	if err != nil {
		return nil, err
	}
	if !capturing {
		if err := d.releaseCachedBlocksLocked(); err != nil {
			return nil, err
		}
		d.stats.NumAllocRetries++ // whether or not it succeeds
		b, err = d.allocBlockLocked(params)
		if b != nil || err != nil {
			return b, err
		}
	}
	if d.rules.UseOnOOMLast {
		return d.tryMempoolFallbackLocked(params), nil
	}
	return nil, nil
}

// allocFoundBlockLocked allocates a block, which is free and in no list, for a request of
// requestedSize, rounded to size. If it is to be split, the request takes the low addresses; the
// remainder becomes a free block.
func (d *device) allocFoundBlockLocked(b *block, size, requestedSize uint64, split bool) *block {
	// The change of inactive_split: minus the block, if it does not cover its segment, plus the
	// remainder.
	var count, bytes int64
	if b.isSplit() {
		count, bytes = -1, -int64(b.size)
	}
	s := b.segment
	if split {
		remaining := b
		b = d.spareBlockLocked()
		b.splitOff(remaining, size)
		s.blockPool.startAge(remaining)
		s.lists.free.insert(remaining)
		count, bytes = count+1, bytes+int64(remaining.size)
	}
	b.allocated = true
	b.requestedSize = requestedSize
	d.allocatedBlocks.insertLocked(b.ptr, b)
	// Blocks of an expandable segment do not count.
	if s.expandable != nil {
		bytes = 0
	}
	d.blockStats.allocate(s.blockPool.kind, int64(b.size), int64(requestedSize), count, bytes)
	if b.size >= d.cfg.MaxSplitSize {
		d.stats.OversizeAllocations.Increase(1)
	}
	return b
}

// recordAllocLocked traces that a block was allocated, and keeps the context. The block was free,
// and has none yet.
func (d *device) recordAllocLocked(b *block) {
	if d.operation.context != nil {
		b.writeRare().contextWhenAllocated = d.operation.context
	}
	d.recordTraceLocked(spec.ActionAlloc, b.segment, b.requested(), nil)
}

// outOfMemory is the error of a request that failed, and the observers to call.
type outOfMemory struct {
	err        *spec.OutOfMemoryError
	memInfoErr error // of Driver.MemInfo, or nil
	observers  []func(spec.OutOfMemoryReport)

	rejectionObservers []func(spec.RejectionReport) // if it was rejected
}

// outOfMemoryLocked counts and traces that a request failed.
func (d *device) outOfMemoryLocked(params *allocParams) *outOfMemory {
	free, total, memInfoErr := d.driver.MemInfo(d.id)
	if memInfoErr != nil {
		free, total = 0, d.totalMemory
	}
	d.stats.NumOOMs++
	d.recordOOMTraceLocked(params, free)

	pools := d.graphPools.freeBytes()
	allocated := uint64(d.blockStats.allocatedBytes.current()) + pools
	err := &spec.OutOfMemoryError{
		Device: d.id, Requested: params.requestedSize, SegmentSize: params.segmentSize,
		DeviceTotal: total, DeviceFree: free,
		Limited: d.limited, Limit: d.allowedMemoryMaximum,
		Allocated: allocated, PrivatePools: pools, Unallocated: d.reservedBytesLocked() - allocated,
	}
	return &outOfMemory{err: err, memInfoErr: memInfoErr, observers: slices.Clone(d.oomObservers)}
}

// rejectLocked counts that throw_on_cudamalloc_oom has ended a request. Since a limit is tested
// before, it ends those that would exceed the device's memory, whatever could be released.
func (d *device) rejectLocked(params *allocParams) *outOfMemory {
	d.moreStats.numOOMRejections++
	err := &spec.OutOfMemoryError{
		Device: d.id, Requested: params.requestedSize, SegmentSize: params.segmentSize,
		DeviceTotal: d.totalMemory, Unallocated: d.reservedBytesLocked(), Rejected: true,
	}
	return &outOfMemory{err: err, rejectionObservers: slices.Clone(d.rejectionObservers)}
}

// report calls the observers, which may use the allocator, and returns the error for
// the caller of malloc. No mutex is held.
func (o *outOfMemory) report() error {
	r := spec.OutOfMemoryReport{
		Device: o.err.Device, SegmentSize: o.err.SegmentSize, Allowed: o.err.DeviceTotal, DeviceFree: o.err.DeviceFree,
	}
	if o.err.Limited {
		r.Allowed = o.err.Limit
	}
	for _, observe := range o.observers {
		observe(r)
	}
	for _, observe := range o.rejectionObservers {
		observe(spec.RejectionReport{
			Device: o.err.Device, SegmentSize: o.err.SegmentSize,
			Reserved: o.err.Unallocated, DeviceTotal: o.err.DeviceTotal,
		})
	}
	if o.memInfoErr != nil {
		return errors.Join(o.err, fmt.Errorf("asking for the free memory: %w", o.memInfoErr))
	}
	return o.err
}
