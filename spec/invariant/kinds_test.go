package invariant

import (
	"testing"

	"gaugeblock/spec/trace"
)

// TestEveryKind: it is known of each kind of operation what it does to a history.
func TestEveryKind(t *testing.T) {
	for _, kind := range trace.OpKinds() {
		if _, known := effects[kind]; !known && kind.Target() != trace.TargetGraphTrees {
			t.Errorf("%s: spec/invariant does not say what it does to a history", kind)
		}
	}
}
