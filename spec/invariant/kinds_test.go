package invariant

import (
	"testing"

	"gaugeblock/spec/trace"
)

// TestEveryKind: it is known of each kind of operation what it does to a history.
func TestEveryKind(t *testing.T) {
	for _, kind := range trace.OpKinds() {
		_, known := effects[kind]
		if graphTrees := kind.Target() == trace.TargetGraphTrees; known == graphTrees {
			t.Errorf("%s: known to effects of spec/invariant is %v, a call of graph trees is %v", kind, known, graphTrees)
		}
	}
}
