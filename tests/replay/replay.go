package replay

import (
	"errors"
	"fmt"
	"io"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Options says how to replay.
type Options struct {
	// New makes the allocator; it is called once a trace.
	New Factory
	// Story, if given, is written a sentence for each operation. A failure to
	// write to it ends the replay.
	Story io.Writer
}

// File replays the trace in a file. The error is one of opening the file, or
// Trace's.
func File(path string, o Options) (Result, error) {
	tr, err := trace.Open(path)
	if err != nil {
		return Result{}, err
	}
	defer tr.Close()
	return Trace(tr, path, o)
}

// Reader replays the trace that is read from r; name is what it is called in the
// result and in errors.
func Reader(r io.Reader, name string, o Options) (Result, error) {
	tr, err := trace.NewReader(r, name)
	if err != nil {
		return Result{}, err
	}
	return Trace(tr, name, o)
}

// Trace replays what the reader has, from the first operation on; name is what
// the trace is called in the result and in errors.
//
// The trace is read to its end whatever comes of it, so that bad input is always
// found; that is a *trace.Error. The only other error is the story's writer's.
// With an error the result is worth nothing.
func Trace(tr *trace.Reader, name string, o Options) (Result, error) {
	r := run{result: Result{File: name}, story: story{w: o.Story}}
	m, err := newMachine(name, tr.Header(), o.New, nil)
	switch {
	case lacksAbility(err):
		r.result.NotSupported = inability(err)
	case err != nil:
		return Result{}, &trace.Error{File: name, Line: 1, Reason: err.Error(), Err: err}
	}
	r.machine = m
	for {
		op, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return Result{}, err
		}
		r.result.Operations++
		if err := r.step(op); err != nil {
			return Result{}, err
		}
	}
	r.finish(tr.End())
	return r.result, nil
}

// A run is a replay under way.
type run struct {
	machine *machine
	result  Result
	story   story
}

// over reports whether the outcome is known; the rest is only read.
func (r *run) over() bool {
	return r.result.FirstDifference != nil || r.result.NotSupported != ""
}

// step performs and compares one operation.
func (r *run) step(op *trace.Op) error {
	if r.over() {
		return nil
	}
	if op.Expect.Entries != nil && !r.machine.observed {
		r.notSupported(op, &spec.NotSupportedError{Op: "events", Reason: "the allocator is not a spec.Observable"})
		return nil
	}
	out := r.machine.perform(op)
	var bad *trace.Error
	if errors.As(out.err, &bad) {
		return bad
	}
	if lacksAbility(out.err) && op.Expect.Error != trace.ErrorNotSupported {
		r.notSupported(op, out.err)
		return nil
	}
	if r.story.operation(r.result.Operations, op, out, r.machine.fake); r.story.err != nil {
		return r.story.err
	}
	if op.Expect.Unknown() {
		return nil
	}
	r.result.Compared++
	if d := r.machine.compare(op, out); d != nil {
		r.differs(d, op.Line, op.InWords(), r.result.Operations)
	}
	return nil
}

// lacksAbility reports whether an error says that the allocator cannot do what it
// was asked. That the driver cannot, because a trace's fault made it say so, is an
// answer like any other.
func lacksAbility(err error) bool {
	var driver *spec.DriverError
	return errors.Is(err, spec.ErrNotSupported) && !errors.As(err, &driver)
}

// inability says what cannot be done, without saying once more that it cannot.
func inability(err error) string {
	var e *spec.NotSupportedError
	if errors.As(err, &e) {
		return e.Op + ": " + e.Reason
	}
	return err.Error()
}

// finish compares what is left with what was left. A trace need not have an end.
func (r *run) finish(end *trace.End) {
	if r.over() {
		return
	}
	compared := r.result.Compared > 0
	if end != nil {
		if d := r.machine.compareEnd(end); d != nil {
			r.differs(d, end.Line, "end", r.result.Operations+1)
			return
		}
		compared = compared || end.Layout != nil || end.Stats != nil
	}
	r.result.Exact, r.result.Uncompared = compared, !compared
}

func (r *run) notSupported(op *trace.Op, err error) {
	r.result.NotSupported = fmt.Sprintf("%s (operation %d, line %d)", inability(err), r.result.Operations, op.Line)
}

func (r *run) differs(d *Difference, line int, op string, number int) {
	d.Operation, d.Line, d.Op = number, line, op
	r.result.FirstDifference = d
}
