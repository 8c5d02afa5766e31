package linearizability

import (
	"errors"
	"slices"
	"strings"

	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// A history in which no calls overlap can be written as a trace.

// Trace is the history as a trace (trace.WriteFile): the calls in order, each with the
// outcome that the specification requires. A replay of it stops at the first other
// outcome. Frees of pointers that are not allocated are left out, since a trace has no id
// for them.
//
// The error wraps spec.ErrNotSupported if calls overlap, if there is an operation of an ability
// beside malloc and free, or if the allocator waits for a
// busy stream, which a replay cannot do.
func (h *History) Trace() (trace.Header, []trace.Op, error) {
	t := tracer{h: h, header: h.Setup.traceHeader(), live: map[spec.Ptr]int64{}}
	if !h.sequential() {
		return t.header, nil, &spec.NotSupportedError{Op: "trace", Reason: "calls overlap"}
	}
	for i := range h.Calls {
		if kind := h.Calls[i].Op.Kind; kinds[kind].noTrace {
			return t.header, nil, &spec.NotSupportedError{Op: "trace", Reason: string(kind) + " is not written as a trace"}
		}
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
	if err := trace.Write(&text, header, ops, nil); err != nil {
		return err.Error() + "\n"
	}
	return text.String()
}

// tracer writes calls as operations of a trace. It runs the specification for the required
// outcomes.
type tracer struct {
	h       *History
	header  trace.Header
	ops     []trace.Op
	states  []model.State      // by device
	mallocs int64              // mallocs so far
	live    map[spec.Ptr]int64 // the ids of the allocated blocks
}

// traceHeader describes the setup. The streams are those of all devices.
func (s *Setup) traceHeader() trace.Header {
	header := trace.Header{
		Source: "tests/linearizability", Family: "linearizability",
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

// begin sets the limit by an operation.
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

// add appends a call. A query becomes an expectation of the operation before it.
func (t *tracer) add(c *Call) error {
	op := trace.Op{
		Kind: c.Op.Kind, Device: c.Op.Device, Size: c.Op.Bytes,
		Fraction: c.Op.Fraction, Settings: c.Op.Settings,
		Stream: slices.Index(t.header.Streams, t.h.Setup.stream(c.Op.Device, c.Op.Stream)),
	}
	kind := kinds[c.Op.Kind]
	switch {
	case kind.query != nil:
		kind.query(t)
		return nil
	case kind.allocates:
		op.ID = t.mallocs
		t.mallocs++
	case kind.uses:
		id, isLive := t.live[c.Ptr]
		if !isLive {
			return nil
		}
		op.ID = id
	}
	err := t.applyModel(c, &op)
	t.ops = append(t.ops, op)
	return err
}

// applyModel does the operation on the specification, and adds its outcome.
func (t *tracer) applyModel(c *Call, op *trace.Op) error {
	for dev, before := range t.states {
		do, out, isOn := t.h.on(spec.Device(dev), c)
		if !isOn {
			continue
		}
		if kinds[c.Op.Kind].allocates {
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
	if kinds[c.Op.Kind].frees {
		delete(t.live, c.Ptr)
	}
	return nil
}

// expect adds a malloc's result. If the specification requires a new segment and the
// allocator allocated none, the address is unknown.
func (t *tracer) expect(op *trace.Op, result model.Result) {
	var noAddress *model.AddressError
	if errors.As(result.Err, &noAddress) {
		return
	}
	op.Expect.Error = trace.ErrorName(result.Err)
	if result.Err == nil {
		op.Expect.Addr = &result.Ptr
		t.live[result.Ptr] = op.ID
	}
}

// waited reports whether work of some stream has completed.
func waited(before, after model.State) bool {
	completed := 0
	for _, s := range before.Streams {
		completed -= s.Completed
	}
	for _, s := range after.Streams {
		completed += s.Completed
	}
	return completed > 0
}

// expectLayout adds the segments of all devices in the specification's states.
func (t *tracer) expectLayout() {
	if len(t.ops) == 0 {
		return
	}
	layout := []spec.Segment{}
	for _, s := range t.states {
		layout = append(layout, s.Layout()...)
	}
	t.ops[len(t.ops)-1].Expect.Layout = layout
}
