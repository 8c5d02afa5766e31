package main

import (
	"cmp"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
	runner "gaugeblock/tools/run"
)

// otherSettings asks what-if whether other settings would have served the request for want of which
// the program failed, so that the line of "gaugeblock run" and what-if of its snapshot say the same.
// It is nil if nothing is known: there was no failure, or no history of it.
func otherSettings(env *environment, r *runner.Result, stacks bool) *runner.OtherSettings {
	process, failed := r.Failed()
	if process == nil || process.Snapshot == "" {
		return nil
	}
	defer reportMemory.bound()()
	file, err := snapshot.OpenLimited(process.Snapshot, reportMemory.most())
	if err != nil {
		return nil
	}
	workload, err := play.FromSnapshotOf(file, spec.Device(failed.Device), new(release).orOf(file))
	if err != nil {
		return nil
	}
	c, err := env.compare(workload, compare.Options{AsRecorded: true, Present: true, MaxMemory: reportMemory.most()}, !isTerminal(env.stderr))
	if err != nil {
		return nil
	}
	sure := c.Sureness() == compare.ExactVerdict || c.Sureness() == compare.SureVerdict
	if p := c.Advised(); p != nil && p.Fraction == 0 {
		return &runner.OtherSettings{Advised: cmp.Or(p.Settings.Text, "expandable_segments:False"), Sure: sure}
	}
	return &runner.OtherSettings{Sure: sure && c.Advised() == nil && c.NothingIsBetter(), NoStacks: !stacks}
}
