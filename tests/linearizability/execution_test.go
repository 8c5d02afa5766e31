package linearizability

import (
	"errors"
	"slices"

	"gaugeblock/fakegpu"
	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
	"gaugeblock/spec/trace"
	"gaugeblock/tests/linearizability/points"
)

// An execution is one run of a program on an allocator and a fake GPU.
type execution struct {
	setup     *Setup
	gpu       *fakegpu.GPU
	allocator spec.Allocator
	handles   [][]byte // of memory of another process

	now     func() int64  // a time that never decreases
	pause   func(Pause)   // lets other threads run, if the setup has this pause
	threads []threadState // by thread; the last is mainThread

	running int // the thread that runs, under the scheduler

	trackers int     // that were registered
	tracked  [][]int // by device: the trackers that were called; see differentDevices

	torn error // a snapshot whose history is of another time: see recorded_test.go

	lock   programLock
	points *points.Run // nil unless the allocator is instrumented
}

// A threadState is the state of one thread.
type threadState struct {
	names   map[string]made // those that it can use; see newExecution
	calls   []Call          // in the order in which they ended
	pending []*Call         // begun and not ended: the calls of a callback are inside a malloc
}

// made is what a name stands for, and the call that made it: an allocation, a checkpoint, or opened
// memory.
type made struct {
	ptr    spec.Ptr
	device spec.Device
	made   any
	id     int
	after  happensbefore.Clock // in an instrumented build: what comes before a use of made
}

// what is "" for an allocation.
func (m made) what() string {
	switch m.made.(type) {
	case spec.PoolState:
		return "checkpoint"
	case spec.OpenedMemory:
		return "opened"
	}
	return ""
}

// newExecution sets up everything but the threads. Threads under the scheduler share their
// names.
func newExecution(s *Setup, p *Program) (*execution, error) {
	if p.setsLockRelease() {
		return nil, &spec.InvalidArgumentError{Op: "linearizability", Reason: "a program cannot change whether the lock is released; a setup can"}
	}
	x := &execution{setup: s, threads: make([]threadState, len(p.Threads)+1), running: mainThread}
	shared := map[string]made{}
	for i := range x.threads {
		x.threads[i].names = shared
	}
	clock := int64(0)
	x.now = func() int64 { clock++; return clock }
	x.pause = func(Pause) {}
	var err error
	if x.gpu, x.handles, err = s.newGPU(); err != nil {
		return nil, err
	}
	if len(points.Sites) > 0 {
		x.points = points.Begin(len(p.Threads))
	}
	driver := &pausingDriver{x.gpu, x, s.releasesLock()}
	if x.allocator, err = s.newAllocator(driver, func() { x.pause(s.Pauses) }); err != nil {
		return nil, err
	}
	return x, errors.Join(x.registerCallback(), x.registerFunctions(), x.recordFromStart())
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
	call.id = (thread+2)*1000 + len(l.calls) + len(l.pending)
	if kind.uses {
		known, is := l.names[op.Name]
		if !is || known.what() != kind.takes {
			return
		}
		call.Ptr, call.Op.Device, call.used = known.ptr, known.device, known
		if x.points != nil {
			x.points.Observe(known.after)
		}
	}
	l.pending = append(l.pending, call)
	call.Begin = x.now()
	x.doInterrupted(kind, call)
	call.End = x.now()
	l.pending = l.pending[:len(l.pending)-1]
	l.calls = append(l.calls, *call)
	if kind.makes && call.Out.Err == nil {
		m := made{ptr: call.Out.Ptr, device: op.Device, made: call.Made, id: call.id}
		if x.points != nil && m.made != nil { // a pointer to memory is a number, and orders nothing
			m.after = x.points.Publish()
		}
		l.names[op.Name] = m
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

// finish does the operations after the threads, and ends the history with queries of everything, so
// that it has the effect of every call. It merges the calls of the threads.
func (x *execution) finish(p *Program) []Call {
	for _, op := range p.After {
		x.perform(mainThread, op)
	}
	query := func() {
		for dev := range spec.Device(x.setup.Devices) {
			x.perform(mainThread, Op{Kind: model.OpStats, Device: dev})
		}
		x.perform(mainThread, Op{Kind: model.OpSnapshot})
	}
	query()
	if x.setup.Pauses&EveryPoint != 0 { // what is cached shows when it is returned
		x.perform(mainThread, Op{Kind: trace.OpEmptyCache})
		x.perform(mainThread, Op{Kind: "config"})
		query()
	}
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
