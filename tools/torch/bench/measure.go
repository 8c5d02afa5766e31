//go:build cgo && linux

package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// sample is the times of one side for a workload, in nanoseconds an operation, ascending.
type sample []float64

func (s sample) min() float64    { return s[0] }
func (s sample) median() float64 { return s.quantile(0.5) }

// quantile is the time that a part of the runs stay below.
func (s sample) quantile(part float64) float64 {
	at := part * float64(len(s)-1)
	below := int(math.Floor(at))
	if below == len(s)-1 {
		return s[below]
	}
	return s[below] + (at-float64(below))*(s[below+1]-s[below])
}

// result is a row of the table: PyTorch's side, and ours.
type result struct {
	workload    workload
	times       [2]sample
	driverCalls [2]uint64 // during the runs
}

// ratio is ours divided by PyTorch's.
func (r *result) ratio() float64      { return r.times[1].median() / r.times[0].median() }
func (r *result) ratioOfMin() float64 { return r.times[1].min() / r.times[0].min() }

// measure runs a workload on both sides in turn. Which goes first alternates as well. At the
// end both must have done the same.
func measure(sides [2]side, w workload, o options) (r result, err error) {
	r.workload = w
	for _, s := range sides {
		if err := s.configure(w.settings); err != nil {
			return r, err
		}
		if err := s.begin(w); err != nil {
			return r, err
		}
	}
	runtime.GC() // the steps allocate nothing on the Go heap
	steps := w.steps(o.steps)
	for n := range o.runs {
		for turn := range 2 {
			i := (n + turn) % 2
			s := sides[i]
			// The other side has used the caches meanwhile.
			if _, err := s.run(steps / 4); err != nil {
				return r, err
			}
			before := s.driverCalls()
			took, err := timed(s, w, steps)
			if err != nil {
				return r, err
			}
			r.driverCalls[i] += s.driverCalls() - before
			r.times[i] = append(r.times[i], float64(took.Nanoseconds())/float64(steps))
		}
	}
	for i := range r.times {
		slices.Sort(r.times[i])
	}
	return r, same(sides, w, o.runtime != "")
}

// timed is the time of a run: of one thread its processor time, of several the time of day.
func timed(s side, w workload, steps int) (took time.Duration, err error) {
	if w.threads > 1 {
		return s.run(steps)
	}
	return processorTime(func() error {
		_, err := s.run(steps)
		return err
	})
}

// processorTime is the time for which the calling thread has a processor while f runs. Other
// programs lengthen it only by what they do to the caches.
func processorTime(f func() error) (time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var began, ended unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &began); err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ended); err != nil {
		return 0, err
	}
	return time.Duration(ended.Nano() - began.Nano()), nil
}

// same compares the statistics of both and ends the workload. Which memory is reserved depends on
// who came first, with several threads, and on the addresses that the real driver returns. The
// addresses decide as well which of two blocks of a size is taken, and so the sizes of what is not
// split.
func same(sides [2]side, w workload, real bool) error {
	var f [2]figures
	for i, s := range sides {
		var err error
		if f[i], err = s.figures(); err != nil {
			return err
		}
		if w.threads > 1 || real {
			f[i].reservedBytes = 0
		}
		if real {
			f[i].allocatedBytes = 0
		}
	}
	if f[0] != f[1] {
		return fmt.Errorf("PyTorch and the reference have not done the same: %+v and %+v", f[0], f[1])
	}
	for _, s := range sides {
		if err := s.end(); err != nil {
			return err
		}
	}
	return nil
}
