package conformance

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
	"gaugeblock/spec/trace"
)

// A Trial is one program run through one allocator. After every operation it looks
//
//	at the answer       what is legal succeeds, what is not is refused with the right error
//	at the structures   invariant.Checker, if the allocator is a spec.Inspector
//	at the history      what was allocated, to whom, and whether too early (invariant.History)
//	at the device       nothing touched what it had no right to, nothing raced
//
// and every now and then, and whenever a pool was set back, at everything that an
// observation shows (invariant.CheckAll).
type Trial struct {
	header    trace.Header
	options   Options
	player    *perform.Player
	program   *Program
	lifetimes *Lifetimes
	history   *invariant.History
	checker   *invariant.Checker
	labels    Coverage

	ops      []trace.Op          // performed so far
	answers  []string            // how each failed, see trace.ErrorName
	answered error               // how the latest one failed
	skipped  bool                // what it was about was gone
	drained  []spec.DeviceStream // that were held before it, and are no more
	checked  int                 // operations that were checked, at whatever cost
	freed    spec.Ptr            // what was freed last
	now      []visibleState      // of each device, after the latest operation
	before   []visibleState      // the one before
	limit    []uint64            // bytes that the device gives to this machine at most

	faulted bool // a driver call was made to fail: operations may fail for it
	lost    bool // and every later call fails as well: only the structures can be sound

	meter    *meter          // what the driver is asked for
	gave     int             // calls that returned memory, when it was last looked what is still there
	refusals int             // calls for memory that it had refused before the present operation
	cache    *cacheWatch     // what should be reused, if the program is about that
	lockstep *perform.Player // the other allocator does the same, if they are compared
}

// Options says what is tried, and how thoroughly.
type Options struct {
	// New makes the allocator.
	New perform.Factory
	// The number of operations after which everything is looked at; 0 means at the end only.
	Every int

	// Around, if given, is put around the fake device.
	Around perform.Around

	// Align is what addresses have to be multiples of, in bytes; 0 means the
	// geometry's MinBlock.
	Align uint64
	// Overlook, if given, says which classes of failures are none here. A program
	// goes on after them if it can.
	Overlook func(class string) bool
	// Against, if given, makes an allocator that has to do the same things, decision
	// by decision.
	Against perform.Factory

	// probing: after every operation calls are tried that have to be refused.
	probing bool
	// caching: the program is of cachingArea, whose every reuse is looked at.
	caching bool
	// trusting: nothing is tried that has to be refused.
	trusting bool
	keeps    Kept
	faults   []spec.FaultSpec // that are tried; nil: all
	limited  bool             // the allocator has a limit that is not known
	mayKeep  uint64           // bytes, at the end
	roomy    bool             // no request may fail for lack of memory: the allocator would end the process
}

// Failure is something that must not be, and how it came to be.
type Failure struct {
	Area   string
	Seed   uint64
	Class  string // what must not be, in few words: failures of one class have one cause, as a rule
	Detail string // what was found, with addresses and sizes
	Header trace.Header
	Ops    []trace.Op // in the last of them it was found
	Found  int        // operations checked before it was found; more than len(Ops) once minimised

	area    *Area
	answers []string // how the operations failed that may fail
}

// Error is the failure in words.
func (f *Failure) Error() string {
	return fmt.Sprintf("area %s, seed %d, after %d operations: %s: %s", f.Area, f.Seed, len(f.Ops), f.Class, f.Detail)
}

// newTrial sets up the program, the allocator and the device.
func newTrial(area *Area, h trace.Header, o Options) (*Trial, error) {
	m := &meter{}
	player, err := perform.NewOn(&h, m.listening(o.New), nil, o.Around)
	if err != nil {
		return nil, err
	}
	t := &Trial{
		header: h, options: o, player: player, program: newProgram(area, h), meter: m,
		history: invariant.NewHistory(), checker: invariant.NewChecker(h.Geometry), labels: Coverage{},
		now: make([]visibleState, h.Devices), before: make([]visibleState, h.Devices),
	}
	if o.caching {
		t.cache = newCacheWatch(m)
	}
	t.history.FirstRoutingWins = t.program.rules.FirstRoutingWins
	t.lifetimes = t.program.Lifetimes(player.GPU())
	for range h.Devices {
		t.limit = append(t.limit, h.TotalMemory)
	}
	if o.Against != nil {
		if t.lockstep, err = perform.New(&h, o.Against); err != nil {
			return nil, err
		}
	}
	return t, t.look()
}

