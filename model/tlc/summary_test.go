package tlc_test

import (
	"testing"

	"gaugeblock/model/tlc"
)

func TestReadSummary(t *testing.T) {
	for _, c := range []struct {
		name, output             string
		verdict                  string
		generated, states, depth int
		trace                    int
	}{
		{"all is well", `Model checking completed. No error has been found.
30456 states generated, 3679 distinct states found, 0 states left on queue.
The depth of the complete state graph search is 17.
Finished in 22s at (2026-11-28 01:30:41)`, "ok", 30456, 3679, 17, 0},
		{"an invariant", `Error: Invariant Small is violated.
Error: The behavior up to this point is:
State 1: <Initial predicate>
x = 0

State 2: <Add(1) line 5>
x = 1

1,234 states generated, 567 distinct states found, 8 states left on queue.`, "Small", 1234, 567, 0, 2},
		{"a property of steps", `Error: Action property Grows is violated.
State 1: <Initial predicate>
3 states generated, 2 distinct states found, 0 states left on queue.`, "Grows", 3, 2, 0, 1},
		{"liveness", `Error: Temporal properties were violated.
Error: The following behavior constitutes a counter-example:
State 1: <Initial predicate>
State 2: Stuttering
3 states generated, 2 distinct states found, 0 states left on queue.`, "liveness", 3, 2, 0, 2},
		{"an error", `Error: Evaluating invariant Small failed.
3 states generated, 2 distinct states found, 0 states left on queue.`, "error", 3, 2, 0, 0},
	} {
		s, err := tlc.ReadSummary(c.output)
		if err != nil || s.Verdict != c.verdict || s.Generated != c.generated || s.States != c.states || s.Depth != c.depth || s.Trace != c.trace {
			t.Errorf("%s: %+v, %v", c.name, s, err)
		}
	}
	if _, err := tlc.ReadSummary("java: command not found"); err == nil {
		t.Error("an output without an end has a summary")
	}
}
