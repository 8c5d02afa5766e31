package check

import (
	"testing"

	"gaugeblock/spec/trace"
)

// TestEveryKind: a log is held to each kind of operation, by what the kind does with
// allocations.
func TestEveryKind(t *testing.T) {
	for _, kind := range trace.OpKinds() {
		if does := treatments[kind.Memory()]; does.before == nil && does.behind == nil {
			t.Errorf("%s: tools/check does not say what is done with an operation of its effect on allocations", kind)
		}
	}
}
