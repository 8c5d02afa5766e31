package mutants

import (
	"fmt"
	"strings"

	"gaugeblock/model/abstract/refinement"
)

// A module is what mutants are checked in: the mirror in package bounded, and the
// properties. Those about what the program and the device did come first. "Refinement" has no
// other property than that the core is an abstract memory.
type module struct {
	mirror     string
	invariants []string
	properties []string // of steps
}

var truths = []string{
	"NoReuseWhileInUse", "WorkIsAwaited", "EventsInOrder", "LiveBlocksDisjoint", "ActiveBlocksAreMapped", "DriverCallsAreLegal",
}

var structures = []string{
	"BlocksTileSegments", "NoMergeableNeighbours", "SizesAndAlignment", "RequestsFit", "HeldBlocksAreAwaited",
	"AllocatedBlocksWereGivenOut", "NothingIsLost", "AccountingAddsUp", "FreeListsHoldFreeBlocks",
}

// structuresOnTheWay are those of mallocs that release the lock.
var structuresOnTheWay = []string{
	"BlocksTileSegments", "NoMergeableNeighbours", "SizesAndAlignment", "RequestsFit", "HeldBlocksAreAwaited",
	"AllocatedBlocksWereGivenOut", "NothingIsLostOnTheWay", "AccountingAddsUp", "FreeListsHoldFreeBlocks",
}

var released = []string{"MallocsAreServed", "EmptyCacheReleasesAll"}

var counts = []string{"DriverSegmentsAreCounted"}

var owed = []string{
	"MallocsAreServed", "BlocksFitRequests", "RemaindersCanServe", "OversizeSegmentsAreWhole", "NoMergeableNeighbours",
}

var owedSteps = []string{"CacheServes", "PromptlyReclaimed", "NoNeedlessWait", "BestFitServes", "SegmentsFitRequests"}

var poolInvariants = []string{"PoolsAreIsolated", "PoolsOwnTheirBlocks", "RoutingsAreCaptures"}

var modules = map[string]module{
	"Core":       {"core", concat(truths, structures, released), nil},
	"Expandable": {"core", concat(truths, structures, released), nil},
	"Pools":      {"pools", concat(truths, poolInvariants, structures, []string{"EmptyCacheReleasesAll"}), []string{"CapturedMemoryIsKept", "UsesAreCounted", "OverflowsOnOutOfMemory"}},
	"Faults":     {"faults", concat(truths, structures), nil},
	"Checkpoint": {"checkpoint", concat(truths, poolInvariants, structures), []string{"CheckpointRestoresWhatItSaved", "UsesAreCounted"}},

	// With the properties of what programs are owed alone (Served.tla).
	"CoreServed":  {"core", owed, concat(owedSteps, []string{"JustEnoughIsReturned", "LargestAreReturned", "NoNeedlessReturn", "EmptyCacheLeavesNothingWaiting"})},
	"PagesServed": {"core", []string{"MallocsAreServed", "RangesHaveRoom"}, concat(owedSteps, []string{"ExpandableSegmentsGrow", "LowestRangeGrows", "PagesKeepToLimit", "PagesAreUsed", "EmptyRangesAreReleased"})},
	"PoolsServed": {"pools", concat(owed, []string{"UnusedPoolsAreErased", "UnusedPoolsAreReleased", "UsesAreTouches", "OverflowPoolsServe", "OversizeMakesRoom", "NoSplitBlocksAreWhole"}),
		concat(owedSteps, []string{"GraphUsesAreNotAwaited", "LivePoolsServe", "OverflowPoolsInOrder", "RequestsAreRouted", "EndCompletesDeferred"})},
	"PoolsExpandableServed": {"pools", nil, []string{"PagesAreCounted", "CapturedMemoryIsKept"}},
	"ForbiddenServed":       {"pools", []string{"NoForbiddenFrees"}, nil},
	"PoolCacheServed":       {"pool_cache", []string{"WorkIsAwaited"}, []string{"EmptyPoolReleasesAll", "EmptyPoolReturnsItsOwn", "EmptyPoolWaitsNoLonger", "EmptyPoolResolves"}},
	"CurrentServed":         {"current", []string{"NoForbiddenQueries"}, nil},
	"WaitsServed":           {"core", nil, []string{"EmptyCacheWaitsNoLonger", "MallocWaitsNoLonger"}},
	"TiesServed":            {"core", nil, []string{"OrderIsKept"}},
	"LimitServed":           {"core", []string{"LimitHolds", "MemoryHolds"}, nil},
	"CheckpointServed":      {"checkpoint", []string{"CheckpointsCanBeTaken", "CheckpointsCanBeRestored"}, []string{"CheckpointsAreKept"}},
	"TwoStepServed":         {"two_step", nil, []string{"AllIsReturnedAtLast", "DriverServes", "GrantIsUsed"}},
	"SettingsServed":        {"settings", nil, []string{"SettingsAreKept", "NewBlocksFitRequests"}},

	// Of the model only: the specification has no counters and no errors.
	"Statistics":        {"core", []string{"AccountingAddsUp"}, []string{"CountersFollowHistory", "FailuresSayTheTruth"}},
	"StatisticsOfPools": {"pools", nil, []string{"CountersFollowHistory", "FailuresSayTheTruth"}},

	"GarbageCollectionServed": {"garbage", nil, []string{"GarbageIsCollected", "NoNeedlessCollection", "OldestAreCollected", "YoungAreKept", "AgesCountSearches"}},
	"NeedMemoryServed":        {"callbacks", nil, []string{"CallbacksAreAskedFirst", "CallbacksAreNeeded", "WhatIsFreedServes"}},

	"Refinement": {"core", nil, []string{refinement.IsAbstractMemory}},

	"PoolFaults":    {"pool_faults", concat(truths, poolInvariants, counts, structures), []string{"CapturedMemoryIsKept", "UsesAreCounted"}},
	"CaptureFaults": {"capture_faults", concat(truths, poolInvariants, counts, structures, []string{"CapturedPoolsAreKnown"}), []string{"CapturedMemoryIsKept", "UsesAreCounted"}},
	"TwoStepFaults": {"two_step_faults", concat(truths, structuresOnTheWay), nil},
	"TwoFaults":     {"two_faults", concat(truths, poolInvariants, counts, structures), []string{"CapturedMemoryIsKept"}},
}

