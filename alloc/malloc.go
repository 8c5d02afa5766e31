package alloc

import (
	"gaugeblock/spec"
)

// The way of a malloc, in order. The first step that yields a block ends it.
//
//	free what events no longer hold back             events.go, deferred.go
//	round, choose the pool                           size.go, redirection.go
//	search the pool                                  bestfit.go
//	ask the callbacks for memory, search again       malloc.go
//	collect garbage                                  gc.go
//	a new segment, or pages for an expandable one    segment.go, mapping.go
//	search the pools kept for this case              privatepool.go
//	release oversize blocks; a new segment           release.go
//	release the whole cache; a new segment           release.go
//	out of memory                                    outofmemory.go
//
// A block that is found is split if it is much too large (bestfit.go) and given
// out (handout.go).

// want is a request on its way through the allocator (upstream: AllocParams).
type want struct {
	thread      spec.Thread
	stream      spec.Stream
	requested   uint64 // bytes, as asked for
	size        uint64 // bytes, rounded: what the block must have
	segmentSize uint64 // bytes, what to ask the driver for
	pool        *blockPool
	expandable  bool // may be served by an expandable segment
	context     any
}

// malloc serves a request of at least one byte. It takes the lock.
func (d *device) malloc(r spec.Request) (spec.Ptr, error) {
	w := want{thread: r.Thread, stream: r.Stream, requested: r.Bytes}
	w.context = d.diary.gather(spec.ContextState)

	d.mu.Lock()
	b, err := d.findBlock(&w)
	if b == nil {
		if err != nil {
			d.mu.Unlock()
			return 0, err
		}
		return 0, d.failOutOfMemory(&w) // unlocks
	}
	if err := d.openBlock(b); err != nil {
		d.mu.Unlock()
		return 0, err
	}
	ptr := d.handOut(b, &w)
	d.mu.Unlock()
	return ptr, nil
}

// findBlock goes the way described above. nil without an error means that there
// is no memory.
func (d *device) findBlock(w *want) (*block, error) {
	if err := d.reclaim(w); err != nil {
		return nil, err
	}
	w.size = roundSize(w.requested, &d.cfg, &d.geometry)
	w.segmentSize = segmentSize(w.size, &d.cfg, &d.geometry)
	owner := d.choosePool(w)
	if err := d.noteCapture(owner, w); err != nil {
		return nil, err
	}
	w.pool = owner.half(w.size, &d.geometry)
	w.expandable = d.cfg.ExpandableSegments && owner.memory == nil

	if b := d.takeBestFit(w); b != nil {
		return b, nil
	}
	if d.askForMemory(w) {
		if b := d.takeBestFit(w); b != nil {
			return b, nil
		}
	}
	if d.collectsGarbage() {
		if err := d.collectGarbage(w.context); err != nil {
			return nil, err
		}
	}
	return d.obtainBlock(w)
}

// reclaim frees what was freed by its owner and has been held back until now. The
// driver must not be asked about events while streams are being captured.
func (d *device) reclaim(w *want) error {
	if !d.redirecting() {
		return d.processEvents(w.context)
	}
	if d.cfg.GraphCaptureRecordStreamReuse {
		return d.freeSafeInCapture(w)
	}
	return nil
}

// obtainBlock asks the driver, each time with more of the cache given back.
func (d *device) obtainBlock(w *want) (*block, error) {
	b, err := d.obtainSegment(w, false)
	if b != nil || err != nil {
		return b, err
	}
	if b := d.takeFromOverflowPool(w); b != nil {
		return b, nil
	}
	released, err := d.releaseOversize(w)
	if err != nil {
		return nil, err
	}
	if released {
		b, err = d.obtainSegment(w, false)
		if b != nil || err != nil {
			return b, err
		}
	}
	if d.redirecting() {
		return nil, nil
	}
	if err := d.releaseCached(w.context); err != nil {
		return nil, err
	}
	return d.obtainSegment(w, true)
}

// askForMemory calls those who promised to free memory when asked, and reports
// whether one did. The lock is released meanwhile, so that they can.
func (d *device) askForMemory(w *want) bool {
	callbacks := d.needMemory
	if len(callbacks) == 0 {
		return false
	}
	defer d.unlockFor(w.pool.owner)()
	freed := false
	for _, callback := range callbacks {
		if callback() {
			freed = true
		}
	}
	return freed
}
