//go:build cgo && linux

package main

import (
	"time"

	"gaugeblock/internal/churn"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
)

// side is an allocator with the workloads in its own language.
type side interface {
	// configure changes settings.
	configure(settings string) error
	// begin allocates a workload's blocks, and replaces each twice on average.
	begin(w workload) error
	// run makes steps on every thread, and returns the time of day that the slowest took.
	// One thread is the calling one.
	run(steps int) (time.Duration, error)
	// end frees everything and empties the cache.
	end() error
	figures() (figures, error)
	// driverCalls is how many calls of its driver there have been.
	driverCalls() uint64
}

// figures are statistics that are equal if both did the same.
type figures struct {
	allocations, frees             int64
	allocatedBytes, requestedBytes int64 // sums of all increases
	reservedBytes                  int64 // at present
}

// ours is the reference.
type ours struct {
	gpu       gpu
	allocator spec.Allocator
	streams   []spec.Stream
	workload  workload
	workers   []*churn.Worker
}

// newOurs follows the rules of a release, "2.13"; 2.11 if it is "".
func newOurs(real bool, release string) (*ours, error) {
	g, err := openGPU(real)
	if err != nil {
		return nil, err
	}
	o := &ours{gpu: g}
	o.allocator, err = reference.New(o.gpu, &trace.Header{Geometry: spec.DefaultGeometry(), Devices: 1, Release: release})
	if err != nil {
		return nil, err
	}
	for range maxThreads {
		s, err := o.gpu.CreateStream(0)
		if err != nil {
			return nil, err
		}
		o.streams = append(o.streams, s)
	}
	return o, nil
}

func (o *ours) configure(settings string) error {
	return o.allocator.(spec.Configurer).Configure(settings)
}

func (o *ours) begin(w workload) error {
	o.workload, o.workers = w, nil
	if w.bytes != 0 {
		return o.pairs(1)
	}
	for i := range w.threads {
		worker, err := churn.NewWorker(o.allocator, o.streams[i], w.live, w.smallOnly, seed+uint64(i))
		if err != nil {
			return err
		}
		o.workers = append(o.workers, worker)
	}
	return nil
}

func (o *ours) run(steps int) (time.Duration, error) {
	if len(o.workers) > 1 {
		return churn.RunAll(o.workers, steps)
	}
	began := time.Now()
	err := o.runHere(steps)
	return time.Since(began), err
}

func (o *ours) runHere(steps int) error {
	if o.workload.bytes != 0 {
		return o.pairs(steps)
	}
	for range steps {
		if err := o.workers[0].Step(); err != nil {
			return err
		}
	}
	return nil
}

func (o *ours) pairs(n int) error {
	request := spec.Request{Bytes: o.workload.bytes}
	for range n {
		p, err := o.allocator.Malloc(request)
		if err != nil {
			return err
		}
		if err := o.allocator.Free(p); err != nil {
			return err
		}
	}
	return nil
}

func (o *ours) end() error {
	for _, w := range o.workers {
		if err := w.Drain(); err != nil {
			return err
		}
	}
	o.workers = nil
	return o.allocator.EmptyCache()
}

func (o *ours) figures() (figures, error) {
	s, err := o.allocator.Stats(0)
	allocation := s.Allocation[spec.Aggregate]
	return figures{
		allocations: allocation.Allocated, frees: allocation.Freed,
		allocatedBytes: s.AllocatedBytes[spec.Aggregate].Allocated,
		requestedBytes: s.RequestedBytes[spec.Aggregate].Allocated,
		reservedBytes:  s.ReservedBytes[spec.Aggregate].Current,
	}, err
}

func (o *ours) driverCalls() uint64 { return callsOf(o.gpu) }
