package conformance

import (
	"fmt"

	"gaugeblock/spec/trace"
)

// Labels performs the operations of a trace, whatever they are, and counts the labels
// that they meet. Nothing is checked; an operation that fails is an error only if the
// allocator cannot be looked at afterwards.
func Labels(h trace.Header, ops []trace.Op, o Options) (Coverage, error) {
	t, err := newTrial(&Area{Name: "trace", Streams: len(h.Streams)}, h, o)
	if err != nil {
		return nil, err
	}
	for i := range ops {
		op := &ops[i]
		captured := t.program.slot(op.Device, op.Stream) >= 0 && t.program.state(op).capture != nil
		out := t.perform(op)
		t.now, t.before = t.before, t.now
		if err := t.look(); err != nil {
			return nil, fmt.Errorf("after operation %d, %s: %w", i+1, op.Kind, err)
		}
		t.cover(op, &out, captured)
		if out.Err == nil {
			t.program.Did(op, &out)
		}
	}
	return t.labels, nil
}
