package perform

import (
	"testing"

	"gaugeblock/spec/trace"
)

// TestEveryKind: each kind of operation can be performed.
func TestEveryKind(t *testing.T) {
	for _, name := range trace.OpKinds() {
		if kinds[name].perform == nil {
			t.Errorf("%s: conformance/player does not say how it is performed", name)
		}
	}
	if len(kinds) != len(trace.OpKinds()) {
		t.Errorf("conformance/player performs %d kinds, and there are %d", len(kinds), len(trace.OpKinds()))
	}
}

// TestAbilities: each ability is needed by some kind of operation.
func TestAbilities(t *testing.T) {
	needed := map[*Ability]bool{}
	for _, k := range kinds {
		needed[k.needs] = true
	}
	for _, a := range Abilities() {
		if !needed[a] {
			t.Errorf("no kind of operation needs %s", a.Name)
		}
	}
	if len(needed) != len(Abilities())+1 {
		t.Errorf("kinds need %d abilities, and %d are listed", len(needed)-1, len(Abilities()))
	}
}
