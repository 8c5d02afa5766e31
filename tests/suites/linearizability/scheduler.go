package linearizability

import (
	"fmt"
	"iter"

	"gaugeblock/spec/trace"
)

// The scheduler. Each thread is a coroutine (iter.Pull): it runs until it pauses,
// and then the policy says who goes on. Only one runs at a time, so the run is
// decided by the policy's choices alone.

// A Policy chooses which thread runs next, of those that have not ended: at least
// one, ascending.
type Policy interface {
	Choose(ready []int) int
}

// Run runs the program once, as the policy says.
func Run(s Setup, p Program, policy Policy) (*History, error) {
	s = s.filled()
	w, err := newExecution(&s, &p)
	if err != nil {
		return nil, err
	}
	if s.Pauses&(BeforeLock|BeforeMalloc) != 0 {
		if err := w.pauseBeforeLocks(w.stopBeforeLock); err != nil {
			return nil, err
		}
	}
	w.begin(&p)
	h := &History{Setup: s, Program: p}
	if err := w.schedule(h, policy); err != nil {
		return nil, err
	}
	h.Calls = w.finish()
	return h, nil
}

// schedule runs the threads of the history's program to their ends and notes the
// schedule.
func (w *execution) schedule(h *History, policy Policy) error {
	resume, ready := w.start(h.Program.Threads)
	for len(ready) > 0 {
		w.running = policy.Choose(ready) // which may panic: rapid's way to give a run up
		h.Schedule = append(h.Schedule, w.running)
		paused, panicked := resumeRecovering(resume[w.running])
		if panicked != nil {
			return fmt.Errorf("the allocator panics: %v\n%s", panicked, h.Command())
		}
		if !paused {
			ready = without(ready, w.running)
		}
	}
	w.running = mainThread
	w.pause = func(Pause) {}
	return nil
}

// try resumes a thread, and tells of a panic in it.
func resumeRecovering(resume func() (paused bool)) (paused bool, panicked any) {
	defer func() { panicked = recover() }()
	return resume(), nil
}

// start makes the threads. Each runs when it is resumed, and says then whether it
// has paused or ended.
func (w *execution) start(threads [][]Op) (resume []func() (paused bool), ready []int) {
	yields := make([]func(), len(threads))
	for i, ops := range threads {
		next, _ := iter.Pull(func(yield func(struct{}) bool) {
			yields[i] = func() { yield(struct{}{}) }
			for n, op := range ops {
				if n > 0 {
					yields[i]()
				}
				w.perform(i, op)
			}
		})
		resume = append(resume, func() bool { _, paused := next(); return paused })
		ready = append(ready, i)
	}
	w.pause = func(at Pause) {
		if w.setup.Pauses&at != 0 {
			yields[w.running]()
		}
	}
	return resume, ready
}

// stopBeforeLock pauses the running thread.
func (w *execution) stopBeforeLock() {
	switch call := w.pendingCall(); {
	case call == nil: // what comes before and after the threads
	case call.Op.Kind == trace.OpMalloc:
		w.pause(BeforeMalloc)
	default:
		w.pause(BeforeLock)
	}
}

func without(list []int, n int) (rest []int) {
	for _, m := range list {
		if m != n {
			rest = append(rest, m)
		}
	}
	return rest
}

// underWay is the innermost call that the running thread is in.
func (w *execution) pendingCall() *Call {
	l := w.threadState(w.running)
	if len(l.pending) == 0 {
		return nil
	}
	return l.pending[len(l.pending)-1]
}
