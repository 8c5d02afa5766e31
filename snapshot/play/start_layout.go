package play

import (
	"errors"
	"fmt"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
)

// How a run begins. If the history is complete, the allocator is empty. Else it has the
// initial blocks, in one of two layouts: the recorded one, which is right under the
// recorded settings, or the one that results when they are allocated anew, in order of
// address.

// begin makes the allocator and the initial blocks.
func (r *runner) begin() error {
	recordedLayout := r.hasRecordedLayout()
	addresses := &recordedFirst{others: r.options.Assumptions.Addresses()}
	config := r.options.Settings.Config
	if recordedLayout {
		config = spec.DefaultConfig(spec.DefaultGeometry())
		for i := range r.InitialSegments {
			addresses.recorded = append(addresses.recorded, r.InitialSegments[i].Address)
		}
	}
	r.driver = newDriver(r.policy(addresses))
	r.driver.now = -1
	var err error
	if r.alloc, err = alloc.New(r.driver, alloc.Options{Config: &config}); err != nil {
		return err
	}
	for _, id := range r.PrivatePools {
		if err := r.alloc.CreatePool(0, id, spec.PoolOptions{}); err != nil {
			return err
		}
	}
	if recordedLayout {
		err = errors.Join(r.makeRecordedLayout(), r.alloc.Configure(r.options.Settings.Text))
	} else {
		err = r.allocateAnew()
	}
	if len(addresses.recorded) > 0 {
		err = errors.Join(err, errors.New("the recorded start has segments that cannot be allocated"))
	}
	if r.options.verifier != nil {
		addresses.recorded = recordedSegments(r.Workload)
	}
	if err != nil {
		return err
	}
	if v := r.options.verifier; v != nil {
		r.alloc.OnTrace(v.entry)
	}
	return r.applyLimits()
}

// policy is the address policy of the run. It begins with the addresses of the initial
// segments.
func (r *runner) policy(first *recordedFirst) fakegpu.AddressPolicy {
	if !r.options.Assumptions.RecordedAddresses || r.options.verifier != nil || !r.Complete() {
		return first
	}
	policy := &asRecordedThen{recordedFirst: recordedFirst{others: first.others}}
	for i := range r.Trace {
		if e := &r.Trace[i]; e.Action == spec.ActionSegmentAlloc && e.Addr < recordedEnd {
			policy.recorded = append(policy.recorded, e.Addr)
			policy.sizes = append(policy.sizes, e.Size)
		}
	}
	return policy
}

// applyLimits makes the limits of the run those of the allocator and of the device.
func (r *runner) applyLimits() error {
	if room := r.options.Reading.Device; room > 0 {
		r.driver.setRoom(room)
	}
	if allowed := r.options.Reading.Fraction; allowed > 0 {
		return r.allow(allowed)
	}
	return nil
}

// hasRecordedLayout reports whether the initial blocks are to have the recorded layout.
// That is possible if no segment is expandable and an allocator can make the layout.
func (r *runner) hasRecordedLayout() bool {
	for i := range r.InitialSegments {
		if s := &r.InitialSegments[i]; s.Expandable || s.Address+spec.Ptr(s.TotalSize) > recordedEnd {
			return false
		}
	}
	return !r.Complete() && !r.options.Assumptions.PackedStart && !r.ImpossibleStart
}

// allocateAnew requests the initial blocks.
func (r *runner) allocateAnew() error {
	id := 0
	for i := range r.InitialSegments {
		s := &r.InitialSegments[i]
		for _, b := range s.Blocks {
			if b.State == spec.Inactive {
				continue
			}
			requested := min(b.RequestedSize, b.Size) // a block is not smaller than the request
			p, err := r.allocate(r.PoolNumber(s.Pool), spec.Request{Stream: s.Stream, Bytes: requested})
			if err != nil && !errors.Is(err, spec.ErrOutOfMemory) {
				return err
			}
			r.ptrs[id] = p
			id++
		}
	}
	return r.alloc.ResetPeakStats(0) // peaks are those of the history
}

// makeRecordedLayout makes the initial segments one after the other. While all blocks of
// the earlier ones are allocated, a request of the size of a segment gets a new segment.
// Freed, that is the only free block, and the blocks are split from it in order. The
// inactive blocks of the record are freed at the end. The settings are the default ones
// meanwhile. Under these a block is split to the exact size: in a large pool no recorded
// block is as small as a remainder that would not be split off.
func (r *runner) makeRecordedLayout() error {
	id := 0
	var inactive []spec.Ptr
	for i := range r.InitialSegments {
		s := &r.InitialSegments[i]
		if s.PoolKind == spec.LargePool {
			whole, err := r.allocate(r.PoolNumber(s.Pool), spec.Request{Stream: s.Stream, Bytes: s.TotalSize})
			if err := errors.Join(err, r.alloc.Free(whole)); err != nil {
				return err
			}
		}
		for _, b := range s.Blocks {
			made, err := r.makeBlock(s, b)
			if err != nil {
				return err
			}
			if b.State == spec.Inactive {
				inactive = append(inactive, made...)
				continue
			}
			r.ptrs[id] = made[0]
			id++
		}
	}
	for _, p := range inactive {
		if err := r.alloc.Free(p); err != nil {
			return err
		}
	}
	return r.alloc.ResetPeakStats(0) // peaks are those of the history
}

// makeBlock allocates the next block of a segment. An inactive block of a small pool may
// be larger than the requests that the pool serves, and is allocated in parts.
func (r *runner) makeBlock(s *spec.Segment, b spec.Block) ([]spec.Ptr, error) {
	largest := b.Size
	if s.PoolKind == spec.SmallPool {
		largest = spec.DefaultGeometry().SmallSize
	}
	var made []spec.Ptr
	for done := uint64(0); done < b.Size; {
		part := min(largest, b.Size-done)
		p, err := r.allocate(r.PoolNumber(s.Pool), spec.Request{Stream: s.Stream, Bytes: part})
		if err != nil {
			return nil, err
		}
		if want := b.Address + spec.Ptr(done); p != want {
			return nil, fmt.Errorf("the block at %v cannot be allocated again, its address is now %v", want, p)
		}
		made = append(made, p)
		done += part
	}
	return made, nil
}

// checkInitialLayout finds out whether the recorded layout can be made.
func checkInitialLayout(w *history.Workload) {
	r := &runner{Workload: w, options: RunOptions{Settings: w.Settings, Assumptions: MeasuredDriver}, ptrs: make([]spec.Ptr, w.Allocations)}
	w.ImpossibleStart = r.begin() != nil
}
