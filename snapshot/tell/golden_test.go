package tell_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"gaugeblock/internal/race"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/tell"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// compareTrace compares settings of a trace, with the smallest limits. It is nil if the
// trace is refused.
func compareTrace(t *testing.T, file string, o compare.Options) *compare.Comparison {
	t.Helper()
	tr, err := trace.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	w, err := history.FromTrace(tr, 0, 0)
	var refused *history.WorkloadError
	if errors.As(err, &refused) {
		return nil
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	o.AsRecorded, o.SearchLimit = o.Limit == 0, true
	c, err := compare.Compare(w, o)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if _, err := json.Marshal(told(c)); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	_ = told(c).Verdict() + told(c).Details()
	told(c).Table(tell.TableOptions{Width: 80})
	return c
}

// TestEveryTrace: every recorded trace that the project has is compared or refused, and an
// exact result has the recorded statistics.
func TestEveryTrace(t *testing.T) {
	if race.Enabled {
		t.Skip("goroutines share nothing here")
	}
	files, err := filepath.Glob("../../tests/golden/testdata/*.jsonl.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	compared := 0
	for i, file := range files {
		o := compare.Options{Settings: []string{"", "expandable_segments:True"}}
		if i%3 == 0 {
			o.Limit = 200 * spec.MiB
		}
		if compareTrace(t, file, o) != nil {
			compared++
		}
	}
	if compared < 100 {
		t.Errorf("%d of %d traces are compared", compared, len(files))
	}
}

// TestRestore: an allocation that a restore of a pool makes live again is freed twice in
// the trace, and counted once.
func TestRestore(t *testing.T) {
	const file = "../../../shared/hostile/restore_min.jsonl"
	if found, err := filepath.Glob(file); err != nil || len(found) == 0 {
		t.Skipf("%v: %s is in the folder shared beside the project", fs.ErrNotExist, file)
	}
	c := compareTrace(t, file, compare.Options{Settings: []string{""}})
	if p := c.Predictions[0]; p.Err != nil || p.SmallestLimit == nil || p.SmallestLimit.High != 22*spec.MiB {
		t.Errorf("%+v", p)
	}
}
