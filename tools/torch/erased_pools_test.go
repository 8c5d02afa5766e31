package torch

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gaugeblock/conformance"
	"gaugeblock/spec/trace"
)

// TestOutlived: PyTorch erases a pool while expandable memory of it is allocated. What is freed
// then goes into a tree that is not there any more, and the next call that walks it does not
// come back. (Or it crashes, where the C++ library lays objects out otherwise.)
func TestOutlived(t *testing.T) {
	o := built(t)
	h, ops, _, err := trace.ReadFile(filepath.Join("testdata", "outlived.jsonl"))
	must(t, err)
	w, err := startWorker(o)
	must(t, err)
	w.patience = time.Second
	j := job{Area: h.Family, Known: true, Header: h, Ops: ops}
	r, crash, err := w.do(&j)
	must(t, err)
	switch {
	case crash != nil && !within(o.Release().Name, "2.11", "2.12"): // the first look does not come back
	case crash != nil || len(r.Outcomes) != 1 || r.Outcomes[0].Difference.What != "layout" || r.Outcomes[0].Row != rowErased:
		t.Errorf("with a look at the layout after every operation: %v, %+v", crash, r)
	}
	j.Every = 1000
	_, crash, err = w.do(&j)
	must(t, err)
	if crash == nil {
		t.Fatal("without a look at the layout there is neither a crash nor a hang")
	}
	t.Log(crash)
	outcome := Outcome{Header: h, Difference: crash.difference(), Every: j.Every}
	outcome.Ops, err = performed(h.Family, h, ops, crash.Operation)
	must(t, err)
	row, err := explain(&outcome)
	must(t, err)
	if row != rowErased {
		t.Errorf("the row is %q", row)
	}
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
}

// TestCrashIsMadeUpAgain: the program of a crash is made up again as the worker did, here one that
// exposes forgotten uses: it has a row.
func TestCrashIsMadeUpAgain(t *testing.T) {
	forReleases(t, "2.10", "2.12") // by the rules of others the seed makes up another program
	report, err := Search{PyTorch: built(t), Areas: []string{"pools"}, Operations: 1000, Seed: 12}.Run()
	must(t, err)
	if len(report.Unexplained) > 0 || report.Listed[rowErased] == 0 {
		t.Errorf("listed %v, unexplained %+v", report.Listed, report.Unexplained)
	}
}

// TestOutlivedIsNarrow: a crash in the same program is not explained before a block of the
// erased pool has been freed.
func TestOutlivedIsNarrow(t *testing.T) {
	h, ops, _, err := trace.ReadFile(filepath.Join("testdata", "outlived.jsonl"))
	must(t, err)
	freed := slices.IndexFunc(ops, func(op trace.Op) bool { return op.Kind == trace.OpFree && op.ID == 1 })
	if freed < 0 || conformance.Find(h.Family) == nil {
		t.Fatal("this is another program")
	}
	for n := 1; n <= len(ops); n++ {
		for _, what := range []string{"crash", "hang"} {
			o := Outcome{Header: h, Ops: ops[:n], Every: 1000, Difference: &Difference{Operation: n, What: what}}
			row, err := explain(&o)
			must(t, err)
			if want := n > freed; (row == rowErased) != want {
				t.Errorf("a %s in operation %d, %s: row %q", what, n, ops[n-1].InWords(), row)
			}
		}
	}
}