// step performs one operation, which must be prepared, and checks.
func (t *Trial) step(op trace.Op) (f *Failure) {
	defer t.catch(&f)
	t.ops = append(t.ops, op)
	t.checked++
	t.history.WorkCompleted()
	if before := kindOf(op.Kind).before; before != nil {
		before(t, &op)
	}
	var untouched *spec.Snapshot
	if op.Expect.Error != "" {
		untouched = t.snapshot()
	}
	captured := t.program.state(&op).capture != nil
	out := t.perform(&op)
	if f := t.checkAnswer(&op, &out); f != nil {
		return f
	}
	if f := t.checkComplaint(); f != nil {
		return f
	}
	if f := t.checkLockstep(&op, &out); f != nil {
		return f
	}
	if f := t.checkCaching(&op, &out); f != nil {
		return f
	}
	if f := t.apply(&op, &out); f != nil {
		return f
	}
	t.now, t.before = t.before, t.now
	if err := t.look(); err != nil {
		return t.fail(classUnseen, "%v", err)
	}
	if op.Expect.Error != "" {
		if f := t.checkUntouched(untouched, "a "+string(op.Kind)+" that was refused"); f != nil {
			return f
		}
	}
	t.cover(&op, &out, captured)
	if after := kindOf(op.Kind).after; after != nil && out.Err == nil {
		if f := after(t, &op, &out); f != nil {
			return f
		}
	}
	if op.Expect.Error == "" {
		t.program.Did(&op, &out)
	}
	return t.checkState(&op, &out)
}

// perform does it, and remembers what came of it.
func (t *Trial) perform(op *trace.Op) perform.Result {
	t.refusals = t.meter.refused
	undo := func() {}
	if t.watches() {
		undo = t.lifetimes.Before(op)
	}
	out := t.player.Perform(op)
	if out.Err != nil {
		undo()
	}
	if t.watches() {
		t.lifetimes.After(op, &out)
	}
	t.drained = t.takeDrained()
	t.answered, t.skipped = out.Err, out.Skipped
	t.answers = append(t.answers, trace.ErrorName(out.Err))
	return out
}

// fail makes a failure of what happened up to now; nil if failures of the class are
// overlooked and the program can go on.
func (t *Trial) fail(class, format string, args ...any) *Failure {
	if t.overlooks(class) && !endsProgram(class) {
		return nil
	}
	return t.failure(class, format, args...)
}

func (t *Trial) failure(class, format string, args ...any) *Failure {
	return &Failure{
		Area: t.program.area.Name, area: t.program.area, Class: class, Detail: fmt.Sprintf(format, args...),
		Header: t.header, Ops: t.ops, Found: t.checked, answers: t.answers,
	}
}

func (t *Trial) overlooks(class string) bool {
	return t.options.Overlook != nil && t.options.Overlook(class)
}

// The classes of failures after which there is nothing left to look at.
const (
	classPanic      = "panic"
	classCrash      = "crash"
	classHang       = "hang"
	classUnseen     = "cannot be observed"
	classHistory    = "history"
	classNoWayOut   = "no way out"
	classNothing    = "nothing helps"
	classNotMade    = "no allocator"
	classUnreleased = "close"

	// What was allocated is not memory that may be used: whatever goes wrong later follows from that.
	classTwoOwners = "LiveBlocksDisjoint"
	classNotThere  = "device violation"
	classReturned  = "hazard of memory that is given back"
)

func endsProgram(class string) bool {
	switch class {
	case classTwoOwners, classNotThere, classReturned, classPanic, classCrash, classHang, classUnseen, classHistory, classNoWayOut, classNothing, classNotMade, classUnreleased:
		return true
	}
	return false
}

// catch makes a failure of a panic, which is an answer to no operation.
func (t *Trial) catch(f **Failure) {
	reason := recover()
	if gone, is := reason.(*Gone); is {
		*f = t.fail(gone.class(), "%v", gone)
	} else if reason != nil {
		*f = t.fail(classPanic, "%v, in %s", reason, panickedIn())
	}
}

// panickedIn is the function that a panic came from.
func panickedIn() string {
	var callers [32]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers[:])])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "runtime.") || !more {
			return frame.Function
		}
	}
}

// apply applies the operation to the history.
func (t *Trial) apply(op *trace.Op, out *perform.Result) *Failure {
	if out.Skipped || op.Expect.Error != "" {
		return nil
	}
	outcome := invariant.Outcome{Ptr: out.Ptr, Err: out.Err, Freed: out.Freed, Drained: t.drained}
	if history := kindOf(op.Kind).history; history != nil {
		history(t, &outcome)
	}
	if err := t.history.Apply(op, t.header.Streams, outcome); err != nil {
		return t.fail(classHistory, "%v", err)
	}
	return nil
}

// snapshot is the allocator's, nil if it has none to give.
func (t *Trial) snapshot() *spec.Snapshot {
	s, err := t.player.Allocator().Snapshot()
	if err != nil {
		return nil
	}
	return &s
}

