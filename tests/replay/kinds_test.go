package replay

import (
	"testing"

	"gaugeblock/spec/trace"
)

// TestEveryKind: each kind of operation can be performed, and told in a story.
func TestEveryKind(t *testing.T) {
	for _, name := range trace.OpKinds() {
		if kinds[name].perform == nil {
			t.Errorf("%s: tests/replay does not say how it is performed", name)
		}
	}
	if len(kinds) != len(trace.OpKinds()) {
		t.Errorf("tests/replay performs %d kinds, and there are %d", len(kinds), len(trace.OpKinds()))
	}
}
