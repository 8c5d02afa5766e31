package play

import (
	"errors"
	"fmt"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
	"gaugeblock/upstream"
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
	if r.asRecorded() {
		config.ExpandableSegments = r.StartsExpandable
	}
	final := config
	if recordedLayout {
		config = spec.DefaultConfig(spec.DefaultGeometry())
		for i := range r.InitialSegments {
			if s := &r.InitialSegments[i]; !s.Expandable {
				addresses.recorded = append(addresses.recorded, s.Address)
			}
		}
	}
	r.driver = newDriver(r.policy(addresses))
	r.driver.now = -1
	var err error
	if r.alloc, err = alloc.New(r.driver, alloc.Options{Config: &config, Rules: r.rules()}); err != nil {
		return err
	}
	for _, id := range r.PrivatePools {
		var options spec.PoolOptions
		if r.OwnMemory[id] {
			options.Memory = ownMemory{r.driver}
		}
		if err := r.alloc.CreatePool(0, id, options); err != nil {
			return err
		}
	}
	if recordedLayout {
		if err = r.makeRecordedLayout(); err == nil {
			err = r.configure(final)
		}
	} else {
		err = r.allocateAnew()
	}
	if len(addresses.recorded) > 0 {
		err = errors.Join(err, errors.New("the recorded start has segments that cannot be allocated"))
	}
	if r.asRecorded() {
		addresses.recorded = recordedSegments(r.Workload)
	}
	if err != nil {
		return err
	}
	if err := r.applyLimits(); err != nil {
		return err
	}
	if r.options.Assumptions.WarmStart && !r.Complete() {
		if err := r.warmUp(); err != nil {
			return err
		}
	}
	if v := r.options.verifier; v != nil {
		r.alloc.OnTrace(v.entry)
	}
	r.before, err = r.statistics()                                                                 // statistics are those of the history
	r.outcome.StartReserved, r.outcome.ReachedBefore = r.before.PeakReserved, r.before.Retries > 0 // the peaks were reset
	return err
}

// rules are those of the release of the run.
func (r *runner) rules() upstream.Rules {
	for _, name := range []string{r.options.Release, r.options.Assumptions.Release} {
		if other, found := upstream.Find(name); found {
			return other.Rules
		}
	}
	return r.Release.Rules
}

// asRecorded reports whether the run is to repeat the recorded one.
func (r *runner) asRecorded() bool { return r.options.verifier != nil || r.options.asRefused }

// configure sets settings. A value that they do not name would stay what it is.
func (r *runner) configure(c spec.Config) error {
	unnamed := fmt.Sprintf("expandable_segments:False,large_segment_size_mb:%d,", spec.DefaultGeometry().LargeBuffer/spec.MiB)
	return r.alloc.Configure(unnamed + history.SettingsOf(c).Text)
}

// ownMemory is the allocator of a pool that has one of its own: the driver of the run.
type ownMemory struct{ *driver }

func (m ownMemory) Allocate(dev spec.Device, bytes uint64, _ spec.Stream) (spec.Ptr, error) {
	return m.Malloc(dev, bytes)
}

func (m ownMemory) Free(dev spec.Device, p spec.Ptr, _ uint64, _ spec.Stream) error {
	return m.driver.Free(dev, p)
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
// That is possible if an allocator can make the layout.
func (r *runner) hasRecordedLayout() bool {
	for i := range r.InitialSegments {
		if s := &r.InitialSegments[i]; !s.Expandable && s.Address+spec.Ptr(s.TotalSize) > recordedEnd {
			return false
		}
	}
	return !r.Complete() && !r.options.Assumptions.PackedStart && !r.ImpossibleStart
}

// warmUp makes the recorded requests, and then makes the allocations those of the start
// again: what is left is freed, and what was freed is allocated.
func (r *runner) warmUp() error {
	start := len(r.startRequests())
	for i := range r.Requests {
		r.driver.now = int32(i)
		if err := r.perform(&r.Requests[i]); err != nil {
			return err
		}
	}
	for id := start; id < len(r.ptrs); id++ {
		if p := r.ptrs[id]; p != 0 && r.live(int32(id)) {
			if err := r.alloc.Free(p); err != nil {
				return err
			}
		}
		r.ptrs[id] = 0
	}
	for id, q := range r.startRequests() {
		if r.live(int32(id)) {
			continue
		}
		p, err := r.allocate(q.pool, q.Request)
		if err != nil && !errors.Is(err, spec.ErrOutOfMemory) {
			return err
		}
		r.ptrs[id] = p
	}
	r.outcome, r.mallocs, r.failureMade, r.driver.now = Outcome{}, 0, false, -1
	return r.alloc.ResetPeakStats(0)
}

// live reports whether an allocation is not freed in the history.
func (r *runner) live(id int32) bool {
	if r.freed == nil {
		r.freed = make([]bool, r.Allocations)
		for i := range r.Requests {
			switch q := &r.Requests[i]; q.Kind {
			case history.Free, history.FailedMalloc:
				r.freed[q.ID] = true
			}
		}
	}
	return !r.freed[id]
}

// startRequest is the request for a block of the start.
type startRequest struct {
	spec.Request
	pool uint8
}

// startRequests are those for the initial blocks, by ID.
func (r *runner) startRequests() (list []startRequest) {
	for i := range r.InitialSegments {
		s := &r.InitialSegments[i]
		for _, b := range s.Blocks {
			if b.State != spec.Inactive { // a block is not smaller than the request
				list = append(list, startRequest{spec.Request{Stream: s.Stream, Bytes: min(b.RequestedSize, b.Size)}, r.PoolNumber(s.Pool)})
			}
		}
	}
	return list
}

// allocateAnew requests the initial blocks.
func (r *runner) allocateAnew() error {
	for id, q := range r.startRequests() {
		p, err := r.allocate(q.pool, q.Request)
		if err != nil && !errors.Is(err, spec.ErrOutOfMemory) {
			return err
		}
		r.ptrs[id] = p
	}
	return r.alloc.ResetPeakStats(0) // peaks are those of the history
}

// checkInitialLayout finds out whether the recorded layout can be made.
func checkInitialLayout(w *history.Workload) {
	r := &runner{Workload: w, options: RunOptions{Settings: w.Settings, Assumptions: MeasuredDriver}, ptrs: make([]spec.Ptr, w.Allocations)}
	w.ImpossibleStart = r.begin() != nil
}
