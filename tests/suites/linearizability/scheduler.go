package linearizability

import (
	"fmt"
	"iter"
	"slices"
)

// The scheduler. Each thread is a coroutine (iter.Pull): it runs until it pauses, and then
// the policy chooses the next thread. Only one thread runs at a time, so the policy's
// choices alone determine the run.

// A Policy chooses the next thread from those that have not ended: at least one, in
// ascending order.
type Policy interface {
	Choose(ready []int) int
}

// Run runs the program once under a policy.
func Run(s Setup, p Program, policy Policy) (*History, error) {
	s = s.filled()
	x, err := newExecution(&s, &p)
	if err != nil {
		return nil, err
	}
	if s.Pauses&(BeforeLock|BeforeMalloc) != 0 {
		if err := x.pauseBeforeLocks(x.stopBeforeLock); err != nil {
			return nil, err
		}
	}
	x.begin(&p)
	h := &History{Setup: s, Program: p}
	if err := x.schedule(h, policy); err != nil {
		return nil, err
	}
	h.Calls = x.finish()
	return h, nil
}

// schedule runs the threads of the history's program to their ends and records the
// schedule.
func (x *execution) schedule(h *History, policy Policy) error {
	resume, ready := x.start(h.Program.Threads)
	for len(ready) > 0 {
		x.running = policy.Choose(ready) // may panic: so rapid abandons a run
		h.Schedule = append(h.Schedule, x.running)
		paused, panicked := resumeRecovering(resume[x.running])
		if panicked != nil {
			return fmt.Errorf("the allocator panics: %v\n%s", panicked, h.Command())
		}
		if !paused {
			ready = slices.DeleteFunc(ready, func(thread int) bool { return thread == x.running })
		}
	}
	x.running = mainThread
	x.pause = func(Pause) {}
	return nil
}

// resumeRecovering resumes a thread, and recovers a panic in it.
func resumeRecovering(resume func() (paused bool)) (paused bool, panicked any) {
	defer func() { panicked = recover() }()
	return resume(), nil
}

// start makes the threads. Each runs when it is resumed, and reports then whether it paused
// or ended.
func (x *execution) start(threads [][]Op) (resume []func() (paused bool), ready []int) {
	yields := make([]func(), len(threads))
	for i, ops := range threads {
		next, _ := iter.Pull(func(yield func(struct{}) bool) {
			yields[i] = func() { yield(struct{}{}) }
			for n, op := range ops {
				if n > 0 {
					yields[i]()
				}
				x.perform(i, op)
			}
		})
		resume = append(resume, func() bool { _, paused := next(); return paused })
		ready = append(ready, i)
	}
	x.pause = func(at Pause) {
		if x.setup.Pauses&at != 0 {
			yields[x.running]()
		}
	}
	return resume, ready
}

// stopBeforeLock pauses the running thread.
func (x *execution) stopBeforeLock() {
	switch call := x.pendingCall(); {
	case call == nil: // before or after the threads
	case kinds[call.Op.Kind].allocates:
		x.pause(BeforeMalloc)
	default:
		x.pause(BeforeLock)
	}
}

// pendingCall is the innermost pending call of the running thread.
func (x *execution) pendingCall() *Call {
	l := x.threadState(x.running)
	if len(l.pending) == 0 {
		return nil
	}
	return l.pending[len(l.pending)-1]
}
