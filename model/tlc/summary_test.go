package tlc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gaugeblock/model/tlc"
)

// TestReadSummary: the verdict, generated and distinct states, the depth, the length of the counterexample and the labels of its
// steps; and how many lines were read.
func TestReadSummary(t *testing.T) {
	for _, c := range []struct{ name, output, want string }{
		{"all is well", `Model checking completed. No error has been found.
30456 states generated, 3679 distinct states found, 0 states left on queue.
The depth of the complete state graph search is 17.
Finished in 22s at (2026-11-28 01:30:41)`, "ok 30456 3679 17 0 [] 3"},
		{"an invariant", `Error: Invariant Small is violated.
Error: The behavior up to this point is:
State 1: <Initial predicate>
x = 0

State 2: <Add(1) line 5>
x = 1

State 3: <Pop line 7>
x = 2
	1,234 states generated, 567 distinct states found, 8 states left on queue.`, `Small 1234 567 0 3 ["Add(1)" "Pop"] 2`},
		{"a property of steps", `Error: Action property Grows of module M is violated.
State 1: <Initial predicate>
3 states generated, 2 distinct states found, 0 states left on queue.`, "Grows 3 2 0 1 [] 2"},
		{"liveness", `Error: Temporal properties were violated.
Error: The following behavior constitutes a counter-example:
State 1: <Initial predicate>
State 2: Stuttering
Error: Evaluating failed
3 states generated, 2 distinct states found, 0 states left on queue.`, `liveness 3 2 0 2 ["Stuttering"] 3`},
		{"a deadlock", `Error: Deadlock reached.
Error: The behavior up to this point is:
3 states generated, 2 distinct states found, 0 states left on queue.`, "deadlock 3 2 0 0 [] 2"},
		{"behaviors alone", `Error: The behavior up to this point is:
Error: The following behavior constitutes a counter-example:
Model checking completed. No error has been found.
3 states generated, 2 distinct states found, 0 states left on queue.`, "ok 3 2 0 0 [] 2"},
		{"an error", `Error: Evaluating invariant Small failed.
3 states generated, 2 distinct states found, 0 states left on queue.`, "error 3 2 0 0 [] 2"},
	} {
		s, err := tlc.ReadSummary(c.output)
		got := fmt.Sprintf("%s %d %d %d %d %q %d", s.Verdict, s.Generated, s.States, s.Depth, s.Trace, s.Labels, len(s.Lines))
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, c.want)
		}
	}
}

// TestReadSummaryErrors: without a verdict, or without its counts, TLC did not finish; the error has its last twenty lines.
func TestReadSummaryErrors(t *testing.T) {
	lines := strings.Fields(strings.Repeat("line ", 20))
	for _, c := range []struct{ output, want string }{
		{"java: command not found\n", "java: command not found"},
		{"Error: Deadlock reached.", "Error: Deadlock reached."},
		{"3 states generated, 2 distinct states found, 0 states left on queue.", "3 states generated, 2 distinct states found, 0 states left on queue."},
		{"first\n" + strings.Join(slices.Concat([]string{"second"}, lines[1:]), "\n") + "\n", strings.Join(slices.Concat([]string{"second"}, lines[1:]), "\n")},
	} {
		if _, err := tlc.ReadSummary(c.output); err == nil || err.Error() != "TLC did not finish:\n"+c.want {
			t.Errorf("%v; want\n%s", err, c.want)
		}
	}
}
