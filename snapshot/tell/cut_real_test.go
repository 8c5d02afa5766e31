package tell_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/internal/allrows"
	"gaugeblock/internal/race"
	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// cutPlaces are where records are cut, in tenths of their entries.
var cutPlaces = []int{2, 5, 8}

// mostCut is how many entries a record has at most that is cut.
const mostCut = 16_000

// TestCutRealRecords: whole records of real programs are cut at the front, as a ring or a late start
// does, and predicted under other settings and limits. What is true is what the requests of the
// whole record come to, from the cut on. No range may be without it, and no failure be told falsely.
func TestCutRealRecords(t *testing.T) {
	if race.Enabled {
		t.Skip("goroutines share nothing here")
	}
	count := lateCount{}
	for i, name := range wholeRecords(t) {
		if allrows.Without(i, 6) {
			continue
		}
		f, err := snapshot.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := play.FromSnapshot(f, 0)
		if err != nil || !whole.Complete() || len(whole.Trace) > mostCut || whole.Unrecorded.PendingFrees > 0 || len(whole.PrivatePools) > 0 {
			continue // what happens next rests on more than the requests
		}
		for _, tenths := range cutPlaces {
			count.cutAt(t, filepath.Base(name), f, whole, len(whole.Trace)*tenths/10)
		}
	}
	t.Logf("%d predictions: %v", count.predictions(), count)
}

// wholeRecords are the snapshots here, and those in the folder shared beside the project if it is there.
func wholeRecords(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"testdata/snapshots", "testdata/full_device", "../../../shared/snapshots-late", "../../../shared/snapshots-more", "../../../shared/programs"} {
		more, err := filepath.Glob(pattern + "/*.pickle.gz")
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, more...)
	}
	return names
}

// cutAt predicts from the entries behind a cut.
func (count lateCount) cutAt(t *testing.T, name string, f *snapshot.File, whole *history.Workload, at int) {
	t.Helper()
	shorter := *f
	shorter.DeviceTraces = [][]snapshot.TraceEntry{f.DeviceTraces[0][at:]}
	late, err := play.FromSnapshot(&shorter, 0)
	if none := new(history.WorkloadError); errors.As(err, &none) {
		return
	} else if err != nil {
		t.Fatalf("%s from %d: %v", name, at, err)
	}
	peak := late.PeakRequested()
	for _, limit := range []uint64{0, peak * 102 / 100 / (2 * spec.MiB) * 2 * spec.MiB, peak * 115 / 100 / (2 * spec.MiB) * 2 * spec.MiB} {
		c, err := compare.Compare(late, compare.Options{Settings: lateSettings, Limit: limit, Jobs: 1})
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Predictions {
			if p := &c.Predictions[i]; p.Fraction == 0 && p.Release == "" {
				count.compareCut(t, strings.TrimSuffix(name, ".pickle.gz"), whole, late, p, at, limit)
			}
		}
	}
}

// cutTruth is what the requests of a whole record come to from an entry on.
type cutTruth struct {
	peak           uint64
	failed, before bool // a request fails, and before the entry
}

// truthBehind plays a whole record. open: it depends on the addresses of the driver.
func truthBehind(t *testing.T, whole *history.Workload, s history.Settings, at int, limit uint64) (first cutTruth, open bool) {
	t.Helper()
	for i, a := range play.PlausibleDrivers[:4] {
		truth, number := cutTruth{}, 0
		outcome, err := play.Run(whole, play.RunOptions{
			Settings: s, Reading: history.Reading{Limits: history.Limits{Fraction: limit}, EmptyCache: true}, Assumptions: a, StopAtOOM: true,
			Watch: func(held uint64) {
				if int(whole.Requests[number].Entry) >= at {
					truth.peak = max(truth.peak, held)
				}
				number++
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if oom := outcome.FirstOOM; oom != nil {
			truth.failed, truth.before = true, int(whole.Requests[oom.Request].Entry) < at
		}
		if i == 0 {
			first = truth
		}
		open = open || truth != first
	}
	return first, open
}

// compareCut compares a prediction with the whole record under its settings and limit.
func (count lateCount) compareCut(t *testing.T, name string, whole, late *history.Workload, p *compare.Prediction, at int, limit uint64) {
	t.Helper()
	truth, truthOpen := truthBehind(t, whole, p.Settings, at, limit)
	_, most := history.ReservedBytes(whole.Trace, nil)
	if p.Settings.Same(whole.Settings) && !whole.Limit.Refused() && (limit == 0 || limit >= most) { // it is the recorded run
		_, recorded := history.ReservedBytes(late.Trace, late.InitialSegments)
		truth, truthOpen = cutTruth{peak: recorded}, false
	}
	r, open := p.PeakReservedRange()
	fails, known := p.Fails()
	switch {
	case truthOpen:
		count["depends on addresses"]++
	case truth.before:
		count["ended before the record"]++
	case known && fails != truth.failed:
		count["false"]++
		t.Errorf("%s from %d, %q limit %d: fails %v, and truly %v (%q)", name, at, p.Settings.Text, limit, fails, truth.failed, p.Reasons)
	case !p.Told() || open:
		count["cannot be told"]++
	case !truth.failed && (truth.peak < r.Low || truth.peak > r.High):
		count["false"]++
		t.Errorf("%s from %d, %q limit %d: %d MiB are reserved, predicted %d to %d (%q)", name, at, p.Settings.Text, limit, truth.peak>>20, r.Low>>20, r.High>>20, p.Reasons)
	case p.Exact():
		count["exact"]++
	default:
		if count["in range"]++; r.High-r.Low > truth.peak/4 {
			count["wider than a quarter"]++
		}
	}
}
