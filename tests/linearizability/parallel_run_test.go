package linearizability

import (
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"gaugeblock/spec"
)

// Parallel runs the program with a goroutine for each thread, all at once, under the Go
// scheduler. Times are those of the clock: a call that ended before another began must
// come before it.
//
// The threads share only the allocator, and no lock or counter, so that the race detector
// sees no synchronization but the allocator's. So a thread knows the names from before
// the threads began, and its own, but not those of other threads; and there can be no
// callback.
func Parallel(s Setup, p Program) (*History, error) {
	s = s.filled()
	if len(s.Callback) > 0 {
		return nil, &spec.NotSupportedError{Op: "parallel", Reason: "a callback cannot know in which thread it is called"}
	}
	x, err := newExecution(&s, &p)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	x.now = func() int64 { return int64(time.Since(start)) }
	x.begin(&p)
	for i := range p.Threads {
		x.threads[i].names = maps.Clone(x.threadState(mainThread).names)
	}
	x.pause = func(Pause) { runtime.Gosched() }
	if err := x.pauseBeforeLocks(func() { x.pause(BeforeLock) }); err != nil {
		return nil, err
	}
	x.race(&p)
	x.pause = func(Pause) {}
	h := &History{Setup: s, Program: p}
	h.Calls = x.finish(&p)
	return h, nil
}

// race runs the threads. They begin together if there are enough processors.
func (x *execution) race(p *Program) {
	var threads sync.WaitGroup
	var ready atomic.Int32
	for i, ops := range p.Threads {
		threads.Go(func() {
			ready.Add(1)
			for int(ready.Load()) < len(p.Threads) {
				runtime.Gosched()
			}
			for _, op := range ops {
				x.perform(i, op)
			}
		})
	}
	threads.Wait()
}
