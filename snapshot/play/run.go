package play

import (
	"errors"
	"fmt"

	"gaugeblock/alloc"
	"gaugeblock/internal/memlimit"
	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
)

// RunOptions are the conditions of a run.
type RunOptions struct {
	Settings    history.Settings
	Reading     history.Reading // the limits
	Assumptions Assumptions
	// StopAtOOM ends the run at the first OOM. Otherwise the program goes on without
	// the memory.
	StopAtOOM bool
	Memory    *memlimit.Budget // may be nil
	Release   string           // the rules of another release than the record's; "": not another
	// Watch, if there is one, hears after each request how many bytes of the device the
	// allocator holds.
	Watch func(held uint64)
	// WatchAllocated hears after each request how many bytes are allocated.
	WatchAllocated func(allocated uint64)

	verifier *verifier // compares with the recorded run; may be nil
	// asRefused makes the driver refuse what was refused in the recorded run, and grant
	// everything else.
	asRefused bool
}

// Statistics are those of torch.cuda.memory_stats. Sizes are in bytes.
type Statistics struct {
	PeakReserved  uint64
	PeakAllocated uint64
	Retries       int64 // num_alloc_retries
	DeviceAllocs  int64
	DeviceFrees   int64
	OOMs          int64
}

// Unallocated is the share of PeakReserved that PeakAllocated leaves, 0 to 1: reserved
// but unallocated memory.
func (s Statistics) Unallocated() float64 {
	if s.PeakReserved == 0 {
		return 0
	}
	return 1 - float64(min(s.PeakAllocated, s.PeakReserved))/float64(s.PeakReserved)
}

// Outcome is the result of a run.
type Outcome struct {
	// Statistics are those after the first OOM, or at the end if there is none.
	Statistics
	FirstOOM *OutOfMemory // nil if no request failed
	LastOOM  *OutOfMemory // only of the recorded run
	// AtEnd are the statistics at the end, if the program goes on without the memory
	// of requests that failed.
	AtEnd Statistics
	// Passed: a request succeeded that failed in the recorded run. Missed: the reverse.
	Passed, Missed bool
	// Parted is the peak reserved when the first of these happened: from then on the
	// program may make other requests than the recorded ones.
	Parted uint64
	// StartReserved is what is reserved when the history begins.
	StartReserved uint64
	// ReachedBefore: the limit was reached in the requests of a warm start.
	ReachedBefore bool
	// BeforeFailure is the peak reserved before the first request that failed in the
	// recorded run.
	BeforeFailure uint64
}

// ReachesLimit reports whether cached memory had to be freed for a request, or one failed.
func (o *Outcome) ReachesLimit() bool { return o.Retries > 0 || o.ReachedBefore || o.FirstOOM != nil }

// OutOfMemory is a request that failed, and the memory at that time, in bytes.
type OutOfMemory struct {
	Request          int // index into Workload.Requests
	Number           int // counting the requests for memory from 1
	Requested        uint64
	Reserved         uint64
	Allocated        uint64
	LargestFreeBlock uint64 // of the default pool, or of the request's private pool
	OwnFree          uint64 // free in the pool of the request
	PrivateFree      uint64 // free in other pools, which do not serve the request
	InPool           bool   // the request was routed to a private pool
	Refusal          history.LimitKind
}

// runner is the state of a run.
type runner struct {
	*history.Workload
	options     RunOptions
	driver      *driver
	alloc       *alloc.Allocator
	ptrs        []spec.Ptr // by ID; 0 if the request failed
	useStreams  []int32    // by number of the stream: when its last event completes
	states      map[int]spec.PoolState
	mallocs     int
	before      Statistics // when the history begins
	freed       []bool     // in the history, by ID; nil: not looked at
	failureMade bool       // a request that failed in the recorded run was made
	refuses     bool       // a memory fraction is set for the present request
	outcome     Outcome
}

// Run makes the requests of a workload.
func Run(w *history.Workload, o RunOptions) (Outcome, error) { return run(w, o, nil) }