// withOneFailure is the mutant in the module that has no second failing driver call in one
// operation, if it is a mutant of the module that has: there the mistake must not be found.
func (m *mutant) withOneFailure() (one mutant, is bool) {
	one = *m
	one.module = "PoolFaults"
	return one, m.module == "TwoFaults"
}

func concat(lists ...[]string) (all []string) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// file is the module of TLA+ in which TLC checks the mutant.
func (m *mutant) file() string {
	name := "MC" + strings.TrimSuffix(m.module, "Served")
	switch m.module {
	case "PagesServed":
		return "MCExpandable"
	case "ForbiddenServed":
		return "MCPools"
	case "CurrentServed":
		return "CurrentStream"
	case "WaitsServed", "LimitServed", "TiesServed":
		return "MCCore"
	}
	return name
}

// config is the text of the configuration.
func (m *mutant) config() (string, error) {
	in, known := modules[m.module]
	if !known {
		return "", fmt.Errorf("%s: there is no module %q", m.name, m.module)
	}
	var b strings.Builder
	switch {
	case m.module == "TwoFaults":
		b.WriteString("SPECIFICATION TwoFaultSpec\n")
	case m.module == "PoolCacheServed":
		b.WriteString("SPECIFICATION SpecEmptying\n")
	case m.module == "CurrentServed":
		b.WriteString("SPECIFICATION SpecOn\n")
	case strings.HasSuffix(m.module, "Faults"):
		b.WriteString("SPECIFICATION FaultSpec\n")
	default:
		b.WriteString("SPECIFICATION Spec\n")
	}
	if m.bounds != "" {
		b.WriteString("CONSTANTS\n" + m.bounds)
	}
	if len(in.invariants) > 0 {
		b.WriteString("INVARIANTS " + strings.Join(in.invariants, " ") + "\n")
	}
	if len(in.properties) > 0 {
		b.WriteString("PROPERTIES " + strings.Join(in.properties, " ") + "\n")
	}
	b.WriteString("CHECK_DEADLOCK FALSE\n")
	return b.String(), nil
}