// checkUntouched compares memory and statistics before and after something that was refused.
func (t *Trial) checkUntouched(before *spec.Snapshot, what string) *Failure {
	if before != nil {
		after := t.snapshot()
		if after == nil || !reflect.DeepEqual(before.Segments, after.Segments) {
			return t.fail(probeChanged, "%s changed the segments", what)
		}
	}
	for dev := range t.now {
		if t.now[dev].stats != t.before[dev].stats {
			return t.fail(probeChanged, "%s changed the statistics of device %d", what, dev)
		}
	}
	return nil
}

// checkState looks at what is true at any time.
func (t *Trial) checkState(op *trace.Op, out *perform.Result) *Failure {
	if in, able := t.player.Allocator().(spec.Inspector); able {
		for dev := range t.now {
			violations, err := t.checker.Check(spec.Device(dev), in, &t.now[dev].stats)
			if f := t.firstOf(violations, err); f != nil {
				return f
			}
		}
	}
	if t.lost {
		return nil
	}
	if f := t.firstOf(invariant.CheckAll(&invariant.Observation{Geometry: t.header.Geometry, History: t.history})); f != nil {
		return f
	}
	if f := t.checkDevice(); f != nil {
		return f
	}
	if f := t.checkGiven(op); f != nil {
		return f
	}
	if kindOf(op.Kind).checksAll && out.Err == nil && op.Expect.Error == "" {
		return t.checkAll()
	}
	failedForFault := t.faulted && out.Err != nil && op.Expect.Error == ""
	if failedForFault || t.options.Every > 0 && t.checked%t.options.Every == 0 {
		return t.checkAll()
	}
	return nil
}

// firstOf makes a failure of the first violation that counts.
func (t *Trial) firstOf(violations []invariant.Violation, err error) *Failure {
	if err != nil {
		return t.fail(classUnseen, "%v", err)
	}
	for _, v := range violations {
		if f := t.fail(v.Invariant, "%v", v); f != nil {
			return f
		}
	}
	return nil
}

// checkAll looks at everything that can be seen.
func (t *Trial) checkAll() *Failure {
	o, err := invariant.Observe(t.player.Allocator(), t.header.Geometry, t.header.Devices)
	if err != nil {
		return t.fail(classUnseen, "%v", err)
	}
	if !t.lost {
		o.History = t.history
		o.Driver = t.driverUsage()
	}
	return t.firstOf(invariant.CheckAll(o))
}

// driverUsage is what the device has given, as the device sees it; nil when it
// cannot be asked.
func (t *Trial) driverUsage() []invariant.DriverBytes {
	var usage []invariant.DriverBytes
	for dev := range t.limit {
		free, _, err := t.player.GPU().MemInfo(spec.Device(dev))
		if err != nil {
			return nil
		}
		usage = append(usage, invariant.DriverBytes{Held: t.limit[dev] - free})
	}
	for _, m := range t.program.memory {
		if m.uncached {
			usage[m.device].Uncached += m.size
		}
	}
	return usage
}

// checkDevice looks whether work touched what it had no right to, or what other work
// may still have been using.
func (t *Trial) checkDevice() *Failure {
	if v := t.player.GPU().Violations(); len(v) > 0 {
		return t.fail(classNotThere, "%v", v[0])
	}
	for _, h := range t.player.GPU().Hazards() {
		class := "hazard"
		switch h.Kind {
		case fakegpu.NoMemory:
			class = classNotThere
		case fakegpu.Returned:
			class = classReturned
		case fakegpu.AllocatedTwice:
			class = classTwoOwners
		}
		if f := t.fail(class, "%v", h); f != nil {
			return f
		}
	}
	return nil
}

// checkGiven looks whether what is allocated is still there, when memory was given back to the driver.
func (t *Trial) checkGiven(op *trace.Op) *Failure {
	if t.gave == t.meter.gave || t.program.asleep {
		return nil
	}
	t.gave = t.meter.gave
	for _, m := range t.program.memory {
		r := spec.Range{Ptr: m.ptr, Bytes: m.size}
		if m.size == 0 {
			continue
		}
		if reason := t.player.GPU().Lacks(m.device, r); reason != "" {
			return t.fail(classNotThere, "%d bytes at %v (id %d) are allocated, and after %s the device cannot touch them: %s", m.size, m.ptr, m.id, op.Kind, reason)
		}
	}
	return nil
}

// driverError reports whether an error comes from the driver for a reason that lies
// with the driver: a fault, or a wait that nothing would end.
func (t *Trial) driverError(err error) bool {
	var driver *spec.DriverError
	if !errors.As(err, &driver) {
		return false
	}
	return t.faulted || errors.Is(err, fakegpu.ErrEndlessWait) && t.program.anyHeld()
}
