package model

import (
	"errors"
	"fmt"
	"reflect"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Two queries, which traces have no operation for.
const (
	OpStats    trace.OpKind = "stats"
	OpSnapshot trace.OpKind = "snapshot"
)

// An Operation is an action with its arguments. Fields that its kind does not use are
// zero.
type Operation struct {
	Kind     trace.OpKind
	Stream   spec.DeviceStream // malloc, record_stream, busy, drain
	Bytes    uint64            // malloc
	Ptr      spec.Ptr          // free, record_stream
	Fraction float64           // set_memory_fraction
	Settings string            // configure
	Results  DriverResults     // malloc; the address of a new segment follows from the outcome
}

// An Outcome is what an operation returned.
type Outcome struct {
	Ptr    spec.Ptr
	Err    error
	Stats  *spec.DeviceStats // stats
	Layout []spec.Segment    // snapshot: the segments of this device
}

// driverResults completes op.Results. A malloc that got a new segment returned the
// segment's address.
func (op *Operation) driverResults(out *Outcome) DriverResults {
	g := op.Results
	g.Segment = out.Ptr
	return g
}

// Step is the next state after an operation of one action that had an outcome. An
// error says why the operation cannot have had that outcome.
func (s State) Step(op Operation, out Outcome) (State, error) {
	var want Result
	next := s
	switch op.Kind {
	case trace.OpMalloc:
		next, want = s.Malloc(op.Stream.Stream, op.Bytes, op.driverResults(&out))
	case trace.OpFree:
		next, want = s.Free(op.Ptr)
	case trace.OpRecordStream:
		next, want = s.RecordStream(op.Ptr, op.Stream)
	case trace.OpEmptyCache:
		next = s.EmptyCache()
	case trace.OpSetMemoryFraction:
		next, want = s.SetMemoryFraction(op.Fraction)
	case trace.OpConfigure:
		next, want = s.Configure(op.Settings)
	case trace.OpBusy:
		next = s.Busy(op.Stream)
	case trace.OpDrain:
		next = s.Drain(op.Stream)
	case OpStats:
		return s, s.checkStats(out.Stats)
	case OpSnapshot:
		return s, s.checkLayout(out.Layout)
	default:
		return s, &spec.NotSupportedError{Op: "model", Reason: string(op.Kind)}
	}
	return next, want.check(&out)
}

// BeginMalloc is Step for the first action of a malloc that may have several, and
// ResumeMalloc for each further one. The outcome is that of the whole malloc. It is
// compared at the last action.
func (s State) BeginMalloc(id int, op Operation, out Outcome) (next State, isDone bool, err error) {
	next, want, isDone := s.MallocSearch(id, op.Stream.Stream, op.Bytes, op.driverResults(&out))
	if isDone {
		err = want.check(&out)
	}
	return next, isDone, err
}

// ResumeMalloc is the next action after BeginMalloc.
func (s State) ResumeMalloc(id int, op Operation, out Outcome) (next State, isDone bool, err error) {
	next, want, isDone := s.MallocResume(id, op.driverResults(&out))
	if isDone {
		err = want.check(&out)
	}
	return next, isDone, err
}

// check compares the required result with the actual one. Errors are compared by their
// kind, out of memory by all fields.
func (r Result) check(out *Outcome) error {
	var wantOOM, gotOOM *spec.OutOfMemoryError
	switch {
	case trace.ErrorName(r.Err) != trace.ErrorName(out.Err):
		return fmt.Errorf("the error is %v, not %v", orNone(r.Err), orNone(out.Err))
	case errors.As(r.Err, &wantOOM) && errors.As(out.Err, &gotOOM) && *wantOOM != *gotOOM:
		return fmt.Errorf("the error's figures are %+v, not %+v", *wantOOM, *gotOOM)
	case r.Ptr != out.Ptr:
		return fmt.Errorf("the address is %v, not %v", r.Ptr, out.Ptr)
	}
	return nil
}

func orNone(err error) string {
	if err == nil {
		return "none"
	}
	return err.Error()
}

func (s State) checkStats(got *spec.DeviceStats) error {
	want, have := s.Stats(), Current(*got)
	if want == have {
		return nil
	}
	var wrong error
	named := have.Map()
	want.Each(func(key string, value int64) {
		if wrong == nil && named[key] != value {
			wrong = fmt.Errorf("%s is %d, not %d", key, value, named[key])
		}
	})
	return wrong
}

func (s State) checkLayout(got []spec.Segment) error {
	want := s.Layout()
	for i := range max(len(want), len(got)) {
		switch {
		case i == len(got):
			return fmt.Errorf("there is a segment at %v", want[i].Address)
		case i == len(want):
			return fmt.Errorf("there is no segment at %v", got[i].Address)
		case !reflect.DeepEqual(want[i], got[i]):
			return fmt.Errorf("a segment is %+v, not %+v", want[i], got[i])
		}
	}
	return nil
}
