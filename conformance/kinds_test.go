package conformance

import (
	"slices"
	"testing"

	"gaugeblock/spec/trace"
)

// TestEveryKind: programs use each kind of operation, or there is a reason why not.
func TestEveryKind(t *testing.T) {
	for _, name := range trace.OpKinds() {
		k, listed := kinds[name]
		missing := func(what string) { t.Errorf("%s: conformance has no %s", name, what) }
		if !listed {
			missing("entry in the tables of kinds_*.go")
			continue
		}
		if k.propose == nil && k.notProposed == "" {
			missing("propose, and no reason why not")
		}
		if graphTrees := name.Target() == trace.TargetGraphTrees; !graphTrees {
			if k.allowed == nil {
				missing("rule when it is allowed")
			}
			if k.did == nil {
				missing("did: what it changes in a program")
			}
		}
		if (k.atEnd.next == nil) != (k.atEnd.stage == 0) {
			missing("stage at which atEnd comes, or no atEnd for its stage")
		}
		inArea := slices.ContainsFunc(append(contractAreas, areas...), func(a Area) bool { return a.has(name) })
		if inArea != (k.propose != nil) {
			t.Errorf("%s: conformance has it in the shares of an area: %v; it can propose it: %v", name, inArea, !inArea)
		}
		wrongInArea := slices.ContainsFunc(areas, func(a Area) bool { return slices.Contains(a.Misuse, name) })
		if wrongInArea != (k.misuse != nil) {
			t.Errorf("%s: conformance has it in the misuse of an area: %v; it says how it is misused: %v", name, wrongInArea, !wrongInArea)
		}
	}
}
