package linearizability

import (
	"errors"
	"slices"
	"strings"

	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// A history without overlaps is an ordinary run, and can be written as a trace.

// Trace is the history as a trace for spec.WriteTraceFile: what the threads did, one
// after the other, each operation with what the specification says must come of it.
// A replay of it stops where the allocator goes wrong. Frees of what is not
// allocated are left out, for a trace has no name for it.
//
// The error wraps spec.ErrNotSupported if calls overlap, or if the allocator waits
// for a busy stream, for which a replay has no patience.
func (h *History) Trace() (trace.Header, []trace.Op, error) {
	t := tracer{h: h, header: h.Setup.traceHeader(), live: map[spec.Ptr]int64{}}
	if !h.sequential() {
		return t.header, nil, &spec.NotSupportedError{Op: "trace", Reason: "calls overlap"}
	}
	if err := t.begin(); err != nil {
		return t.header, nil, err
	}
	for i := range h.Calls {
		if err := t.add(&h.Calls[i]); err != nil {
			return t.header, nil, err
		}
	}
	return t.header, t.ops, nil
}

// formatTrace is the text of a trace, or why it has none.
func formatTrace(header trace.Header, ops []trace.Op) string {
	var text strings.Builder
	w, err := trace.NewWriter(&text, header)
	for i := 0; i < len(ops) && err == nil; i++ {
		err = w.Write(&ops[i])
	}
	if err == nil {
		err = w.Close(nil)
	}
	if err != nil {
		return err.Error() + "\n"
	}
	return text.String()
}

// tracer turns calls into a trace's operations. It runs the specification along,
// to say what must come of each.
type tracer struct {
	h       *History
	header  trace.Header
	ops     []trace.Op
	states  []model.State      // by device
	mallocs int64              // allocations so far
	live    map[spec.Ptr]int64 // allocations that are out, by their numbers
}

// traceHeader describes the setup. The streams are those of all devices.
func (s *Setup) traceHeader() trace.Header {
	header := trace.Header{
		Source: "tests/suites/linearizability", Family: "linearizability",
		Devices: s.Devices, TotalMemory: s.Memory, Settings: s.Settings,
		Streams: []spec.Stream{0},
	}
	for dev := range spec.Device(s.Devices) {
		for i := range s.Streams {
			header.Streams = append(header.Streams, s.stream(dev, i+1))
		}
	}
	return header
}

// begin sets the limit, which a trace does by an operation.
func (t *tracer) begin() error {
	for dev := range spec.Device(t.h.Setup.Devices) {
		state, err := t.h.Setup.initial(dev)
		if err != nil {
			return err
		}
		t.states = append(t.states, state)
		if t.h.Setup.Limit > 0 {
			t.ops = append(t.ops, trace.Op{
				Kind: trace.OpSetMemoryFraction, Device: dev,
				Fraction: t.h.Setup.fraction(), Allowed: t.h.Setup.Limit,
			})
		}
	}
	return nil
}

// add appends a call. What a trace has no operation for becomes an expectation of
// the operation before it: statistics and layouts are looked at afterwards.
func (t *tracer) add(c *Call) error {
	op := trace.Op{
		Kind: c.Op.Kind, Device: c.Op.Device, Size: c.Op.Bytes,
		Fraction: c.Op.Fraction, Settings: c.Op.Settings,
		Stream: slices.Index(t.header.Streams, t.h.Setup.stream(c.Op.Device, c.Op.Stream)),
	}
	switch c.Op.Kind {
	case model.OpStats:
		return nil
	case model.OpSnapshot:
		if len(t.ops) > 0 {
			t.ops[len(t.ops)-1].Expect.Layout = t.layout()
		}
		return nil
	case trace.OpMalloc:
		op.ID = t.mallocs
		t.mallocs++
	case trace.OpFree, trace.OpRecordStream:
		id, out := t.live[c.Ptr]
		if !out {
			return nil
		}
		op.ID = id
	}
	err := t.applyModel(c, &op)
	t.ops = append(t.ops, op)
	return err
}

// follow lets the specification do the operation, and notes what came of it.
func (t *tracer) applyModel(c *Call, op *trace.Op) error {
	for dev, before := range t.states {
		do, out, concerned := t.h.on(spec.Device(dev), c)
		if !concerned {
			continue
		}
		if c.Op.Kind == trace.OpMalloc {
			do.Results.Segment = out.Ptr
			next, result := before.Malloc(do.Stream.Stream, do.Bytes, do.Results)
			t.states[dev] = next
			t.expect(op, result)
		} else {
			t.states[dev], _ = before.Step(do, out)
		}
		if waited(before, t.states[dev]) && op.Kind != trace.OpDrain {
			return &spec.NotSupportedError{Op: "trace", Reason: "the allocator waits for a busy stream"}
		}
	}
	if c.Op.Kind == trace.OpFree {
		delete(t.live, c.Ptr)
	}
	return nil
}

// expect notes a malloc's result. Where the specification wants a new segment, and
// the allocator took none, only the driver could say which address.
func (t *tracer) expect(op *trace.Op, result model.Result) {
	var nowhere *model.AddressError
	if errors.As(result.Err, &nowhere) {
		return
	}
	op.Expect.Error = trace.ErrorName(result.Err)
	if result.Err == nil {
		op.Expect.Addr = &result.Ptr
		t.live[result.Ptr] = op.ID
	}
}

// waited reports whether some stream has come further.
func waited(before, after model.State) bool {
	passed := 0
	for _, s := range before.Streams {
		passed -= s.Completed
	}
	for _, s := range after.Streams {
		passed += s.Completed
	}
	return passed > 0
}

// layout is the memory of all devices, as the specification has it.
func (t *tracer) layout() []spec.Segment {
	layout := []spec.Segment{}
	for _, s := range t.states {
		layout = append(layout, s.Layout()...)
	}
	return layout
}
