package tell_test

import (
	"strings"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/upstream"
)

// TestReleases: of two free blocks of one size releases take different ones. A record is
// reproduced by the rules of its release, the figures of another release are a row, and a
// record whose release is not told is answered under each that fits.
func TestReleases(t *testing.T) {
	// The second block of 40 MiB is below the first. What is allocated in it stays.
	steps := append(mallocs(2, 40, 40), step{kind: freeStep, which: 1}, step{kind: freeStep, which: 1})
	steps = append(append(steps, mallocs(30)...), empties...)
	for _, test := range []struct {
		release string
		version snapshot.Version
		others  int
		says    string
	}{
		{"2.11", snapshot.Version{Least: 10, Most: 11}, 0, "Predicted by the rules of PyTorch 2.11 (the record is of 2.10 to 2.11)."},
		{"2.15", snapshot.Version{Least: 14, Most: snapshot.Newest}, 0, "Predicted by the rules of PyTorch 2.15 (the record is of 2.14 or later)."},
		{"2.12", snapshot.Version{Least: 12, Most: snapshot.Newest}, 1, "which fit as well"},
		{"2.15", snapshot.Version{Least: 12, Most: snapshot.Newest}, 1, "which fit as well"},
		{"2.11", snapshot.Version{Least: 9, Most: snapshot.Newest}, 0, "Predicted by the rules of PyTorch 2.11"},
	} {
		p := &plan{steps: steps, onOOM: stops, release: test.release}
		file := mustPlay(t, p, "", history.Limits{}).file
		file.Version = test.version
		c := answer(t, file, compare.Options{})
		if !c.Verification.Exact() || !row(t, c, "").Exact() || len(c.Workload.OtherReleases) != test.others {
			t.Errorf("%+v: by %s, %+v, others %d", test, c.Workload.Release.Name, c.Verification.Differences, len(c.Workload.OtherReleases))
		}
		if note := told(c).ReleaseNote(); test.others == 0 && note != test.says && !strings.HasPrefix(note, test.says) {
			t.Errorf("%+v: %s", test, note)
		}
		for i := range c.Predictions {
			p := &c.Predictions[i]
			if p.Release == "" {
				continue
			}
			truth := mustPlay(t, &plan{steps: steps, onOOM: stops, release: p.Release}, "", history.Limits{})
			if r, _ := p.PeakReservedRange(); p.Release != upstream.Newest().Name || truth.atEnd.PeakReserved < r.Low || truth.atEnd.PeakReserved > r.High {
				t.Errorf("%+v: %s would reserve %d, predicted %+v", test, p.Release, truth.atEnd.PeakReserved, r)
			}
		}
	}
	// By the rules of another release the record is not reproduced.
	file := mustPlay(t, &plan{steps: steps, onOOM: stops, release: "2.15"}, "", history.Limits{}).file
	old, _ := upstream.Find("2.11")
	w, err := play.FromSnapshotOf(file, 0, []upstream.Release{old})
	if err != nil {
		t.Fatal(err)
	}
	if v := play.Verify(w); v.Exact() {
		t.Error("a record of 2.15 is reproduced by the rules of 2.11")
	}
}
