package whatif

import (
	"testing"

	"gaugeblock/spec/trace"
)

// TestEveryKind: of each call of the allocator it is said what is made of it in a run
// under other settings.
func TestEveryKind(t *testing.T) {
	for _, kind := range trace.OpKinds() {
		k, listed := tracedKinds[kind]
		if listed != (kind.Target() == trace.TargetAllocator) {
			t.Errorf("%s: listed in tracedKinds of snapshot/whatif is %v, a call of the allocator is %v", kind, listed, !listed)
			continue
		}
		said := 0
		for _, way := range []bool{k.ask != nil || k.again != nil, k.ignored != "", k.refused} {
			if way {
				said++
			}
		}
		if listed && said != 1 {
			t.Errorf("%s: snapshot/whatif says %d things of it, not one: ask or again, ignored or refused", kind, said)
		}
	}
}
