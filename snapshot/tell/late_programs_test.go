package tell_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"gaugeblock/internal/race"
	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// Programs that are like training and serving, recorded from their start, late, and in a ring,
// under settings and limits; other settings and limits are predicted, and then played. What is
// said must be true.
//
//	go test ./snapshot/tell -run TestLatePrograms -v -args -cases 2000

var cases = flag.Int("cases", 240, "how many predictions TestLatePrograms makes")

// lateSettings are recorded and predicted.
var lateSettings = []string{"", "expandable_segments:True", "max_split_size_mb:32", "roundup_power2_divisions:4", "garbage_collection_threshold:0.6", "max_split_size_mb:64,garbage_collection_threshold:0.8"}

// draw draws one of a list.
func draw[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// trainingPlan has layers of weights, and steps with activations, workspaces, gradients and, in
// the first step, the optimizer's state. Serving has a cache that grows in place of gradients.
func trainingPlan(r *rand.Rand) *plan {
	p := &plan{onOOM: draw(r, stops, stops, skips), release: draw(r, "", "", "2.13", "2.15"), context: spec.ContextAll}
	made := map[string]int{} // the steps that made live blocks
	malloc := func(name string, bytes uint64) {
		made[name] = len(p.steps)
		p.steps = append(p.steps, step{kind: mallocStep, size: max(bytes, 512)})
	}
	free := func(name string) { p.steps = append(p.steps, step{kind: freeMadeStep, which: made[name]}) }
	layers, width := 2+r.IntN(6), uint64(1+r.IntN(24))*spec.MiB
	serving, varied, workspace := r.IntN(3) == 0, r.IntN(2) == 0, uint64(r.IntN(3))*7*spec.MiB
	for l := range layers {
		malloc(fmt.Sprint("weight", l), width+uint64(l%3)*spec.MiB/2)
	}
	for s := range 4 + r.IntN(5) {
		length := uint64(8)
		if varied {
			length = 4 + uint64(r.IntN(9))
		}
		for l := range layers {
			malloc(fmt.Sprint("activation", l), width*length/8)
			if workspace > 0 {
				malloc("workspace", workspace)
				free("workspace")
			}
			if serving {
				malloc(fmt.Sprint("cache", s, ".", l), width/4)
			}
		}
		for l := layers - 1; l >= 0; l-- {
			if !serving {
				malloc(fmt.Sprint("gradient", l), width+uint64(l%3)*spec.MiB/2)
			}
			free(fmt.Sprint("activation", l))
		}
		for l := 0; l < layers && !serving; l++ {
			if s == 0 {
				malloc(fmt.Sprint("state", l), 2*width)
			}
			free(fmt.Sprint("gradient", l))
		}
	}
	for i := range p.steps {
		p.steps[i].line = i
	}
	return p
}

// lateCase is a program under settings and limits, and how much of it is recorded.
type lateCase struct {
	plan     *plan
	settings string
	limits   history.Limits
	from     int // recorded from this step on
	ring     int // entries; 0: all
}

// play records the case. The number of a step is the line of its entries. It returns the step from
// which the record counts, and whether a ring has lost a part of it.
func (c *lateCase) play() (record *played, from int, partly bool, err error) {
	record, err = c.plan.playFrom(c.settings, c.limits, c.from)
	record.failedBefore = record.failedBefore || c.ring > 0 && record.atOOM != nil && c.plan.onOOM != stops
	if err != nil || c.ring == 0 || len(record.file.DeviceTraces) == 0 || len(record.file.DeviceTraces[0]) <= c.ring {
		return record, c.from, false, err
	}
	trace := record.file.DeviceTraces[0]
	lineOf := func(e *snapshot.TraceEntry) int { return e.Context.Frames[1].Line }
	first := len(trace) - c.ring
	record.file.DeviceTraces[0] = trace[first:]
	return record, lineOf(&trace[first]), lineOf(&trace[first]) == lineOf(&trace[first-1]), nil
}

// lateCount counts the predictions of cases by what is said.
type lateCount map[string]int

func (c lateCount) predictions() int {
	return c["exact"] + c["in range"] + c["up to the limit"] + c["cannot be told"] + c["false"]
}

// TestLatePrograms counts what is exact, in its range, up to the limit, and not told; 0 may be false.
func TestLatePrograms(t *testing.T) {
	if race.Enabled {
		t.Skip("goroutines share nothing here")
	}
	count := lateCount{}
	for seed := uint64(1); count.predictions() < *cases; seed++ {
		count.predict(t, seed)
	}
	t.Logf("%d predictions: %v", count.predictions(), count)
}

// TestLateRetry: pages freed for a request that a memory fraction refuses by the page, in a ring of
// a release that rounds the fraction to the nearest byte, are not those of empty_cache.
func TestLateRetry(t *testing.T) {
	count := lateCount{}
	if count.predict(t, 2488); count["exact"] > 0 || count["in range"] == 0 {
		t.Errorf("%v", count)
	}
}

// predict predicts and plays the case of a seed.
func (count lateCount) predict(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	c := drawLateCase(t, r)
	if c == nil {
		return
	}
	record, from, partly, err := c.play()
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if !record.recording || record.failedBefore {
		count["ended before the recording"]++
		return
	}
	record.file.Version = versionsOf[c.plan.release]
	w, err := play.FromSnapshotOf(record.file, 0, history.ReleasesOf(record.file.Version))
	if none := new(history.WorkloadError); errors.As(err, &none) {
		count["nothing to predict"]++
		return
	} else if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	var given history.Limits
	if r.IntN(2) == 0 {
		given.Fraction = record.atEnd.PeakAllocated * uint64(90+r.IntN(40)) / 100 / (2 * spec.MiB) * (2 * spec.MiB)
	}
	compared, err := compare.Compare(w, compare.Options{Settings: lateSettings, Limit: given.Fraction, Jobs: 1})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	for i := range compared.Predictions {
		p := &compared.Predictions[i]
		if p.Fraction > 0 || p.Release != "" {
			continue
		}
		if p.Settings.Text == c.settings && !w.Limit.Refused() && c.hidden(t, from, partly) {
			count["a limit that the record does not show"]++
			continue
		}
		truth, err := c.plan.playFrom(p.Settings.Text, given, from)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		says, why := judge(p, record, truth, partly)
		count[says]++
		if says == "false" {
			t.Errorf("seed %d, %q under %q %+v from step %d, ring %d (release %q), predicted %q %+v: %s (reasons %q, complete %v)",
				seed, c.plan.onOOM, c.settings, c.limits, c.from, c.ring, c.plan.release, p.Settings.Text, given, why, p.Reasons, w.Complete())
		}
		if says == "in range" && why == "wide" {
			count["wider than a quarter"]++
		}
	}
}

// drawLateCase draws a case, nil for one that does not reach its beginning.
func drawLateCase(t *testing.T, r *rand.Rand) *lateCase {
	c := &lateCase{plan: trainingPlan(r), settings: draw(r, lateSettings...)}
	whole, err := c.plan.playFrom(c.settings, history.Limits{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	room := (whole.atEnd.PeakAllocated + (whole.atEnd.PeakReserved-whole.atEnd.PeakAllocated)*uint64(r.IntN(120))/100) / (2 * spec.MiB) * (2 * spec.MiB)
	switch r.IntN(4) {
	case 0:
		c.limits.Fraction = room
	case 1:
		c.limits.Device = room
	}
	switch r.IntN(3) {
	case 0:
		c.from = len(c.plan.steps) * (1 + r.IntN(8)) / 10
	case 1:
		c.ring = 20 + r.IntN(2*len(c.plan.steps))
	}
	return c
}

// hidden reports whether the program reached its limit before it was recorded.
func (c *lateCase) hidden(t *testing.T, from int, partly bool) bool {
	if c.limits.Bytes() == 0 {
		return false
	}
	if partly && from+1 < len(c.plan.steps) {
		from++
	}
	free, err := c.plan.playFrom(c.settings, history.Limits{}, from)
	limited, err2 := c.plan.playFrom(c.settings, c.limits, from)
	if err := cmp.Or(err, err2); err != nil {
		t.Fatal(err)
	}
	return free.before != limited.before
}

// judge says how a prediction compares with the truth, and why it is false.
func judge(p *compare.Prediction, recorded, truth *played, partly bool) (says, why string) {
	if !truth.recording || truth.failedBefore {
		return "ended before the recording", ""
	}
	real := truth.atEnd
	if truth.atOOM != nil && !recorded.wentOn && !truth.without {
		real = *truth.atOOM // that the program goes on was never recorded
	}
	if p.Err != nil || !p.Told() {
		return "cannot be told", ""
	}
	r, open := p.PeakReservedRange()
	failed := truth.atOOM != nil
	if fails, known := p.Fails(); known && fails != failed {
		return "false", fmt.Sprintf("fails: %v, and truly %v", fails, failed)
	}
	switch {
	case real.PeakReserved < r.Low || real.PeakReserved > r.High && (!open || p.UpToLimit()):
		return "false", fmt.Sprintf("%d bytes are reserved, and predicted are %d to %d", real.PeakReserved, r.Low, r.High)
	case p.Exact() && (p.PeakReserved != real.PeakReserved || !partly && (p.PeakAllocated != real.PeakAllocated || p.Retries != real.Retries || p.OOMs != real.OOMs)):
		return "false", fmt.Sprintf("exact is %+v, and true %+v", p.Statistics, real)
	case p.Exact():
		return "exact", ""
	case p.UpToLimit():
		return "up to the limit", ""
	case open:
		return "cannot be told", ""
	case r.High-r.Low > real.PeakReserved/4:
		return "in range", "wide"
	}
	return "in range", ""
}

// versionsOf are what a file of a release tells of it.
var versionsOf = map[string]snapshot.Version{"": {Least: 10, Most: 11}, "2.13": {Least: 12, Most: snapshot.Newest}, "2.15": {Least: 14, Most: snapshot.Newest}}
