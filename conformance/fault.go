package conformance

import (
	"slices"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Faults: a program is run once without failures. Then it is run again for each driver call
// that it made, and for each reason for which that call can fail, with this one failure. After
// a failure the operation has happened or has not, structures and statistics are sound, and at
// the end the device has everything again.

// sticky is the failure after which every call fails, because earlier work has crashed. Traces
// have no word for it, since nothing can be learnt from what follows. The structures have to be
// sound all the same.
const sticky = "launch_failure"

// faultKinds are the words that traces have for failures, and the failures.
var faultKinds = []struct {
	name string
	make func(call string) error
}{
	{"out_of_memory", fakegpu.OutOfMemory},
	{"not_supported", fakegpu.NotSupported},
	{"unknown", fakegpu.UnknownError},
	{sticky, fakegpu.LaunchFailure},
}

// programsCalls are made by programs, not by allocators (spec.Executor): if one fails, the
// program fails and not the allocator. CaptureStatus is called by the filter of a pool
// (spec.ForCapture), which cannot return an error.
var programsCalls = []string{
	"CaptureStatus",
	"CreateStream", "DestroyStream", "Launch", "Fill", "Copy", "ReadBack", "WaitEvent",
	"BeginCapture", "EndCapture", "Instantiate", "LaunchGraph", "DestroyGraph", "DestroyGraphExec",
}

// RunFaults makes up a program of length operations, and runs it with at most most failures, spread
// evenly over all that are possible.
func (a *Area) RunFaults(seed uint64, length, most int, o Options) Result {
	o.Every = 0
	t, ops, faults, result := a.faultsOf(seed, length, o)
	for i := 0; i < len(faults) && result.Failure == nil; i += max(len(faults)/most, 1) {
		r := a.runFault(t.header, seed, faults[i], ops, o)
		result.Checked += r.Checked
		result.Labels.Add(r.Labels)
		result.Failure = r.Failure
	}
	return result
}

// faultsOf makes up a program of length operations and runs it without failures: it has the
// operations, and the failures that are possible, unless the result is a failure.
func (a *Area) faultsOf(seed uint64, length int, o Options) (t *Trial, ops []trace.Op, faults []spec.FaultSpec, r Result) {
	c := Seeded(seed)
	t, err := newTrial(a, a.draw(c, seed), o)
	if err != nil {
		return nil, nil, nil, Result{Failure: &Failure{Area: a.Name, Seed: seed, Class: classNotMade, Detail: err.Error()}}
	}
	before := t.player.GPU().Calls()
	g := newGenerator(c, t.program, a)
	for len(t.ops) < length {
		if f := t.step(g.Next()); f != nil {
			return t, nil, nil, t.result(seed, f)
		}
	}
	ops = slices.Clone(t.ops)
	faults = possibleFaults(before, t.player.GPU().Calls(), o.faults)
	return t, ops, faults, t.result(seed, t.windDown())
}

// runFault runs a known program with one failure.
func (a *Area) runFault(h trace.Header, seed uint64, fault spec.FaultSpec, ops []trace.Op, o Options) Result {
	if fault.Error != sticky {
		r := a.replayOps(h, seed, slices.Concat([]trace.Op{{Kind: trace.OpFault, Fault: fault}}, ops), o)
		r.Labels["fault "+Label(fault.Call)]++
		return r
	}
	t, err := newTrial(a, h, o)
	if err == nil {
		err = t.player.GPU().FailCall(fault.Call, fault.Nth, fakegpu.LaunchFailure(fault.Call))
	}
	if err != nil {
		return Result{Failure: &Failure{Area: a.Name, Seed: seed, Class: classNotMade, Detail: err.Error()}}
	}
	t.faulted, t.lockstep = true, nil
	for i := range ops {
		op := ops[i]
		t.lost = t.player.GPU().PendingFaults() == 0
		if !t.program.Prepare(&op) {
			continue
		}
		if f := t.step(op); f != nil {
			f.Detail += " (after " + fault.Call + " had returned the error of a crash)"
			return t.result(seed, f)
		}
	}
	t.lost = t.player.GPU().PendingFaults() == 0
	return t.result(seed, t.windDown())
}

// possibleFaults lists the failures of every call that was made in between. Only lists
// those that are tried; nil: all.
func possibleFaults(before, after []fakegpu.CallCount, only []spec.FaultSpec) []spec.FaultSpec {
	earlier := countOf(before)
	var faults []spec.FaultSpec
	for _, c := range after {
		if slices.Contains(programsCalls, c.Call) {
			continue
		}
		for nth := range int(c.Count - earlier[c.Call]) {
			for _, name := range failuresOf(c.Call) {
				is := func(f spec.FaultSpec) bool { return f.Call == c.Call && f.Error == name }
				if only == nil || slices.ContainsFunc(only, is) {
					faults = append(faults, spec.FaultSpec{Call: c.Call, Nth: nth + 1, Error: name})
				}
			}
		}
	}
	return faults
}

// failuresOf lists how a call can fail, in the words of traces.
func failuresOf(call string) []string {
	var names []string
	for _, possible := range fakegpu.PossibleFaults(call) {
		for _, kind := range faultKinds {
			if kind.make(call).Error() == possible.Error() {
				names = append(names, kind.name)
			}
		}
	}
	return names
}
