package linearizability

import (
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"gaugeblock/spec"
)

// Parallel runs the program with a goroutine for each thread, all at once and as
// the Go scheduler likes. Times are real: a call that ended before another began,
// by the clock, must come before it.
//
// The threads share nothing but the allocator, no lock and no counter, so that the
// race detector sees the allocator's own order of things and no other. So a thread
// knows the names from before the threads began, and its own, but not those of
// other threads; and there can be no callback.
func Parallel(s Setup, p Program) (*History, error) {
	s = s.filled()
	if len(s.Callback) > 0 {
		return nil, &spec.NotSupportedError{Op: "parallel", Reason: "a callback cannot know in which thread it is called"}
	}
	w, err := newExecution(&s, &p)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	w.now = func() int64 { return int64(time.Since(start)) }
	w.begin(&p)
	for i := range p.Threads {
		w.threads[i].names = maps.Clone(w.threadState(mainThread).names)
	}
	w.pause = func(Pause) { runtime.Gosched() }
	if err := w.pauseBeforeLocks(func() { w.pause(BeforeLock) }); err != nil {
		return nil, err
	}
	w.race(&p)
	w.pause = func(Pause) {}
	h := &History{Setup: s, Program: p}
	h.Calls = w.finish()
	return h, nil
}

// race runs the threads. They begin together, as far as there are processors.
func (w *execution) race(p *Program) {
	var threads sync.WaitGroup
	var ready atomic.Int32
	for i, ops := range p.Threads {
		threads.Go(func() {
			ready.Add(1)
			for int(ready.Load()) < len(p.Threads) {
				runtime.Gosched()
			}
			for _, op := range ops {
				w.perform(i, op)
			}
		})
	}
	threads.Wait()
}
