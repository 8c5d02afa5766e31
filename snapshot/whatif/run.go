package whatif

import (
	"errors"
	"fmt"

	"gaugeblock/alloc"
	"gaugeblock/spec"
)

// Setup is what a history is run under.
type Setup struct {
	Settings string // PYTORCH_ALLOC_CONF
	Limit    uint64 // bytes that may be held from the driver; 0 for no limit
	Model    Model
	// Stop ends the run at the first request that fails. Otherwise the program goes
	// on without the memory.
	Stop bool

	verifier *verifier // compares with the recorded run, if there is one
}

// Figures are those that torch.cuda.memory_stats has, sizes in bytes.
type Statistics struct {
	PeakReserved  uint64
	PeakAllocated uint64
	Retries       int64
	DeviceAllocs  int64
	DeviceFrees   int64
	OOMs          int64
}

// Outcome is what came of a run.
type Outcome struct {
	// Figures are those after the first request that failed, or at the end.
	Statistics
	First *Failure // nil if none failed
	// Beyond are the figures at the end, if the program goes on without the memory
	// that it did not get.
	Beyond Statistics
}

// Failure is a request that got no memory, with the state of the allocator at that
// time, in bytes.
type Failure struct {
	Request     int // index into History.Requests
	Number      int // counting the requests for memory from 1
	Bytes       uint64
	Reserved    uint64
	Allocated   uint64
	LargestFree uint64 // block
}

// runner is a run under way.
type runner struct {
	*History
	setup   Setup
	driver  *driver
	alloc   *alloc.Allocator
	ptrs    []spec.Ptr // by allocation; 0 if it got no memory
	chains  []int32    // by stream of other uses: the deadline of its last event
	states  map[int]spec.PoolState
	mallocs int
	out     Outcome
}

// Run replays a history.
func Run(h *History, s Setup) (Outcome, error) {
	r := &runner{History: h, setup: s, ptrs: make([]spec.Ptr, h.Allocations), states: map[int]spec.PoolState{}}
	if err := r.begin(); err != nil {
		return Outcome{}, err
	}
	for i := range h.Requests {
		r.driver.now = int32(i)
		if err := r.perform(&h.Requests[i]); err != nil {
			return Outcome{}, fmt.Errorf("request %d: %w", i, err)
		}
		if r.out.First != nil && s.Stop {
			return r.out, nil
		}
	}
	end, err := r.figures()
	r.out.Beyond = end
	if r.out.First == nil {
		r.out.Statistics = end
	}
	return r.out, err
}

func (r *runner) perform(q *Request) error {
	switch q.Kind {
	case Malloc:
		return r.malloc(q)
	case Failing:
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
		if r.out.First == nil {
			return r.failed(q, err)
		}
		return nil
	case err == nil && r.setup.verifier != nil:
		r.setup.verifier.placed(r.History, q, p)
	}
	return err
}

// allocate asks for memory, in a pool other than the default one by redirecting this
// one request, which its thread tells apart.
func (r *runner) allocate(pool uint8, q spec.Request) (spec.Ptr, error) {
	if pool == 0 || r.setup.Model.NoPools {
		return r.alloc.Malloc(q)
	}
	id := r.Pools[pool-1]
	q.Thread = spec.Thread(pool)
	if err := r.alloc.BeginAllocateToPool(0, id, spec.ForThread(q.Thread)); err != nil {
		return 0, err
	}
	p, err := r.alloc.Malloc(q)
	return p, errors.Join(err, r.alloc.EndAllocateToPool(0, id), r.alloc.ReleasePool(0, id))
}

// failed notes the first failure.
func (r *runner) failed(q *Request, err error) error {
	var failure *spec.OutOfMemoryError
	errors.As(err, &failure)
	largest, err := r.alloc.CacheInfo(0, 1)
	if err != nil {
		return err
	}
	r.out.First = &Failure{
		Request: int(r.driver.now), Number: r.mallocs, Bytes: q.Bytes,
		Reserved: failure.Allocated + failure.Unallocated, Allocated: failure.Allocated, LargestFree: largest,
	}
	r.out.Statistics, err = r.figures()
	return err
}

func (r *runner) free(q *Request) error {
	p := r.ptrs[q.ID]
	if p == 0 {
		return nil
	}
	if q.Held {
		r.driver.deadline = r.setup.Model.Until(r.driver.now, q.Until)
		if err := r.alloc.RecordStream(p, 0, r.chain(r.driver.deadline)); err != nil {
			return err
		}
	}
	return r.alloc.Free(p)
}

// firstChain is above the handles of all real streams.
const firstChain = 1 << 62

// chain chooses the stream that used memory which is back at a deadline. Which one it
// was is not recorded; but the events of one stream complete in order, so it is the
// first whose last event completes no later. A new one otherwise.
func (r *runner) chain(deadline int32) spec.Stream {
	for i, last := range r.chains {
		if last <= deadline {
			r.chains[i] = deadline
			return spec.Stream(firstChain + i)
		}
	}
	r.chains = append(r.chains, deadline)
	return spec.Stream(firstChain + len(r.chains) - 1)
}

func (r *runner) figures() (Statistics, error) {
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
