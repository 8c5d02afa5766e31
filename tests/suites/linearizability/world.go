package linearizability

import (
	"fmt"
	"slices"

	"gaugeblock/fakegpu"
	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// A world is an allocator on a fake GPU in which one program is run, once.
type execution struct {
	setup     *Setup
	gpu       *fakegpu.GPU
	allocator spec.Allocator

	now     func() int64  // the time, never going back
	pause   func(Pause)   // lets other threads run, if the setup wants that there
	threads []threadState // by thread; the last is that of the thread called outside

	running int // the thread that the scheduler lets run
}

// A lane is what concerns one thread.
type threadState struct {
	names   map[string]allocation // those that it sees; see newWorld
	calls   []Call                // in the order in which they ended
	pending []*Call               // begun and not ended: a callback's calls are inside a malloc
}

// allocation is what a name stands for.
type allocation struct {
	ptr    spec.Ptr
	device spec.Device
}

// newWorld sets up everything but the threads. While they are scheduled they share
// their names.
func newExecution(s *Setup, p *Program) (*execution, error) {
	if p.setsLockRelease() {
		return nil, &spec.InvalidArgumentError{Op: "linearizability", Reason: "a program cannot change whether the lock is released; a setup can"}
	}
	w := &execution{setup: s, threads: make([]threadState, len(p.Threads)+1), running: mainThread}
	shared := map[string]allocation{}
	for i := range w.threads {
		w.threads[i].names = shared
	}
	clock := int64(0)
	w.now = func() int64 { clock++; return clock }
	w.pause = func(Pause) {}
	var err error
	if w.gpu, err = s.newGPU(); err != nil {
		return nil, err
	}
	driver := &pausingDriver{w.gpu, w, s.releasesLock()}
	if w.allocator, err = s.newAllocator(driver, func() { w.pause(s.Pauses) }); err != nil {
		return nil, err
	}
	return w, w.registerCallback()
}

// lane is that of a thread.
func (w *execution) threadState(thread int) *threadState {
	if thread == mainThread {
		return &w.threads[len(w.threads)-1]
	}
	return &w.threads[thread]
}

// perform does one operation and notes the call, unless it names what is not there.
func (w *execution) perform(thread int, op Op) {
	l := w.threadState(thread)
	call := &Call{Thread: thread, Op: op, Text: op.String()}
	if op.Kind == trace.OpFree || op.Kind == trace.OpRecordStream {
		known, is := l.names[op.Name]
		if !is {
			return
		}
		call.Ptr, call.Op.Device = known.ptr, known.device
	}
	l.pending = append(l.pending, call)
	call.Begin = w.now()
	call.Out = w.apply(&call.Op, call.Ptr)
	call.End = w.now()
	l.pending = l.pending[:len(l.pending)-1]
	l.calls = append(l.calls, *call)
	if op.Kind == trace.OpMalloc && call.Out.Err == nil {
		l.names[op.Name] = allocation{call.Out.Ptr, op.Device}
	}
}

// do asks the allocator or the device.
func (w *execution) apply(op *Op, ptr spec.Ptr) (out model.Outcome) {
	stream := w.setup.stream(op.Device, op.Stream)
	switch op.Kind {
	case trace.OpMalloc:
		out.Ptr, out.Err = w.allocator.Malloc(spec.Request{Device: op.Device, Stream: stream, Bytes: op.Bytes})
	case trace.OpFree:
		out.Err = w.allocator.Free(ptr)
	case trace.OpRecordStream:
		out.Err = w.allocator.RecordStream(ptr, op.Device, stream)
	case trace.OpEmptyCache:
		out.Err = w.allocator.EmptyCache()
	case trace.OpSetMemoryFraction:
		out.Err = w.allocator.(spec.MemoryLimiter).SetMemoryFraction(op.Device, op.Fraction)
	case trace.OpConfigure:
		out.Err = w.allocator.(spec.Configurer).Configure(op.Settings)
	case trace.OpBusy:
		out.Err = w.gpu.Busy(op.Device, stream)
	case trace.OpDrain:
		out.Err = w.gpu.Drain(op.Device, stream)
	case model.OpStats:
		var stats spec.DeviceStats
		stats, out.Err = w.allocator.Stats(op.Device)
		out.Stats = &stats
	case model.OpSnapshot:
		var snapshot spec.Snapshot
		snapshot, out.Err = w.allocator.Snapshot()
		out.Layout = trace.Layout(&snapshot)
	default:
		panic(fmt.Sprintf("linearizability: operation %q", op.Kind))
	}
	return out
}

// begin does what comes before the threads.
func (w *execution) begin(p *Program) {
	for _, op := range p.Before {
		w.perform(mainThread, op)
	}
}

// finish looks at everything once more, so that no history ends with something
// unseen, and puts the calls together.
func (w *execution) finish() []Call {
	for dev := range spec.Device(w.setup.Devices) {
		w.perform(mainThread, Op{Kind: model.OpStats, Device: dev})
	}
	w.perform(mainThread, Op{Kind: model.OpSnapshot})
	var calls []Call
	for _, l := range w.threads {
		calls = append(calls, l.calls...)
	}
	slices.SortStableFunc(calls, func(a, b Call) int { return int(a.Begin - b.Begin) })
	return calls
}
