package linearizability

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
	"gaugeblock/tests/linearizability/points"
)

// The scheduler. Each thread is a coroutine (iter.Pull): it runs until it pauses, and then
// the policy chooses the next thread. Only one thread runs at a time, so the policy's
// choices alone determine the run.

// A Policy chooses the next thread from those that have not ended: at least one, in
// ascending order.
type Policy interface {
	Choose(ready []int) int
}

// A Failure is a run that fails without regard to its results. History.Command reproduces it.
type Failure struct {
	History *History
	Reason  error
}

func (f *Failure) Error() string { return fmt.Sprintf("%v\n%s", f.Reason, f.History.Command()) }

// Unwrap is the reason.
func (f *Failure) Unwrap() error { return f.Reason }

// OnRun, if not nil, is called at the end of each run in an instrumented build.
var OnRun func(*points.Run)

// Run runs the program once under a policy. The error is a *Failure if the allocator panics, waits
// forever, or, in an instrumented build, has a data race.
func Run(s Setup, p Program, policy Policy) (*History, error) {
	h, x, err := run(s, p, policy)
	if x != nil && x.points != nil {
		if OnRun != nil {
			OnRun(x.points)
		}
		x.points.End()
	}
	return h, err
}

func run(s Setup, p Program, policy Policy) (*History, *execution, error) {
	s = s.filled()
	x, err := newExecution(&s, &p)
	if err != nil {
		return nil, x, err
	}
	if s.Pauses&(BeforeLock|BeforeMalloc) != 0 {
		if err := x.pauseBeforeLocks(x.stopBeforeLock); err != nil {
			return nil, x, err
		}
	}
	h := &History{Setup: s, Program: p}
	_, panicked := recovering(func() bool { x.begin(&p); return true })
	if panicked == nil {
		if err := x.schedule(h, policy); err != nil {
			return nil, x, err
		}
		_, panicked = recovering(func() bool { h.Calls = x.finish(&p); return true })
	}
	if panicked != nil {
		return nil, x, &Failure{h, fmt.Errorf("the allocator panics: %v", panicked)}
	}
	return h, x, x.wrongs(h)
}

// wrongs finds what is wrong after a run in an instrumented build.
func (x *execution) wrongs(h *History) error {
	if x.points == nil {
		return nil
	}
	if race := x.points.Race(); race != nil {
		return &Failure{h, race}
	}
	if v := x.gpu.Violations(); len(v) > 0 {
		return &Failure{h, fmt.Errorf("%v", v[0])}
	}
	if err := cmp.Or(x.torn, x.brokenInvariants()); err != nil {
		return &Failure{h, err}
	}
	if err := x.differentDevices(); err != nil {
		return &Failure{h, err}
	}
	return x.missedCalls(h)
}

// brokenInvariants looks at the allocator's structures, which nobody uses now.
func (x *execution) brokenInvariants() error {
	inspector, able := x.allocator.(spec.Inspector)
	if !able {
		return nil
	}
	for dev := range spec.Device(x.setup.Devices) {
		stats, err := x.allocator.Stats(dev)
		if err != nil {
			return err
		}
		violations, err := invariant.CheckInspector(dev, inspector, spec.DefaultGeometry(), &stats)
		if err != nil {
			return err
		}
		if len(violations) > 0 {
			return fmt.Errorf("device %d: %v", dev, violations[0])
		}
	}
	return nil
}

// differentDevices finds a device on which the history is recorded, or the trackers are, otherwise
// than on others: what several threads set on all devices is set on all of them in one order.
func (x *execution) differentDevices() error {
	if x.setup.Unjudged || x.setup.Devices == 1 {
		return nil
	}
	x.tracked = make([][]int, x.setup.Devices)
	for dev := range spec.Device(x.setup.Devices) {
		if p, err := x.allocator.Malloc(spec.Request{Device: dev, Bytes: 1}); err != nil || x.allocator.Free(p) != nil {
			return nil // there is no memory left
		}
	}
	snapshot, err := x.allocator.Snapshot()
	if err != nil {
		return err
	}
	for dev := range snapshot.Traces {
		if (len(snapshot.Traces[dev]) > 0) != (len(snapshot.Traces[0]) > 0) {
			return fmt.Errorf("the history of device %d has %d entries, that of device 0 has %d", dev, len(snapshot.Traces[dev]), len(snapshot.Traces[0]))
		}
		if !slices.Equal(firstRound(x.tracked[dev]), firstRound(x.tracked[0])) {
			return fmt.Errorf("the trackers of device %d are called in the order %v, those of device 0 in the order %v", dev, x.tracked[dev], x.tracked[0])
		}
	}
	return nil
}

