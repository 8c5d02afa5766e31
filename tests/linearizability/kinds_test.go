package linearizability

import (
	"errors"
	"reflect"
	"testing"

	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// TestKinds: every kind can be written and read, done, checked, and written as a trace if traces
// have it. Those of modelKinds are what the model's Step has.
func TestKinds(t *testing.T) {
	for name, k := range kinds {
		op, before := example(name, k)
		text := "before: " + before + "\nA: " + op.String()
		p, err := ParseProgram(text)
		if err != nil || !reflect.DeepEqual(p.Threads, [][]Op{{op}}) {
			t.Fatalf("%q is read as %v, %v", text, p.Threads, err)
		}
		h, err := Run(Setup{Streams: 1, Devices: 2, Handles: 2}, p, &Exhaustive{})
		if err != nil {
			t.Fatal(err)
		}
		if call := h.Calls[2]; call.Op.Kind != name || call.Out.Err != nil || call.result() == "" {
			t.Errorf("%s: %+v", text, call)
		}
		if err := Check(h); err != nil {
			t.Error(err)
		}
		if k.noTrace {
			if _, _, err := h.Trace(); !errors.Is(err, spec.ErrNotSupported) {
				t.Errorf("%s: the trace has the error %v", text, err)
			}
			continue
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
		if _, known := modelKinds[name]; known == errors.Is(err, spec.ErrNotSupported) {
			t.Errorf("%s: the model says %v, and modelKinds has it: %v", name, err, known)
		}
	}
}

// example is an operation of a kind, and the two operations before it that it needs.
func example(name trace.OpKind, k kind) (op Op, before string) {
	op = Op{Kind: name}
	if k.makes || k.uses {
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
	if k.args.pool {
		op.Pool = 1
	}
	if k.args.handle {
		op.Handle = 1
	}
	before = "malloc x 1MiB; pool_create pool=1"
	switch {
	case name == trace.OpFault:
		op.Settings = "MapPage"
	case name == trace.OpPoolEnd:
		before = "malloc x 1MiB; pool_begin pool=1"
	case name == trace.OpCaptureEnd:
		before = "malloc x 1MiB; capture_begin stream=1"
	case k.takes == "checkpoint":
		before = "pool_create pool=1; checkpoint x pool=1"
	case k.takes == "opened":
		before = "busy stream=1; open_shared x handle=1"
	case !k.noTrace || name == "pool_create_memory":
		before = "malloc x 1MiB; stats"
	}
	return op, before
}
