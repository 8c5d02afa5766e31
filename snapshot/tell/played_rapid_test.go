package tell_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/snapshot/tell"
	"gaugeblock/spec"
)

// drawPlan draws a program: mostly requests of some sizes, many of which come again.
func drawPlan(t *rapid.T) *plan {
	p := &plan{
		onOOM:   rapid.SampledFrom([]oomHabit{stops, stops, skips, halves}).Draw(t, "on OOM"),
		context: rapid.SampledFrom([]spec.ContextLevel{spec.ContextNever, spec.ContextNever, spec.ContextAlloc, spec.ContextAll}).Draw(t, "context"),
	}
	sizes := rapid.SliceOfN(rapid.Uint64Range(1, 120), 2, 8).Draw(t, "sizes")
	empties := rapid.Bool().Draw(t, "empties the cache")
	for i := range rapid.IntRange(3, 60).Draw(t, "steps") {
		s := step{line: i%7 + 1}
		switch k := rapid.IntRange(0, 19).Draw(t, "kind"); {
		case k == 0 && empties:
			s.kind = emptyStep
		case k < 9:
			s.kind, s.which = freeStep, rapid.IntRange(0, 30).Draw(t, "which")
		default:
			s.size = rapid.SampledFrom(sizes).Draw(t, "MiB")*spec.MiB - rapid.SampledFrom([]uint64{0, 0, 512, 300 * spec.KiB}).Draw(t, "less")
		}
		p.steps = append(p.steps, s)
	}
	return p
}

// playedSettings are what is predicted of a played plan.
var playedSettings = []string{"", "expandable_segments:True", "max_split_size_mb:32", "roundup_power2_divisions:4", "garbage_collection_threshold:0.6"}

// TestPredictionsOfPlayedPrograms plays programs without, with a memory fraction, and on a
// device that fills up, and predicts other settings under the limit that the record shows.
// Whatever is said must be true.
func TestPredictionsOfPlayedPrograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		free, err := p.play("", history.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		room := free.atEnd.PeakAllocated + (free.atEnd.PeakReserved-free.atEnd.PeakAllocated)*rapid.Uint64Range(0, 100).Draw(t, "room")/100
		room = room * rapid.SampledFrom([]uint64{100, 100, 100, 90, 70}).Draw(t, "of it") / 100 / (2 * spec.MiB) * (2 * spec.MiB)
		var limits history.Limits
		switch rapid.SampledFrom([]string{"none", "fraction", "device"}).Draw(t, "limit") {
		case "fraction":
			limits.Fraction = max(room, 2*spec.MiB)
		case "device":
			limits.Device = max(room, 2*spec.MiB)
		}
		settings := rapid.SampledFrom(playedSettings).Draw(t, "settings")
		if strings.Contains(settings, "garbage") { // without call stacks all frees are taken for garbage
			p.steps = slices.DeleteFunc(p.steps, func(s step) bool { return s.kind == emptyStep })
		}
		checkPlayed(t, p, settings, limits)
	})
}

// checkPlayed predicts all settings from a play under one of them, and compares that with
// what really happens under each.
func checkPlayed(t *rapid.T, p *plan, settings string, limits history.Limits) {
	recorded, err := p.play(settings, limits)
	if err != nil {
		t.Fatal(err)
	}
	emptied := slices.ContainsFunc(p.steps, func(s step) bool { return s.kind == emptyStep })
	if recorded.invisible || emptied && p.context == spec.ContextNever && recorded.atOOM != nil {
		t.Skip("what is not recorded cannot be known")
	}
	w, err := play.FromSnapshot(recorded.file, 0)
	var none *history.WorkloadError
	if errors.As(err, &none) {
		t.Skip("no request")
	}
	if err != nil {
		t.Fatal(err)
	}
	compared, err := compare.Compare(w, compare.Options{Settings: playedSettings, AsRecorded: true})
	if err != nil {
		t.Fatal(err)
	}
	unlimited, err := p.play(settings, history.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	kind := w.Limit.Kind
	switch {
	case kind == history.FractionLimit && limits.Fraction == 0, kind == history.DeviceLimit && limits.Device == 0:
		t.Fatalf("%v, and the limit is said to be a %s", limits, kind)
	case kind != history.NoLimit && kind != history.UnknownLimit && !w.Limit.Allows(limits.Bytes()):
		t.Fatalf("the limit is said to be in %v, and is %v", w.Limit, limits)
	}
	if v := compared.Verification; !v.Exact() { // rare; then nothing is claimed
		for i := range compared.Predictions {
			if compared.Predictions[i].Exact() || compared.Sureness() != compare.UnknownVerdict {
				t.Fatalf("the record is not reproduced (%+v), and a prediction is exact", v.Differences)
			}
		}
		return
	}
	for i := range compared.Predictions {
		prediction := &compared.Predictions[i]
		trueLimits := limits
		if prediction.Fraction > 0 {
			trueLimits.Fraction = prediction.Fraction
		}
		if recorded.atEnd == unlimited.atEnd {
			trueLimits = history.Limits{Fraction: prediction.Fraction} // the record does not show that there is one
		}
		truth, err := p.play(prediction.Settings.Text, trueLimits)
		if err != nil {
			t.Fatal(err)
		}
		comparePlayed(t, prediction, recorded, truth)
	}
	_ = told(compared).Verdict()
	_ = compared.Cause()
}

func comparePlayed(t *rapid.T, p *compare.Prediction, recorded, truth *played) {
	name := tell.NameOf(p.Settings.Text)
	real := truth.atEnd
	if truth.atOOM != nil && !recorded.wentOn && !p.Recorded {
		real = *truth.atOOM // that the program goes on was never recorded
	}
	r, open := p.PeakReservedRange()
	if real.PeakReserved < r.Low || real.PeakReserved > r.High && !open {
		t.Fatalf("%s: %d bytes are reserved, and predicted are %d to %d (%q), %+v, %+v", name, real.PeakReserved, r.Low, r.High, p.Reasons, p, p.FirstOOM)
	}
	if f := p.Figures(); !p.DependsOnLimit() && (real.PeakReserved < f.Reserved.Low || real.PeakReserved > f.Reserved.High && !f.Open) {
		t.Fatalf("%s: %d bytes are reserved, and the table has %+v", name, real.PeakReserved, f)
	}
	if !p.Exact() {
		return
	}
	if (p.FirstOOM != nil) != (truth.atOOM != nil) || p.Statistics != real {
		t.Fatalf("%s: exact is %+v, and true %+v", name, p.Statistics, real)
	}
}
