package replay

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"gaugeblock/conformance/perform"
	"gaugeblock/internal/memlimit"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Options says how to replay.
type Options struct {
	// New makes the allocator; it is called once a trace.
	New perform.Factory
	// Sentences, if given, is written a sentence for each operation, at the end of the replay.
	Sentences io.Writer
	// MaxMemory bounds what the process keeps in memory, in bytes; 0: memlimit.Default.
	MaxMemory uint64
}

// File replays the trace in a file. The error is one of opening the file, of the
// trace (a *trace.Error), or of the writer of sentences. With an error the result is
// worth nothing.
//
// The trace is read to its end whatever comes of it, so that bad input is always
// found.
func File(path string, o Options) (Result, error) {
	s := &source{name: path, options: o, open: func() (*trace.Reader, error) { return trace.Open(path) }}
	return s.result()
}

// Reader does so with the trace that is read from r; name is what it is called in the
// result and in errors. What has been read is kept in memory, for it may be replayed again.
func Reader(r io.Reader, name string, o Options) (Result, error) {
	var read bytes.Buffer
	s := &source{name: name, options: o, open: func() (*trace.Reader, error) {
		if read.Len() > 0 { // it is replayed again
			return trace.NewReader(bytes.NewReader(read.Bytes()), name)
		}
		return trace.NewReader(io.TeeReader(r, &read), name)
	}}
	return s.result()
}

// source is a trace that can be read more than once.
type source struct {
	name    string
	options Options
	open    func() (*trace.Reader, error)
}

// result replays the trace, several times if its first replay differs and the trace does
// not tell every address: see trying.go.
func (s *source) result() (Result, error) {
	r, err := s.replay(&choices{}, true)
	if err == nil && r.result.FirstDifference != nil && len(r.choices.made) > 0 {
		r, err = s.try(r)
	}
	if r == nil {
		return Result{}, err
	}
	if o := s.options; o.Sentences != nil {
		if _, failure := o.Sentences.Write(r.told.Bytes()); failure != nil {
			err = cmp.Or(err, failure)
		}
	}
	if err != nil {
		return Result{}, err
	}
	return r.result, nil
}

// replay replays the trace once. With an error the run is what has been replayed so far, nil
// if nothing has.
func (s *source) replay(c *choices, whole bool) (*run, error) {
	tr, err := s.open()
	if err != nil {
		return nil, err
	}
	defer tr.Close()
	tr.Reuse()
	r := &run{result: Result{File: s.name, Recorded: recordedFrom(tr.Header())}, choices: c, whole: whole, budget: memlimit.New(s.options.MaxMemory)}
	if s.options.Sentences != nil {
		r.sentences.w = &r.told
	}
	p, err := perform.New(tr.Header(), s.options.New)
	switch {
	case lacksAbility(err):
		r.result.NotSupported = inability(err)
	case err != nil:
		return nil, &trace.Error{File: s.name, Line: 1, Reason: err.Error(), Err: err}
	default:
		p.Choose(c.choose)
		p.Reuse()
		r.header, r.player, r.tolerance = tr.Header(), p, toleranceOf(tr.Header())
	}
	return r, r.operations(tr)
}

// A run is a replay under way.
type run struct {
	header    *trace.Header
	player    *perform.Player
	tolerance tolerance
	result    Result
	choices   *choices
	whole     bool // the trace is read to its end whatever comes of it
	sentences sentences
	told      bytes.Buffer // the sentences, if one is asked for

	budget *memlimit.Budget
	line   int // that was read last

	passed int // how many checks the operation that differs passed
	same   int // how much of the latest operation was as expected, if there are choices
}

// operations performs and compares all of a trace.
func (r *run) operations(tr *trace.Reader) error {
	for r.whole || !r.over() {
		if excess := r.budget.Check(); excess != nil {
			return &trace.Error{File: r.result.File, Line: r.line, Reason: excess.Error()}
		}
		op, err := tr.Next()
		if err == io.EOF {
			r.result.NoEnd = tr.End() == nil && tr.Header().Format == trace.Format
			r.finish(tr.End())
			return nil
		}
		if err != nil {
			return err
		}
		r.result.Operations++
		r.line = op.Line
		if err := r.step(op); err != nil {
			return err
		}
	}
	return nil
}

// over reports whether the outcome is known; the rest is only read.
func (r *run) over() bool {
	return r.result.FirstDifference != nil || r.result.NotSupported != "" || r.result.HalfDone > 0
}

// step performs and compares one operation.
func (r *run) step(op *trace.Op) error {
	defer func() { r.choices.remember(r.result.Operations, op) }()
	if r.over() {
		return nil
	}
	r.choices.operation, r.choices.line = r.result.Operations, op.Line
	if op.Expect.Entries != nil && !r.player.Observed() {
		r.notSupported(op, &spec.NotSupportedError{Op: "events", Reason: "the allocator is not a spec.Observable"})
		return nil
	}
	r.tolerance.meet(op.Kind)
	out := r.player.Perform(op)
	if out.Skipped {
		out.Err = perform.ErrSkipped
	}
	if out.Err != nil {
		if bad, is := errors.AsType[*trace.Error](out.Err); is {
			bad.File = r.result.File
			return bad
		}
		if lacksAbility(out.Err) && op.Expect.Error != trace.ErrorNotSupported {
			r.notSupported(op, out.Err)
			return nil
		}
	}
	r.sentences.operation(r.result.Operations, op, &out, r.player.GPU())
	if op.Expect.Unknown() {
		return nil
	}
	r.result.Compared++
	r.result.Parts.add(&op.Expect)
	if op.Kind == trace.OpRestore && op.Expect.Error == trace.ErrorOther && trace.ErrorName(out.Err) == trace.ErrorInvalidState {
		r.result.HalfDone, r.result.Exact = r.result.Operations, true
		return nil
	}
	d := r.compare(op, &out)
	if d != nil {
		r.differs(d, op.Line, op.InWords(), r.result.Operations)
	}
	if len(r.choices.made) > 0 {
		r.same = r.confirm(op, &out)
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
		if d := r.compareEnd(end); d != nil {
			r.differs(d, end.Line, "end", r.result.Operations+1)
			return
		}
		r.result.Parts.Statistics = r.result.Parts.Statistics || end.Stats != nil
		r.result.Parts.Layouts = r.result.Parts.Layouts || end.Layout != nil
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
