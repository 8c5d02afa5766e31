package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// drawn is a module, and values of constants.
type drawn struct {
	module, mirror, specification string
	values                        []string // NAME = value
}

// kinds are the modules, with the counterpart in package bounded and the specification.
var kinds = []drawn{
	{module: "Core", mirror: "core", specification: "Spec"},
	{module: "Pools", mirror: "pools", specification: "Spec"},
	{module: "Pools", mirror: "pools", specification: "Spec"}, // it has the most constants
	{module: "PoolCache", mirror: "pool_cache", specification: "SpecEmptying"},
	{module: "Checkpoint", mirror: "checkpoint", specification: "Spec"},
	{module: "TwoStep", mirror: "two_step", specification: "Spec"},
	{module: "Faults", mirror: "faults", specification: "FaultSpec"},
	{module: "PoolFaults", mirror: "pool_faults", specification: "FaultSpec"},
	{module: "CaptureFaults", mirror: "capture_faults", specification: "FaultSpec"},
}

func draw(r *rand.Rand) drawn {
	d := kinds[r.IntN(len(kinds))]
	one := func(values ...int) int { return values[r.IntN(len(values))] }
	chance := func(of int) bool { return r.IntN(of) == 0 }
	set := func(name string, value any) { d.values = append(d.values, fmt.Sprintf("%s = %v", name, value)) }

	hasPools := d.mirror != "core" && d.mirror != "two_step" && d.mirror != "faults"
	unit := one(1, 1, 1, 2) // MinBlock
	large := one(2, 4)      // of LargeBuffer, in blocks
	set("MinBlock", unit)
	set("SmallSize", unit)
	set("SmallBuffer", unit*one(1, 2))
	set("MinLargeAlloc", unit*min(large, one(2, 3)))
	set("LargeBuffer", unit*large)
	set("RoundLarge", unit*one(1, 2))
	memory := unit * one(2, 3, 4, 5)
	set("Memory", memory)
	// A limit above the memory is none in the model. In the specification it is one for a segment that
	// is larger than the memory.
	if limit := unit * one(1, 2, 3, 4); chance(3) && limit <= memory {
		set("Limit", limit)
	}
	streams := one(1, 1, 2)
	set("Streams", upTo(streams))
	pages := d.mirror != "two_step" && chance(3)
	largest := 5
	if pages { // the specification has no request that is larger than a range of addresses
		largest = min(largest, memory)
	}
	set("Sizes", someOf(r, 2, numbers(largest)...))
	if pages {
		set("ExpandableSegments", "TRUE")
	} else if chance(3) {
		set("MaxSplitSize", unit*one(4, 5))
		set("MaxNonSplitRounding", unit*one(1, 2, 3))
	}
	if d.specification == "FaultSpec" {
		set("MaxDriverCalls", 24)
	}
	if hasPools {
		pools := one(1, 2, 2)
		if !pages { // Addresses of Driver.tla are enough for two pools with pages
			pools = one(1, 2, 3, 4)
		}
		set("PoolIds", upTo(pools))
		set("MaxUses", one(1, 1, 2))
		if overflow := someOf(r, pools, numbers(pools)...); chance(2) {
			set("OverflowPools", overflow)
		}
		if whole := someOf(r, pools, numbers(pools)...); chance(4) {
			set("NoSplitPools", whole)
		}
		for _, name := range []string{"RoutesTwice", "FirstRoutingWins", "RelaxedCaptures"} {
			set(name, strings.ToUpper(fmt.Sprint(chance(2))))
		}
	}
	return d
}

// file is the text of the configuration file.
func (d *drawn) file() string {
	return "SPECIFICATION " + d.specification + "\nCONSTANTS\n    " + strings.Join(d.values, "\n    ") + "\nCHECK_DEADLOCK FALSE\n"
}

func numbers(n int) (list []int) {
	for i := range n {
		list = append(list, i+1)
	}
	return list
}

// upTo is the set of the numbers from 1 to n, in TLA+.
func upTo(n int) string { return setOf(numbers(n)) }

// someOf is a set of at least one and at most so many of the values.
func someOf(r *rand.Rand, most int, values ...int) string {
	var chosen []int
	for _, i := range r.Perm(len(values))[:1+r.IntN(most)] {
		chosen = append(chosen, values[i])
	}
	return setOf(chosen)
}

func setOf(list []int) string {
	return "{" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(list)), ", "), "[]") + "}"
}
