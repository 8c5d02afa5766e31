package main

import (
	"strings"
	"testing"

	runner "gaugeblock/tools/run"
)

// TestOtherSettings: what run advises after a failure is what what-if finds in its history, and it
// advises nothing without one.
func TestOtherSettings(t *testing.T) {
	failed := func(snapshot string) *runner.Result {
		return &runner.Result{Processes: []runner.Answer{{Snapshot: snapshot, OOMs: []runner.OutOfMemory{{Asked: 1}}}}}
	}
	env := &environment{stderr: &strings.Builder{}}
	const folder = "../../snapshot/tell/testdata/snapshots/"
	if got := otherSettings(env, failed(folder+"gpt_oom7.default.limit.pickle.gz"), true); got == nil || got.Advised != "expandable_segments:True" || got.Sure {
		t.Errorf("%+v", got)
	}
	for _, r := range []*runner.Result{failed(""), failed("not there"), {Processes: []runner.Answer{{Snapshot: folder + "gpt_cut.default.nolimit.pickle.gz"}}}} {
		if got := otherSettings(env, r, true); got != nil {
			t.Errorf("%+v of %+v", got, r)
		}
	}
}
