// Package churn is the workload of the benchmarks: n live blocks; each step frees a random one and
// allocates another. tools/torch/bench/native has the same in C++, with the same random numbers.
package churn

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"gaugeblock/spec"
)

// splitMix is the random number generator of both.
type splitMix uint64

func (s *splitMix) next() uint64 {
	*s += 0x9E3779B97F4A7C15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// size is the bytes of a random request: small (512 B << 0..10, and up to 511 more),
// or, in the mixed workload, 70 % of those, 25 % from 1 to 10 MiB and 5 % from 10
// to 64 MiB.
func (s *splitMix) size(smallOnly bool) uint64 {
	r := s.next()
	class, q := r%100, r>>8
	switch {
	case smallOnly || class < 70:
		return 512<<(q%11) + (q>>8)%512
	case class < 95:
		return spec.MiB + q%(9*spec.MiB)
	}
	return 10*spec.MiB + q%(54*spec.MiB)
}

// A Worker keeps n blocks live on its own stream.
type Worker struct {
	allocator spec.Allocator
	stream    spec.Stream
	smallOnly bool
	random    splitMix
	live      []spec.Ptr
}

// NewWorker allocates n blocks and replaces 2n of them, so that the timing begins in a
// steady state.
func NewWorker(a spec.Allocator, stream spec.Stream, n int, smallOnly bool, seed uint64) (*Worker, error) {
	w := &Worker{allocator: a, stream: stream, smallOnly: smallOnly, random: splitMix(seed), live: make([]spec.Ptr, n)}
	for i := range w.live {
		if err := w.fill(i); err != nil {
			return nil, err
		}
	}
	for range 2 * n {
		if err := w.Step(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// Step frees a random block and allocates another in its place.
func (w *Worker) Step() error {
	k := int(w.random.next() % uint64(len(w.live)))
	if err := w.allocator.Free(w.live[k]); err != nil {
		return fmt.Errorf("churn: %w", err)
	}
	return w.fill(k)
}

func (w *Worker) fill(k int) error {
	p, err := w.allocator.Malloc(spec.Request{Stream: w.stream, Bytes: w.random.size(w.smallOnly)})
	if err != nil {
		return fmt.Errorf("churn: %w", err)
	}
	w.live[k] = p
	return nil
}

// Drain frees everything.
func (w *Worker) Drain() error {
	for _, p := range w.live {
		if err := w.allocator.Free(p); err != nil {
			return err
		}
	}
	w.live = nil
	return nil
}

// RunAll runs n steps of every worker, each on a goroutine, and returns the time of the
// slowest.
func RunAll(workers []*Worker, n int) (time.Duration, error) {
	var group sync.WaitGroup
	start := make(chan struct{})
	took := make([]time.Duration, len(workers))
	failed := make([]error, len(workers))
	for i, w := range workers {
		group.Go(func() {
			<-start
			began := time.Now()
			for range n {
				if err := w.Step(); err != nil {
					failed[i] = err
					return
				}
			}
			took[i] = time.Since(began)
		})
	}
	close(start)
	group.Wait()
	slowest := time.Duration(0)
	for _, t := range took {
		slowest = max(slowest, t)
	}
	return slowest, errors.Join(failed...)
}