// firstRound is the beginning of a list up to what is there twice: the trackers of one trace entry.
func firstRound(list []int) []int {
	for i := range list {
		if slices.Contains(list[:i], list[i]) {
			return list[:i]
		}
	}
	return list
}

// missedCalls compares the calls that the driver has counted with the points that stand for them.
func (x *execution) missedCalls(h *History) error {
	reached := map[string]uint64{}
	for _, site := range points.Sites {
		if of, call, _ := strings.Cut(site.Callee, "."); of != "PoolMemory" {
			reached[call] += uint64(x.points.Reached()[site.Position])
		}
	}
	for _, c := range x.gpu.Calls() {
		if slices.Contains(spec.DriverCalls(), c.Call) && reached[c.Call] != c.Count {
			return &Failure{h, fmt.Errorf("the driver has counted %d calls of %s, of which %d were at a point", c.Count, c.Call, reached[c.Call])}
		}
	}
	return nil
}

// mostSteps is after how many steps a run is taken for one without an end.
const mostSteps = 50_000

// longestRun is how long a run may take, which has few steps. A thread that waits for something else
// than a lock or an atomic of the allocator's never comes back.
const longestRun = 10 * time.Second

// endsWhenStuck says that a run does not end, and ends the process, unless it is stopped.
func endsWhenStuck(h *History) *time.Timer {
	return time.AfterFunc(longestRun, func() {
		fmt.Fprintln(os.Stderr, &Failure{h, errors.New("a thread does not come back")})
		os.Exit(1)
	})
}

// schedule runs the threads of the history's program to their ends and records the
// schedule.
func (x *execution) schedule(h *History, policy Policy) error {
	defer endsWhenStuck(h).Stop()
	resume, left := x.start(h.Program.Threads)
	if x.points != nil {
		x.points.Fork()
	}
	for len(left) > 0 {
		ready := x.ready(left)
		if len(ready) == 0 {
			return &Failure{h, errors.New("the threads wait for each other")}
		}
		if len(h.Schedule) == mostSteps {
			return &Failure{h, errors.New("the threads do not end")}
		}
		last := x.running
		x.running = policy.Choose(ready) // may panic: so rapid abandons a run
		if x.running != last && slices.Contains(ready, last) {
			h.Preemptions++
		}
		h.Schedule = append(h.Schedule, x.running)
		if x.points != nil {
			x.points.Resume(x.running)
		}
		paused, panicked := recovering(resume[x.running])
		if panicked != nil {
			return &Failure{h, fmt.Errorf("the allocator panics: %v", panicked)}
		}
		if !paused {
			left = slices.DeleteFunc(left, func(thread int) bool { return thread == x.running })
		}
	}
	x.running = mainThread
	x.pause = func(Pause) {}
	if x.points != nil {
		x.points.Join()
	}
	return nil
}

// ready are the threads of a list that can go on, or, if there is none, that only let others run.
func (x *execution) ready(left []int) (ready []int) {
	if x.points == nil {
		return left
	}
	for _, can := range []func(int) bool{x.points.Ready, x.points.Spins} {
		for _, thread := range left {
			if can(thread) {
				ready = append(ready, thread)
			}
		}
		if len(ready) > 0 {
			break
		}
	}
	return ready
}

// recovering calls a function, and recovers a panic in it.
func recovering(resume func() bool) (paused bool, panicked any) {
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
	if x.points != nil && x.setup.Pauses&EveryPoint != 0 {
		x.points.Pause = func(points.Kind, string) { yields[x.running]() }
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
