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
		if asked := kind.Target() == trace.TargetAllocator; !listed && asked {
			t.Errorf("%s: snapshot/whatif does not say what is made of it", kind)
			continue
		} else if listed && !asked {
			t.Errorf("%s: snapshot/whatif has an entry that is never looked at", kind)
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
