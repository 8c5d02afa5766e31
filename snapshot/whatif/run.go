package whatif

import (
	"errors"
	"fmt"

	"gaugeblock/alloc"
	"gaugeblock/spec"
)

// RunOptions are the conditions of a run.
type RunOptions struct {
	Settings    string // PYTORCH_ALLOC_CONF
	Limit       uint64 // on reserved memory, in bytes; 0 for no limit
	Assumptions Assumptions
	// StopAtOOM ends the run at the first OOM. Otherwise the program goes on without
	// the memory.
	StopAtOOM bool

	verifier *verifier // compares with the recorded run; may be nil
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

// Outcome is the result of a run.
type Outcome struct {
	// Statistics are those after the first OOM, or at the end if there is none.
	Statistics
	FirstOOM *OutOfMemory // nil if no request failed
	// AtEnd are the statistics at the end, if the program goes on without the memory
	// of requests that failed.
	AtEnd Statistics
}

// OutOfMemory is a request that failed, and the memory at that time, in bytes.
type OutOfMemory struct {
	Request          int // index into Workload.Requests
	Number           int // counting the requests for memory from 1
	Requested        uint64
	Reserved         uint64
	Allocated        uint64
	LargestFreeBlock uint64
}

// runner is the state of a run.
type runner struct {
	*Workload
	options    RunOptions
	driver     *driver
	alloc      *alloc.Allocator
	ptrs       []spec.Ptr // by ID; 0 if the request failed
	useStreams []int32    // by number of the stream: when its last event completes
	states     map[int]spec.PoolState
	mallocs    int
	outcome    Outcome
}

// Run makes the requests of a workload.
func Run(w *Workload, o RunOptions) (Outcome, error) {
	r := &runner{Workload: w, options: o, ptrs: make([]spec.Ptr, w.Allocations), states: map[int]spec.PoolState{}}
	if err := r.begin(); err != nil {
		return Outcome{}, err
	}
	for i := range w.Requests {
		r.driver.now = int32(i)
		if err := r.perform(&w.Requests[i]); err != nil {
			return Outcome{}, fmt.Errorf("request %d: %w", i, err)
		}
		if r.outcome.FirstOOM != nil && o.StopAtOOM {
			return r.outcome, nil
		}
	}
	end, err := r.statistics()
	r.outcome.AtEnd = end
	if r.outcome.FirstOOM == nil {
		r.outcome.Statistics = end
	}
	return r.outcome, err
}

func (r *runner) perform(q *Request) error {
	switch q.Kind {
	case Malloc:
		return r.malloc(q)
	case FailedMalloc:
		if err := r.malloc(q); err != nil {
			return err
		}
		return r.alloc.Free(r.ptrs[q.ID]) // of the null pointer, if it failed again
	case EmptyCache:
		return r.alloc.EmptyCache()
	case Other:
		return r.other(&r.ops[q.ID])
	}
	return r.free(q)
}

func (r *runner) malloc(q *Request) error {
	r.mallocs++
	p, err := r.allocate(q.Pool, spec.Request{Stream: q.Stream, Bytes: q.Bytes, Thread: q.Thread})
	r.ptrs[q.ID] = p
	switch {
	case errors.Is(err, spec.ErrOutOfMemory):
		if r.outcome.FirstOOM == nil {
			return r.outOfMemory(q, err)
		}
		return nil
	case err == nil && r.options.verifier != nil:
		r.options.verifier.compare(r.Workload, q, p)
	}
	return err
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
func (r *runner) outOfMemory(q *Request, err error) error {
	var oom *spec.OutOfMemoryError
	errors.As(err, &oom)
	largest, err := r.alloc.CacheInfo(0, 1)
	if err != nil {
		return err
	}
	r.outcome.FirstOOM = &OutOfMemory{
		Request: int(r.driver.now), Number: r.mallocs, Requested: q.Bytes,
		Reserved: oom.Allocated + oom.Unallocated, Allocated: oom.Allocated, LargestFreeBlock: largest,
	}
	r.outcome.Statistics, err = r.statistics()
	return err
}

func (r *runner) free(q *Request) error {
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
		Retries:       s.NumAllocRetries,
		DeviceAllocs:  s.NumDeviceAlloc,
		DeviceFrees:   s.NumDeviceFree,
		OOMs:          s.NumOOMs,
	}, err
}
