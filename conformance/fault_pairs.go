package conformance

import (
	"slices"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// RunFaultPairs makes up a program of length operations, and runs it with two failures, at most
// most times, spread evenly over all pairs that are possible. Both failures are of calls that
// one operation makes. The second is mostly of an earlier call than the first, since few
// operations go on after a failure; the first then happens in a later operation, or not at all.
//
// Left out are the pairs after which a page is neither mapped nor released: for a while it counts
// in no statistic (alloc.TestSeveralDriverCallsFail); and MemInfo, which programs call as well.
func (a *Area) RunFaultPairs(seed uint64, length, most int, o Options) Result {
	o.Every = 0
	t, ops, faults, result := a.faultsOf(seed, length, o)
	var pairs [][]trace.Op
	for i := 0; i < len(faults) && result.Failure == nil; i++ {
		if faults[i].Error == sticky || faults[i].Call == "MemInfo" {
			continue
		}
		first := trace.Op{Kind: trace.OpFault, Fault: faults[i]}
		for _, second := range a.callsBeside(t.header, &first, ops, o) {
			if !leavesPage(faults[i].Call, second.Call) {
				pairs = append(pairs, []trace.Op{first, {Kind: trace.OpFault, Fault: second}})
			}
		}
	}
	for i := 0; i < len(pairs) && result.Failure == nil; i += max(len(pairs)/most, 1) {
		r := a.replayOps(t.header, seed, slices.Concat(pairs[i], ops), o)
		result.Checked += r.Checked
		result.Labels.Add(r.Labels)
		result.Failure = r.Failure
	}
	return result
}

// leavesPage reports whether two failures may leave a page that is neither mapped nor released.
func leavesPage(first, second string) bool {
	aboutPages := func(call string) bool {
		return slices.Contains([]string{"CreatePage", "MapPage", "SetAccess", "UnmapPage", "ReleasePage", "ImportPage"}, call)
	}
	return (first == "ReleasePage" || second == "ReleasePage") && aboutPages(first) && aboutPages(second)
}

// callsBeside lists failures of the calls that a program makes in the operation in which a
// failure happens, other than that.
func (a *Area) callsBeside(h trace.Header, fault *trace.Op, ops []trace.Op, o Options) (others []spec.FaultSpec) {
	t, err := newTrial(a, h, o)
	if err != nil {
		return nil
	}
	gpu := t.player.GPU()
	start := countOf(gpu.Calls())
	if t.step(*fault) != nil {
		return nil
	}
	for _, op := range ops {
		if !t.program.Prepare(&op) {
			continue
		}
		before := countOf(gpu.Calls())
		if t.step(op) != nil {
			return nil
		}
		if gpu.PendingFaults() > 0 {
			continue
		}
		for _, c := range gpu.Calls() {
			for nth := before[c.Call] + 1; nth <= c.Count && c.Call != "MemInfo" && !slices.Contains(programsCalls, c.Call); nth++ {
				f := spec.FaultSpec{Call: c.Call, Nth: int(nth - start[c.Call]), Error: spec.FaultUnknown}
				if f.Call != fault.Fault.Call || f.Nth != fault.Fault.Nth {
					others = append(others, f)
				}
			}
		}
		return others
	}
	return nil
}

func countOf(calls []fakegpu.CallCount) map[string]uint64 {
	counts := map[string]uint64{}
	for _, c := range calls {
		counts[c.Call] = c.Count
	}
	return counts
}
