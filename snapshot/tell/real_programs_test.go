package tell_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/internal/race"
	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
)

// Programs that were run on PyTorch itself, of several releases, under settings and limits, and
// recorded from their start, late, or in a ring. Other settings and limits are predicted, and what
// really happened is beside them. testdata/real/truths.py makes the files, on a fake GPU.

var truths = flag.String("truths", "", "TestRealPrograms also reads these files of testdata/real/truths.py, with commas between them")

// realCase is a line of a file.
type realCase struct {
	Release, Kind, Settings string
	Seed                    int
	Fraction, Device        uint64
	From, Ring              int
	Partly, Hidden          bool
	Recorded                realRun
	Snapshot                json.RawMessage
	Truths                  []struct {
		Settings         string
		Fraction, Device uint64
		Truth            realRun
	}
}

// realRun is what happened since the recording began.
type realRun struct {
	Recording    bool
	FailedBefore bool             `json:"failed_before"`
	WentOn       bool             `json:"went_on"`
	AtEnd        play.Statistics  `json:"at_end"`
	AtOOM        *play.Statistics `json:"at_oom"`
	Without      bool             // the first request that failed was for a workspace, and a smaller one was taken
}

func (r *realRun) played() *played {
	return &played{atEnd: r.AtEnd, atOOM: r.AtOOM, wentOn: r.WentOn, without: r.Without, recording: r.Recording, failedBefore: r.FailedBefore}
}

// TestRealPrograms counts what is exact, in its range, and not told; nothing may be false.
func TestRealPrograms(t *testing.T) {
	if race.Enabled {
		t.Skip("goroutines share nothing here")
	}
	files, err := filepath.Glob("testdata/real/*.jsonl.gz")
	if *truths != "" {
		files = strings.Split(*truths, ",")
	}
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		count := lateCount{}
		for _, c := range readCases(t, name) {
			count.predictReal(t, c)
		}
		if t.Logf("%s: %d predictions: %v", filepath.Base(name), count.predictions(), count); count.predictions() == 0 {
			t.Errorf("%s has no predictions", name)
		}
		if 4*count["wider than a quarter"] > count["in range"] {
			t.Errorf("%s: more than a quarter of the ranges are wider than a quarter", name)
		}
	}
}

func readCases(t *testing.T, name string) (list []*realCase) {
	t.Helper()
	packed, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	in, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<28)
	for lines.Scan() {
		c := new(realCase)
		if err := json.Unmarshal(lines.Bytes(), c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, c)
	}
	if err := lines.Err(); err != nil {
		t.Logf("%s ends early: %v", name, err)
	}
	return list
}

// predictReal predicts what happened under each of the settings and limits.
func (count lateCount) predictReal(t *testing.T, c *realCase) {
	t.Helper()
	f, err := snapshot.Read(bytes.NewReader(c.Snapshot), "snapshot")
	if err != nil {
		t.Fatal(err)
	}
	w, err := play.FromSnapshotOf(f, 0, history.ReleasesOf(f.Version))
	if none := new(history.WorkloadError); errors.As(err, &none) {
		count["nothing to predict"]++
		return
	} else if err != nil {
		t.Fatal(err)
	}
	compared := map[history.Limits]*compare.Comparison{}
	for i := range c.Truths {
		truth := &c.Truths[i]
		given := history.Limits{Fraction: truth.Fraction, Device: truth.Device}
		if compared[given] == nil {
			if compared[given], err = compare.Compare(w, compare.Options{Settings: lateSettings, Limit: given.Fraction, DeviceMemory: given.Device, Jobs: 1}); err != nil {
				t.Fatal(err)
			}
		}
		for j := range compared[given].Predictions {
			p := &compared[given].Predictions[j]
			switch {
			case p.Settings.Text != truth.Settings || p.Fraction > 0 || p.Release != "":
				continue
			case c.Hidden && p.Settings.Text == c.Settings && !w.Limit.Refused():
				count["a limit that the record does not show"]++
				continue
			}
			says, why := judge(p, c.Recorded.played(), truth.Truth.played(), c.Partly)
			if count[says]++; says == "false" {
				t.Errorf("%s, %s seed %d, recorded under %q %d %d from step %d, ring %d; predicted %q %+v: %s (reasons %q, complete %v)", c.Release, c.Kind, c.Seed, c.Settings,
					c.Fraction, c.Device, c.From, c.Ring, truth.Settings, given, why, p.Reasons, w.Complete())
			}
			if says == "in range" && why == "wide" {
				count["wider than a quarter"]++
			}
			count[fmt.Sprintf("complete %v: %s", w.Complete(), says)]++
		}
	}
}
