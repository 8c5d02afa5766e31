package invariant

import (
	"testing"

	"gaugeblock/spec"
)

// TestSumsOfFreed: what all pools have freed is what small and large ones have, also when the
// statistics were reset.
func TestSumsOfFreed(t *testing.T) {
	r := &violationReport{}
	f := &statCheck{report: r}
	stat := func(freed int64) spec.Stat { return spec.Stat{Current: 5, Peak: 5, Allocated: freed, Freed: freed} }
	f.checkAggregate("x", &spec.StatArray{spec.Aggregate: {Current: 5, Peak: 5, Allocated: 7, Freed: 8}, spec.StatSmallPool: stat(3), spec.StatLargePool: {Allocated: 4, Freed: 4}})
	if len(r.found) != 1 || r.found[0].Sentence != "x.all.freed is 8, small pools have 3 and large pools 4" {
		t.Errorf("%+v", r.found)
	}
}
