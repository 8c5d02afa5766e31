package arena_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"gaugeblock/conformance"
	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tests/arena"
	"gaugeblock/tools/check"
)

// TestSameVerdict: the hazard that the kit finds in the arena as it was found is found
// in a log of it as well, and not in a log of the arena made safe.
func TestSameVerdict(t *testing.T) {
	report, err := conformance.Examine(arena.NewAsSeed, conformance.Safe)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(report.Violations, func(v conformance.Violation) bool { return v.Rule.Name == "NoHazard" })
	if i < 0 {
		t.Fatalf("the kit finds no hazard:\n%v", report)
	}
	h, ops := report.Violations[i].Program()
	for name, test := range map[string]struct {
		factory perform.Factory
		want    []check.Kind
	}{
		"as it was found": {arena.NewAsSeed, []check.Kind{check.Hazard}},
		"made safe":       {arena.NewMadeSafe, nil},
	} {
		result, err := check.Reader(strings.NewReader(logOf(t, h, ops, test.factory)), name, check.Options{Live: true})
		if err != nil {
			t.Fatal(err)
		}
		var kinds []check.Kind
		for _, v := range result.Violations {
			kinds = append(kinds, v.Kind)
		}
		if !slices.Equal(kinds, test.want) {
			t.Errorf("%s: %v", name, result)
		}
	}
}

// logOf performs a program and writes down what the allocator did, as a shim would.
func logOf(t *testing.T, h trace.Header, ops []trace.Op, factory perform.Factory) string {
	t.Helper()
	player, err := perform.New(&h, factory)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	w, err := trace.NewWriter(&log, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range ops {
		before := waiting(t, player.Allocator())
		out := player.Perform(&op)
		after := waiting(t, player.Allocator())
		for _, p := range before {
			if !slices.Contains(after, p) {
				op.Expect.Entries = append(op.Expect.Entries, spec.TraceEntry{Action: spec.ActionFreeCompleted, Addr: p})
			}
		}
		if op.Kind == trace.OpMalloc && out.Err == nil {
			op.Expect.Addr = &out.Ptr
		}
		op.Expect.Error = trace.ErrorName(out.Err)
		if err := w.Write(&op); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(nil); err != nil {
		t.Fatal(err)
	}
	return log.String()
}

// waiting lists the blocks that were freed and are still used by streams.
func waiting(t *testing.T, a spec.Allocator) []spec.Ptr {
	t.Helper()
	s, err := a.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var blocks []spec.Ptr
	for i := range s.Segments {
		for _, b := range s.Segments[i].Blocks {
			if b.State == spec.ActivePendingFree {
				blocks = append(blocks, b.Address)
			}
		}
	}
	return blocks
}
