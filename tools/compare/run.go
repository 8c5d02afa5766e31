package compare

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"gaugeblock/conformance"
	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Options say how allocators are compared.
type Options struct {
	// Limit is the memory of the device, in bytes; 0: so large that nothing fails.
	Limit         uint64
	SmallestLimit bool          // find the smallest one under which no request fails
	Directory     string        // that of Build
	Patience      time.Duration // how long a call may take: examine.Search.Patience
	Times         bool          // say how long requests take; two runs say it differently
}

// Result is what came of the requests on one allocator.
type Result struct {
	Allocator string `json:"allocator"`
	Most      uint64 `json:"held_at_most"` // bytes of the device
	Mean      uint64 `json:"held_on_average"`
	// OverTime is the most that was held in each of equal parts of the requests, in bytes.
	OverTime    []uint64 `json:"held_over_time"`
	DriverCalls int64    `json:"driver_calls"` // that get memory or give it back
	Retries     *int64   `json:"retries"`      // null: the interface does not tell
	Failed      int      `json:"failed_requests"`
	OutOfMemory *Failure `json:"out_of_memory"` // the first
	// PerRequest is the time that the requests took, on average; 0: it was not asked for.
	PerRequest time.Duration `json:"nanoseconds_per_request,omitempty"`
	// SmallestLimit is in bytes; null: it was not asked for, or none was found.
	SmallestLimit *uint64 `json:"smallest_limit"`
	// Error is why the run came to an end before the requests did; "": it did not.
	Error string `json:"error,omitempty"`
}

// Failure is a request that failed.
type Failure struct {
	Number    int    `json:"request"` // counting the requests for memory from 1
	Requested uint64 `json:"requested"`
	Held      uint64 `json:"held"`
}

// parts is how many parts of the requests Result.OverTime has at most.
const parts = 400

// gauge measures what is held for each request.
type gauge struct {
	most, sum uint64
	count     int
	requests  int // of the workload
	overTime  []uint64
}

func (g *gauge) add(held uint64) {
	part := g.count * min(parts, g.requests) / g.requests
	if part == len(g.overTime) {
		g.overTime = append(g.overTime, 0)
	}
	g.overTime[part] = max(g.overTime[part], held)
	g.most, g.sum = max(g.most, held), g.sum+held
	g.count++
}

func (g *gauge) into(r *Result) {
	r.Most, r.OverTime = g.most, g.overTime
	if g.count > 0 {
		r.Mean = g.sum / uint64(g.count)
	}
}

// time takes the time that requests take.
func (o *Options) time(r *Result, requests int, began time.Time) {
	if o.Times && requests > 0 {
		r.PerRequest = time.Since(began) / time.Duration(requests)
	}
}

// unlimited is the memory of a device on which nothing fails.
const unlimited = 1 << 40

// performer makes the requests of a workload of an allocator that is known by its interface only.
type performer struct {
	*history.Workload
	gpu       *fakegpu.GPU
	allocator spec.Allocator
	ptrs      []spec.Ptr // by ID; 0 if the request failed
	mallocs   int
	served    uint64 // bytes that are held once the present request is served
	result    Result
}

// requests makes the requests. An error is one of the comparison; what the allocator does wrong is
// in the result.
func requests(w *history.Workload, factory perform.Factory, name string, limit uint64, stopAtFailure bool) (r Result, err error) {
	p := &performer{Workload: w, ptrs: make([]spec.Ptr, w.Allocations), result: Result{Allocator: name}}
	total := cmp.Or(limit, unlimited)
	p.gpu = fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, total), Addresses: fakegpu.RealLike})
	p.gpu.OnMemoryCall(func(c fakegpu.MemoryCall) {
		switch c.Call {
		case "Malloc", "CreatePage", "UnmapPage":
			p.result.DriverCalls++
		case "Free":
			if c.Ptr != 0 {
				p.result.DriverCalls++
			}
		}
	})
	g := &gauge{requests: len(w.Requests)}
	defer func() {
		g.into(&p.result)
		r = p.result
		switch gone := recover().(type) {
		case nil:
		case *conformance.Gone:
			r.Error, err = gone.Error(), nil
		default:
			panic(gone)
		}
	}()
	header := &trace.Header{Devices: 1, TotalMemory: total, Streams: w.Streams, Geometry: spec.DefaultGeometry()}
	for _, s := range w.Streams {
		if s != 0 {
			if err := p.gpu.AddStream(0, s); err != nil {
				return r, err
			}
		}
	}
	if p.allocator, err = factory(p.gpu, header); err != nil {
		return r, err
	}
	if err := p.start(); err != nil {
		return r, err
	}
	for i := range w.Requests {
		if err := p.request(&w.Requests[i]); err != nil {
			p.result.Error = fmt.Sprintf("request %d: %v", i+1, err)
			return r, nil
		}
		g.add(max(p.served, p.gpu.InUse(0)))
		if stopAtFailure && p.result.Failed > 0 {
			break
		}
	}
	return r, nil
}

// start allocates what the program had when its history begins, in order of address.
func (p *performer) start() error {
	id := int32(0)
	for i := range p.InitialSegments {
		s := &p.InitialSegments[i]
		for _, b := range s.Blocks {
			if b.State == spec.Inactive {
				continue
			}
			if err := p.malloc(&history.Request{ID: id, Bytes: b.RequestedSize, Stream: s.Stream}); err != nil {
				return err
			}
			id++
		}
	}
	p.mallocs = 0
	return nil
}

func (p *performer) request(q *history.Request) error {
	p.served = 0
	switch q.Kind {
	case history.Malloc:
		return p.malloc(q)
	case history.FailedMalloc: // it counts while it is served, and then it is over
		if err := p.malloc(q); err != nil {
			return err
		}
		p.served = p.gpu.InUse(0)
		return p.free(q)
	case history.Free:
		return p.free(q)
	case history.EmptyCache:
		if !q.Doubtful { // those may have been the frees of a refused request
			return p.allocator.EmptyCache()
		}
	}
	return nil // settings and pools are PyTorch's own
}

func (p *performer) malloc(q *history.Request) error {
	p.mallocs++
	at, err := p.allocator.Malloc(spec.Request{Stream: q.Stream, Bytes: q.Bytes})
	p.ptrs[q.ID] = at
	if !errors.Is(err, spec.ErrOutOfMemory) {
		return err
	}
	p.result.Failed++
	if p.result.OutOfMemory == nil {
		p.result.OutOfMemory = &Failure{Number: p.mallocs, Requested: q.Bytes, Held: p.gpu.InUse(0)}
	}
	return nil
}

func (p *performer) free(q *history.Request) error {
	at := p.ptrs[q.ID]
	p.ptrs[q.ID] = 0
	if at == 0 {
		return nil
	}
	return p.allocator.Free(at)
}
