package conformance

import (
	"fmt"
	"slices"

	"gaugeblock/spec/trace"
)

// Of faultsEvery programs one is run again with failing driver calls, kitFaults of them.
const (
	faultsEvery  = 12
	kitFaults    = 24
	kitLength    = 200
	mostOfAnArea = 12 // violations, lest a hopeless allocator take all day
)

// An area is not searched further when this many programs in a row have ended within a few
// operations, with a crash or the like: more of them would teach nothing. Few are enough where each
// takes long, as calls that hang do, and in further areas.
const (
	hopeless          = 10
	hopelessInARow    = 20
	hopelessHangs     = 3
	hopelessElsewhere = 2
)

// search runs programs of an area until its share of the operations is done. Whatever
// is found is from then on overlooked, so that the rest can be found.
func (k *kit) search(area *Area) error {
	done := Searched{Area: area.Name, What: area.What}
	weights := 0
	for _, a := range k.areas {
		weights += orDefault(a.Weight, 1)
	}
	share := k.operations * orDefault(area.Weight, 1) / weights
	before, short := 0, 0
	for _, s := range k.report.Searched {
		before += s.Operations
	}
	for found := 0; done.Operations < share && found < mostOfAnArea; done.Programs++ {
		r := k.program(area, k.seed+uint64(done.Programs), done.Programs)
		done.Operations += max(r.Checked, 1)
		if k.progress != nil {
			k.progress(before + done.Operations)
		}
		if short++; r.Failure == nil || !endsProgram(r.Failure.Class) || r.Checked > hopeless {
			short = 0
		}
		enough := hopelessInARow
		switch {
		case k.hopeless:
			enough = hopelessElsewhere
		case short > 0 && r.Failure.Class == classHang:
			enough = hopelessHangs
		}
		if short >= enough {
			k.hopeless = true
			done.Stopped = fmt.Sprintf("the last %d programs ended within %d operations", short, hopeless)
			done.Programs++
			break
		}
		if r.Failure == nil || k.found(r.Failure.Class) {
			continue
		}
		found++
		r.Failure.Found = done.Operations
		if err := k.add(area, r.Failure); err != nil {
			return err
		}
	}
	k.report.Searched = append(k.report.Searched, done)
	return nil
}

func (k *kit) program(area *Area, seed uint64, number int) Result {
	o := k.options(area)
	if len(area.Misuse) > 0 {
		careful := *area
		careful.Misuse = slices.DeleteFunc(slices.Clone(area.Misuse), func(kind trace.OpKind) bool {
			return k.found(probeAccepted + string(kind))
		})
		area = &careful
	}
	every, failures := faultsEvery, kitFaults
	if area.Failures > 0 {
		every, failures = 2, area.Failures
	}
	if number%every == every-1 && !o.caching {
		return area.RunFaults(seed, faultLength, failures, o)
	}
	return area.Run(seed, orDefault(area.Length, kitLength), o)
}

// add shortens a failure and adds it to the report.
func (k *kit) add(area *Area, f *Failure) error {
	rule, ok := ruleOf(f.Class)
	if !ok {
		return fmt.Errorf("the kit is at its end: %w", f)
	}
	shortest := Minimise(f, k.options(area))
	k.known = append(k.known, f.Class)
	v := Violation{Rule: rule, Found: shortest.Detail, Area: f.Area, Seed: f.Seed, After: f.Found, failure: shortest}
	if k.traces != "" {
		// One program may break several rules, and one rule in several ways.
		path, err := shortest.writeAs(k.traces, fmt.Sprintf("%s-%d-%s-%d.jsonl", rule.Name, len(k.known), f.Area, f.Seed))
		if err != nil {
			return err
		}
		v.File = path
	}
	k.report.Violations = append(k.report.Violations, v)
	return nil
}
