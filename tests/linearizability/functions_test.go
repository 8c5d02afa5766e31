package linearizability

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/tests/linearizability/points"
)

// Functions of the program that the allocator calls: an observer of mallocs that are out of memory, a
// callback that is to free memory, a tracker of trace entries. Each calls the allocator, panics, or
// waits for a lock of the program, with which another thread may be in a call of the allocator. Observers
// and callbacks are called without a lock of the allocator's, so that none of this is wrong there. A
// tracker is called with the device's: what it may do is panic.

// doings are what a function can do.
var doings = map[string]func(x *execution){
	"calls": func(x *execution) {
		x.perform(x.running, Op{Kind: model.OpStats, Device: x.pendingCall().Op.Device})
	},
	"panics": func(*execution) { panic(errProgramPanics) },
	"waits":  func(x *execution) { x.lock.during(x.running, func() {}) },
	"blocks": func(*execution) { <-make(chan bool) }, // no scheduler can know of it
}

// errProgramPanics is what a function of the program panics with, and the outcome of the call then.
var errProgramPanics = errors.New("a function of the program panics")

// registerFunctions registers the setup's functions, each a word as "observer-calls".
func (x *execution) registerFunctions() error {
	for _, name := range x.setup.Functions {
		of, does, _ := strings.Cut(name, "-")
		do, known := doings[does]
		observable, able := x.allocator.(spec.Observable)
		switch {
		case !known:
			return fmt.Errorf("there is no function %q", name)
		case !able:
			return &spec.NotSupportedError{Op: "linearizability", Reason: "the allocator is not a spec.Observable"}
		case does == "waits" && x.points == nil:
			return &spec.NotSupportedError{Op: "linearizability", Reason: "threads wait for a lock of the program in a build with points"}
		}
		during := func() {
			if x.pendingCall() != nil {
				do(x)
			}
		}
		var err error
		switch of {
		case "observer":
			err = observable.OnOutOfMemory(func(spec.OutOfMemoryReport) { during() })
		case "callback":
			err = observable.OnNeedMemory(func() bool { during(); return false })
		case "tracker":
			err = observable.OnTrace(func(spec.HistoryEntry) { during() })
		default:
			err = fmt.Errorf("there is no function %q", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// doInterrupted does an operation, which a function of the program may end with a panic.
func (x *execution) doInterrupted(kind kind, call *Call) {
	if slices.ContainsFunc(x.setup.Functions, func(f string) bool { return strings.HasSuffix(f, "-panics") }) {
		defer func() {
			if p := recover(); p == errProgramPanics {
				call.Out = model.Outcome{Err: errProgramPanics}
			} else if p != nil {
				panic(p)
			}
		}()
	}
	kind.do(x, call)
}

// A programLock is a lock of the program.
type programLock struct {
	mutex  points.Mutex
	held   bool
	holder int // the thread, if it is held
}

// during holds the lock during a call, if the thread does not hold it already.
func (l *programLock) during(thread int, do func()) {
	if l.held && l.holder == thread {
		do()
		return
	}
	l.mutex.LockAt("the program")
	l.held, l.holder = true, thread
	defer func() {
		l.held = false
		l.mutex.UnlockAt("the program")
	}()
	do()
}
