package mutants

import (
	"testing"

	"gaugeblock/tla"
)

// notBroken are properties that configurations check and no mistake breaks, and why.
var notBroken = map[string]string{
	"TypeOK":     "the types of variables; nothing else says them, and Go has them",
	"PoolTypeOK": "the same",

	"AllocationsAreDisjoint": "of the abstract memory: it follows from the rules there, and is checked of these alone",
	"InOrder":                "the same",
	"AllIsGranted":           "the same",

	"IsAbstractMemory":             "TLC names the part of it that fails: StepsAreSafe, CallsAreAccepted, FreesAreAccepted",
	"IsAbstractMemoryWithGraphs":   "the same",
	"IsAbstractMemoryWithRestores": "the same, of StepsOrRestores",
}

// notAlone are properties of which each mistake breaks others too, sooner or later, and why.
var notAlone = map[string]string{
	"NoReuseWhileInUse": "when the memory is freed again the work is not awaited",
	"WorkIsAwaited":     "what is not awaited is reused",
	"EventsInOrder":     "what is awaited too early is reused",

	"LiveBlocksDisjoint":          "of the layout: figures of the statistics, and what is granted, are sums over it",
	"SizesAndAlignment":           "the same",
	"RequestsFit":                 "the same",
	"ActiveBlocksAreMapped":       "the same",
	"AllocatedBlocksWereGivenOut": "the same",
	"NothingIsLost":               "the same",
	"NothingIsLostOnTheWay":       "the same",
	"HeldBlocksAreAwaited":        "a block without events is never free again, or too early",

	"PoolsOwnTheirBlocks": "a pool that is not there has no count and no use",
	"PoolsAreIsolated":    "RequestsAreRouted says it when the memory is returned",
	"NoForbiddenFrees":    "DriverCallsAreLegal says it, and more",
	"RequestsAreRouted":   "PoolsAreIsolated says it of what is held",
	"RoutingsAreCaptures": "requests are then routed elsewhere",

	"SegmentsFitRequests":  "where memory is short the right segment would have had room",
	"NoNeedlessCollection": "YoungAreKept is about each collection",
	"OldestAreCollected":   "the same",

	"StepsAreSafe":     "the abstract memory is another account of the same",
	"CallsAreAccepted": "the same",
}

// TestAlone: each property that a mutant breaks is broken by one that no other property finds, unless
// there is a reason.
func TestAlone(t *testing.T) {
	alone := map[string]bool{}
	for _, m := range mutants(t) {
		alone[m.inModel] = alone[m.inModel] || m.alone
	}
	for name, is := range alone {
		if reason := notAlone[name]; is == (reason != "") {
			t.Errorf("%s: a mistake breaks it alone: %v; reason that none does: %q", name, is, reason)
		}
	}
	for name := range notAlone {
		if _, is := alone[name]; !is {
			t.Errorf("no mutant breaks %s", name)
		}
	}
}

// TestEveryPropertyIsBroken: each property that a configuration checks is one that some mistake breaks:
// a mutant here, or a configuration in which it is expected to fail.
func TestEveryPropertyIsBroken(t *testing.T) {
	broken := map[string]bool{}
	for _, m := range mutants(t) {
		broken[m.fails], broken[m.inModel] = true, true
	}
	list, err := tla.Configurations()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		broken[c.Expect] = true
	}
	checked := map[string]bool{}
	for _, c := range list {
		for _, name := range propertiesOf(t, c) {
			checked[name] = true
		}
	}
	for name := range checked {
		if reason := notBroken[name]; broken[name] == (reason != "") {
			t.Errorf("%s: a mistake breaks it: %v; reason that none does: %q", name, broken[name], reason)
		}
	}
	for name := range notBroken {
		if !checked[name] {
			t.Errorf("no configuration checks %s", name)
		}
	}
}

func propertiesOf(t *testing.T, c tla.Configuration) []string {
	config, err := c.Config()
	if err != nil {
		t.Fatal(err)
	}
	return concat(config.Invariants, config.Properties)
}
