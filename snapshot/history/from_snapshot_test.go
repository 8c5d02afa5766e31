package history

import (
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// TestSkippedActions: memory whose free was requested may still be in use by streams at the end;
// else the action that completes the free was not recorded.
func TestSkippedActions(t *testing.T) {
	trace := []snapshot.TraceEntry{{TraceEntry: spec.TraceEntry{Action: spec.ActionFreeRequested, Addr: 0x1000}}}
	for _, test := range []struct {
		at    spec.Ptr
		state spec.BlockState
		want  int
	}{{0x1000, spec.ActivePendingFree, 0}, {0x2000, spec.ActivePendingFree, 1}, {0x1000, spec.Inactive, 1}} {
		end := []spec.Segment{{Blocks: []spec.Block{{Address: test.at, State: test.state}}}}
		if got := skippedActions(trace, end); len(got) != test.want || test.want > 0 && got[0] != spec.ActionFreeCompleted {
			t.Errorf("%+v: %v", test, got)
		}
	}
}