// run also calls a function, if there is one, at the end.
func run(w *history.Workload, o RunOptions, finish func(*runner)) (Outcome, error) {
	r := &runner{Workload: w, options: o, ptrs: make([]spec.Ptr, w.Allocations), states: map[int]spec.PoolState{}}
	if err := r.begin(); err != nil {
		return Outcome{}, err
	}
	budget := o.Memory
	for i := range w.Requests {
		if err := budget.Check(); err != nil {
			return Outcome{}, err
		}
		r.driver.now = int32(i)
		if o.asRefused {
			if err := r.refuseAsRecorded(int32(i)); err != nil {
				return Outcome{}, err
			}
		}
		if err := r.perform(&w.Requests[i]); err != nil {
			return Outcome{}, fmt.Errorf("request %d: %w", i, err)
		}
		if o.Watch != nil {
			o.Watch(r.driver.InUse(0))
		}
		if o.WatchAllocated != nil {
			s, err := r.alloc.Stats(0)
			if err != nil {
				return Outcome{}, err
			}
			o.WatchAllocated(uint64(s.AllocatedBytes[spec.Aggregate].Current))
		}
		if r.outcome.FirstOOM != nil && o.StopAtOOM {
			return r.outcome, nil
		}
	}
	end, err := r.statistics()
	if finish != nil {
		finish(r)
	}
	r.outcome.AtEnd = end
	if r.outcome.FirstOOM == nil {
		r.outcome.Statistics = end
	}
	return r.outcome, err
}

// refuseAsRecorded sets a memory fraction for a request that was refused in the recorded
// run, whatever refused it, so that it is refused again.
func (r *runner) refuseAsRecorded(i int32) error {
	allowed, refused := r.Refused[i]
	if !refused && !r.refuses {
		return nil
	}
	if r.refuses = refused; !refused {
		allowed = LargestLimit
	}
	return r.allow(allowed)
}

// allow sets a memory fraction, in bytes. The quotient is exact, since totalMemory is a power of two:
// some releases round the product to the nearest byte, and others down.
func (r *runner) allow(bytes uint64) error {
	return r.alloc.SetMemoryFraction(0, float64(bytes)/totalMemory)
}

func (r *runner) perform(q *history.Request) error {
	if v := r.options.verifier; v != nil {
		v.request = q
	}
	switch q.Kind {
	case history.Malloc:
		return r.malloc(q)
	case history.FailedMalloc:
		if err := r.malloc(q); err != nil {
			return err
		}
		return r.alloc.Free(r.ptrs[q.ID]) // of the null pointer, if it failed again
	case history.EmptyCache:
		if q.Doubtful && !r.options.Reading.EmptyCache {
			return nil // a refused request frees them
		}
		return r.alloc.EmptyCache()
	case history.SetExpandable:
		if !r.asRecorded() {
			return nil // other settings are in force
		}
		return r.alloc.Configure("expandable_segments:" + map[bool]string{true: "True", false: "False"}[q.ID != 0])
	case history.Other:
		return r.poolOperation(&r.Operations[q.ID])
	}
	return r.free(q)
}

func (r *runner) malloc(q *history.Request) error {
	r.mallocs++
	if q.Kind == history.FailedMalloc && !r.failureMade {
		now, err := r.statistics()
		if err != nil {
			return err
		}
		r.failureMade, r.outcome.BeforeFailure = true, now.PeakReserved
	}
	p, err := r.allocate(q.Pool, spec.Request{Stream: q.Stream, Bytes: q.Bytes, Thread: q.Thread})
	r.ptrs[q.ID] = p
	if failed := errors.Is(err, spec.ErrOutOfMemory); failed != (q.Kind == history.FailedMalloc) {
		if partErr := r.part(failed); partErr != nil {
			return partErr
		}
	}
	switch {
	case errors.Is(err, spec.ErrOutOfMemory):
		if r.outcome.FirstOOM == nil || r.options.verifier != nil && q.Kind == history.FailedMalloc {
			return r.outOfMemory(q, err)
		}
		return nil
	}
	return err
}

// part records that a request failed which did not in the recorded run, or the reverse.
func (r *runner) part(failed bool) error {
	o := &r.outcome
	if !o.Passed && !o.Missed {
		now, err := r.statistics()
		if err != nil {
			return err
		}
		o.Parted = now.PeakReserved
	}
	o.Passed, o.Missed = o.Passed || !failed, o.Missed || failed
	return nil
}

