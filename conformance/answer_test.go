package conformance

import (
	"errors"
	"strings"
	"testing"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// TestAnswers: what is said of an answer that is not the expected one.
func TestAnswers(t *testing.T) {
	area := Find("core")
	tried, err := newTrial(area, area.draw(Seeded(1), 1), Options{New: withSettings("")})
	if err != nil {
		t.Fatal(err)
	}
	refused := &spec.InvalidPointerError{Op: "free", Ptr: 512}
	for _, test := range []struct {
		expected string
		out      perform.Result
		class    string // "": it is right
		detail   string
	}{
		{"invalid_pointer", perform.Result{Err: refused}, "", ""},
		{"invalid_pointer", perform.Result{Skipped: true}, "", ""},
		{"invalid_pointer", perform.Result{}, probeAccepted + "free", `free should be refused as invalid_pointer, the answer is "" (<nil>)`},
		{"invalid_pointer", perform.Result{Err: errors.New("no")}, probeAccepted + "free", `free should be refused as invalid_pointer, the answer is "other" (no)`},
		{"", perform.Result{Err: refused}, "legal free refused", "free failed: free: 0x200"},
	} {
		op := trace.Op{Kind: trace.OpFree}
		op.Expect.Error = test.expected
		f := tried.checkAnswer(&op, &test.out)
		if f == nil && test.class != "" || f != nil && (f.Class != test.class || !strings.HasPrefix(f.Detail, test.detail)) {
			t.Errorf("%q, %v: %v", test.expected, test.out.Err, f)
		}
	}
}
