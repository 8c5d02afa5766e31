package check

import (
	"testing"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// TestComparedAnswers: the first difference is told, of the driver calls before that of the
// failure, and that before the address.
func TestComparedAnswers(t *testing.T) {
	at, other := spec.Ptr(0x1000), spec.Ptr(0x2000)
	segment := func(p spec.Ptr) spec.TraceEntry {
		return spec.TraceEntry{Action: spec.ActionSegmentAlloc, Addr: p, Size: 2 * spec.MiB}
	}
	alloc := spec.TraceEntry{Action: spec.ActionAlloc, Addr: at, Size: 512}
	for _, test := range []struct {
		what     string
		expected trace.Expectation
		did      perform.Result
		log, ref string
	}{
		{"the same", trace.Expectation{Addr: &at, Entries: []spec.TraceEntry{segment(at), alloc}}, perform.Result{Ptr: at, Entries: []spec.TraceEntry{segment(at)}}, "", ""},
		{"another segment", trace.Expectation{Addr: &at, Entries: []spec.TraceEntry{segment(at)}}, perform.Result{Ptr: other, Entries: []spec.TraceEntry{segment(other)}},
			"the driver is asked for 2097152 bytes (0x1000)", "the driver is asked for 2097152 bytes (0x2000)"},
		{"no segment", trace.Expectation{Addr: &at, Entries: []spec.TraceEntry{alloc}}, perform.Result{Ptr: at, Entries: []spec.TraceEntry{alloc, segment(at)}},
			"the driver is asked for no more", "the driver is asked for 2097152 bytes (0x1000)"},
		{"calls are not recorded", trace.Expectation{Addr: &at}, perform.Result{Ptr: at, Entries: []spec.TraceEntry{segment(at)}}, "", ""},
		{"it fails, and has no address", trace.Expectation{Addr: &at}, perform.Result{Err: &spec.OutOfMemoryError{}}, "it succeeds", "it fails (oom)"},
		{"it should have failed", trace.Expectation{Error: trace.ErrorOOM}, perform.Result{Ptr: at}, "it fails (oom)", "it succeeds"},
		{"another address", trace.Expectation{Addr: &at}, perform.Result{Ptr: other}, "it is at 0x1000", "at 0x2000"},
	} {
		log, ref, same := compareAnswers(&trace.Op{Expect: test.expected}, &test.did)
		if log != test.log || ref != test.ref || same != (test.log == "") {
			t.Errorf("%s: %q, %q, the same: %v", test.what, log, ref, same)
		}
	}
}