// allocate requests memory. A request to a private pool has the pool's number for its
// thread, and allocations of that thread are routed to the pool for this request.
func (r *runner) allocate(pool uint8, q spec.Request) (spec.Ptr, error) {
	if pool == 0 || r.options.Assumptions.NoPrivatePools {
		return r.alloc.Malloc(q)
	}
	id := r.PrivatePools[pool-1]
	q.Thread = spec.Thread(pool)
	if err := r.alloc.BeginAllocateToPool(0, id, spec.ForThread(q.Thread)); err != nil {
		return 0, err
	}
	p, err := r.alloc.Malloc(q)
	return p, errors.Join(err, r.alloc.EndAllocateToPool(0, id), r.alloc.ReleasePool(0, id))
}

// outOfMemory records the first OOM.
func (r *runner) outOfMemory(q *history.Request, err error) error {
	var oom *spec.OutOfMemoryError
	errors.As(err, &oom)
	state, err := r.alloc.Snapshot()
	if err != nil {
		return err
	}
	failed := OutOfMemory{
		Request: int(r.driver.now), Number: r.mallocs, Requested: q.Bytes, InPool: q.Pool > 0,
		Reserved: oom.Allocated + oom.Unallocated, Refusal: history.DeviceLimit,
	}
	if oom.Limited && failed.Reserved+oom.SegmentSize > oom.Limit {
		failed.Refusal = history.FractionLimit
	}
	own := spec.DefaultPool
	if q.Pool > 0 {
		own = r.PrivatePools[q.Pool-1]
	}
	for i := range state.Segments {
		s := &state.Segments[i]
		failed.Allocated += s.AllocatedSize
		for _, b := range s.Blocks {
			switch {
			case b.State != spec.Inactive:
			case s.Pool == own:
				failed.LargestFreeBlock = max(failed.LargestFreeBlock, b.Size)
				failed.OwnFree += b.Size
			default:
				failed.PrivateFree += b.Size
			}
		}
	}
	if r.options.verifier != nil {
		r.outcome.LastOOM = &failed
	}
	if r.outcome.FirstOOM == nil {
		r.outcome.FirstOOM = &failed
		r.outcome.Statistics, err = r.statistics()
	}
	return err
}

func (r *runner) free(q *history.Request) error {
	p := r.ptrs[q.ID]
	if p == 0 {
		return nil
	}
	if q.PendingFree {
		r.driver.deadline = r.options.Assumptions.CompletedBefore(r.driver.now, q.CompletedBefore)
		if err := r.alloc.RecordStream(p, 0, r.useStream(r.driver.deadline)); err != nil {
			return err
		}
	}
	return r.alloc.Free(p)
}

// firstUseStream is above the handles of all real streams.
const firstUseStream = 1 << 62

// useStream chooses the stream of a stream use that ends at a deadline. The history does
// not record it. But the events of one stream complete in order, so it is the first
// stream whose last event completes no later, or else a new one.
func (r *runner) useStream(deadline int32) spec.Stream {
	for i, last := range r.useStreams {
		if last <= deadline {
			r.useStreams[i] = deadline
			return spec.Stream(firstUseStream + i)
		}
	}
	r.useStreams = append(r.useStreams, deadline)
	return spec.Stream(firstUseStream + len(r.useStreams) - 1)
}

func (r *runner) statistics() (Statistics, error) {
	s, err := r.alloc.Stats(0)
	return Statistics{
		PeakReserved:  uint64(s.ReservedBytes[spec.Aggregate].Peak),
		PeakAllocated: uint64(s.AllocatedBytes[spec.Aggregate].Peak),
		Retries:       s.NumAllocRetries - r.before.Retries,
		DeviceAllocs:  s.NumDeviceAlloc - r.before.DeviceAllocs,
		DeviceFrees:   s.NumDeviceFree - r.before.DeviceFrees,
		OOMs:          s.NumOOMs - r.before.OOMs,
	}, err
}
