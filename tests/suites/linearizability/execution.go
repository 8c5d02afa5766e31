package linearizability

import (
	"slices"

	"gaugeblock/fakegpu"
	"gaugeblock/model"
	"gaugeblock/spec"
)

// An execution is one run of a program on an allocator and a fake GPU.
type execution struct {
	setup     *Setup
	gpu       *fakegpu.GPU
	allocator spec.Allocator

	now     func() int64  // a time that never decreases
	pause   func(Pause)   // lets other threads run, if the setup has this pause
	threads []threadState // by thread; the last is mainThread

	running int // the thread that runs, under the scheduler
}

// A threadState is the state of one thread.
type threadState struct {
	names   map[string]allocation // those that it can use; see newExecution
	calls   []Call                // in the order in which they ended
	pending []*Call               // begun and not ended: the calls of a callback are inside a malloc
}

// allocation is the block of a name.
type allocation struct {
	ptr    spec.Ptr
	device spec.Device
}

// newExecution sets up everything but the threads. Threads under the scheduler share their
// names.
func newExecution(s *Setup, p *Program) (*execution, error) {
	if p.setsLockRelease() {
		return nil, &spec.InvalidArgumentError{Op: "linearizability", Reason: "a program cannot change whether the lock is released; a setup can"}
	}
	x := &execution{setup: s, threads: make([]threadState, len(p.Threads)+1), running: mainThread}
	shared := map[string]allocation{}
	for i := range x.threads {
		x.threads[i].names = shared
	}
	clock := int64(0)
	x.now = func() int64 { clock++; return clock }
	x.pause = func(Pause) {}
	var err error
	if x.gpu, err = s.newGPU(); err != nil {
		return nil, err
	}
	driver := &pausingDriver{x.gpu, x, s.releasesLock()}
	if x.allocator, err = s.newAllocator(driver, func() { x.pause(s.Pauses) }); err != nil {
		return nil, err
	}
	return x, x.registerCallback()
}

// threadState is that of a thread.
func (x *execution) threadState(thread int) *threadState {
	if thread == mainThread {
		return &x.threads[len(x.threads)-1]
	}
	return &x.threads[thread]
}

// perform does one operation and records the call, unless its name is unknown.
func (x *execution) perform(thread int, op Op) {
	l := x.threadState(thread)
	call := &Call{Thread: thread, Op: op, Text: op.String()}
	kind := kinds[op.Kind]
	if kind.uses {
		known, is := l.names[op.Name]
		if !is {
			return
		}
		call.Ptr, call.Op.Device = known.ptr, known.device
	}
	l.pending = append(l.pending, call)
	call.Begin = x.now()
	kind.do(x, &call.Op, call.Ptr, &call.Out)
	call.End = x.now()
	l.pending = l.pending[:len(l.pending)-1]
	l.calls = append(l.calls, *call)
	if kind.allocates && call.Out.Err == nil {
		l.names[op.Name] = allocation{call.Out.Ptr, op.Device}
	}
}

// stream is the handle of an operation's stream.
func (x *execution) stream(op *Op) spec.Stream { return x.setup.stream(op.Device, op.Stream) }

// begin does the operations before the threads begin.
func (x *execution) begin(p *Program) {
	for _, op := range p.Before {
		x.perform(mainThread, op)
	}
}

// finish ends the history with queries of everything, so that it has the effect of every
// call, and merges the calls of the threads.
func (x *execution) finish() []Call {
	for dev := range spec.Device(x.setup.Devices) {
		x.perform(mainThread, Op{Kind: model.OpStats, Device: dev})
	}
	x.perform(mainThread, Op{Kind: model.OpSnapshot})
	var calls []Call
	for _, l := range x.threads {
		calls = append(calls, l.calls...)
	}
	slices.SortStableFunc(calls, func(a, b Call) int { return int(a.Begin - b.Begin) })
	return calls
}

// threadName is the name of thread i: A, B, C...
func threadName(i int) string {
	if i == mainThread {
		return "-"
	}
	return string(rune('A' + i))
}

// mainThread is the number of the thread that does the operations before the others begin,
// and the queries after they ended.
const mainThread = -1
