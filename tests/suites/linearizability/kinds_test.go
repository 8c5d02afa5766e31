package linearizability

import (
	"errors"
	"reflect"
	"testing"

	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// TestKinds: every kind can be written and read, done, checked, and written as a trace.
// The kinds are those that the model has.
func TestKinds(t *testing.T) {
	for name, k := range kinds {
		op := Op{Kind: name}
		if k.allocates || k.uses {
			op.Name = "x"
		}
		if k.args.bytes {
			op.Bytes = 512
		}
		if k.args.fraction {
			op.Fraction = 0.5
		}
		if k.args.settings {
			op.Settings = "max_split_size_mb:20"
		}
		if k.args.stream {
			op.Stream = 1
		}
		text := "before: malloc x 1MiB\nA: " + op.String()
		p, err := ParseProgram(text)
		if err != nil || !reflect.DeepEqual(p.Threads, [][]Op{{op}}) {
			t.Fatalf("%q is read as %v, %v", text, p.Threads, err)
		}
		h, err := Run(Setup{Streams: 1}, p, &Exhaustive{})
		if err != nil {
			t.Fatal(err)
		}
		if call := h.Calls[1]; call.Op.Kind != name || call.Out.Err != nil || call.result() == "" {
			t.Errorf("%s: %+v", text, call)
		}
		if err := Check(h); err != nil {
			t.Error(err)
		}
		_, ops, err := h.Trace()
		if err != nil || (ops[len(ops)-1].Kind == name) != (k.query == nil) {
			t.Errorf("%s: the trace is %+v, %v", text, ops, err)
		}
	}
	setup := Setup{}.filled()
	state, err := setup.initial(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(trace.OpKinds(), model.OpStats, model.OpSnapshot) {
		_, err := state.Step(model.Operation{Kind: name}, model.Outcome{Stats: &spec.DeviceStats{}})
		if _, known := kinds[name]; known == errors.Is(err, spec.ErrNotSupported) {
			t.Errorf("%s: the model says %v, and kinds has it: %v", name, err, known)
		}
	}
}
