package compare

import (
	"errors"
	"strings"
	"testing"

	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// ran is a run of a prediction: where a request failed, 0 for nowhere, under a limit.
func ran(assumptions string, failed int, limit uint64) CountedRun {
	r := CountedRun{assumptions: assumptions, limit: limit}
	if failed > 0 {
		r.FirstOOM = &play.OutOfMemory{Request: failed, Number: failed}
	}
	return r
}

// TestLimitDecides: only runs of the measured driver tell which limit is enough, and the smallest counts.
func TestLimitDecides(t *testing.T) {
	measured := play.MeasuredDriver.Name
	for what, test := range map[string]struct {
		runs    []CountedRun
		decides bool
		fits    uint64
	}{
		"none":                     {nil, false, 0},
		"all serve":                {[]CountedRun{ran(measured, 0, 30), ran(measured, 0, 20), ran(measured, 0, 25)}, false, 20},
		"all fail":                 {[]CountedRun{ran(measured, 1, 30), ran(measured, 1, 20)}, false, 0},
		"the first fails":          {[]CountedRun{ran(measured, 1, 10), ran(measured, 0, 20)}, true, 20},
		"the first serves":         {[]CountedRun{ran(measured, 0, 30), ran(measured, 1, 20), ran(measured, 0, 25)}, true, 25},
		"another driver fails":     {[]CountedRun{ran("other", 1, 5), ran(measured, 0, 30), ran("other", 1, 40)}, false, 30},
		"another driver has less":  {[]CountedRun{ran(measured, 1, 20), ran(measured, 0, 30), ran("other", 0, 10)}, true, 30},
		"another driver is first":  {[]CountedRun{ran("other", 0, 10), ran(measured, 1, 20), ran(measured, 1, 30)}, false, 0},
		"where it fails is no say": {[]CountedRun{ran(measured, 1, 20), ran(measured, 2, 30)}, false, 0},
	} {
		p := Prediction{Runs: test.runs, fits: 7}
		p.PeakReserved = 1
		for i := range p.Runs {
			p.Runs[i].PeakReserved = p.Runs[i].limit
		}
		decides, fitting := p.limitDecides()
		if decides != test.decides || (fitting == nil) != (test.fits == 0) || fitting != nil && fitting.limit != test.fits {
			t.Errorf("%s: %v, %+v", what, decides, fitting)
		}
		want := uint64(1)
		if test.decides {
			want = test.fits
		}
		if got := p.Figures().Statistics.PeakReserved; got != want || p.DependsOnLimit() != test.decides || p.Fits() != 7 {
			t.Errorf("%s: %d reserved, not %d", what, got, want)
		}
		p.fits = 0
		if p.DependsOnLimit() || p.Figures().Statistics.PeakReserved != 1 {
			t.Errorf("%s: it depends on a limit that is not known", what)
		}
	}
}

// TestFails: whether a program runs out of memory, and where that is open.
func TestFails(t *testing.T) {
	for what, test := range map[string]struct {
		p                  Prediction
		fails, known, open bool
	}{
		"no run":                    {Prediction{}, false, true, false},
		"no run fails":              {Prediction{Runs: []CountedRun{ran("", 0, 0), ran("", 0, 0)}}, false, true, false},
		"one fails":                 {Prediction{Runs: []CountedRun{ran("", 1, 0), ran("", 0, 0)}}, true, false, false},
		"all fail":                  {Prediction{Runs: []CountedRun{ran("", 1, 0), ran("", 1, 0)}}, true, true, false},
		"all fail, and it is open":  {Prediction{Runs: []CountedRun{ran("", 1, 0)}, failureOpen: true}, true, false, true},
		"none fails, and it is":     {Prediction{Runs: []CountedRun{ran("", 0, 0)}, failureOpen: true}, false, false, true},
		"one fails, and it is open": {Prediction{Runs: []CountedRun{ran("", 1, 0), ran("", 0, 0)}, failureOpen: true}, true, false, false},
		"it goes on":                {Prediction{Runs: []CountedRun{ran("", 0, 0)}, passes: true}, false, false, false},
		"not possible":              {Prediction{Err: errors.New("no"), failureOpen: true}, false, false, false},
	} {
		if fails, known := test.p.Fails(); fails != test.fails || known != test.known || test.p.OpenFailure() != test.open {
			t.Errorf("%s: %v, %v, %v", what, fails, known, test.p.OpenFailure())
		}
	}
}

// TestTold: whether the range of peak reserved is known, and what it is.
func TestTold(t *testing.T) {
	reserves := func(low, high, upTo uint64) CountedRun {
		r := CountedRun{upTo: upTo}
		r.reserved.include(low)
		r.reserved.include(high)
		return r
	}
	between := Range{}
	between.include(70)
	for what, test := range map[string]struct {
		p              Prediction
		told           bool
		low, high      uint64
		open, upToOpen bool
	}{
		"one run":                   {Prediction{Runs: []CountedRun{reserves(100, 100, 0)}}, true, 100, 100, false, false},
		"two runs":                  {Prediction{Runs: []CountedRun{reserves(100, 110, 0), reserves(90, 95, 0)}}, true, 90, 110, false, false},
		"otherwise":                 {Prediction{Runs: []CountedRun{reserves(100, 110, 0)}, between: between}, true, 70, 110, false, false},
		"up to a near limit":        {Prediction{Runs: []CountedRun{reserves(100, 110, 125)}}, true, 100, 125, false, false},
		"up to a limit":             {Prediction{Runs: []CountedRun{reserves(100, 110, 126)}}, true, 100, 126, true, true},
		"up to its limit":           {Prediction{Runs: []CountedRun{reserves(100, 110, 0)}, upTo: 200}, true, 100, 200, true, true},
		"beyond its limit":          {Prediction{Runs: []CountedRun{reserves(100, 110, 0)}, upTo: 105}, true, 100, 110, false, false},
		"a wide range of its own":   {Prediction{Runs: []CountedRun{reserves(100, 200, 0)}}, true, 100, 200, false, false},
		"without end":               {Prediction{Runs: []CountedRun{reserves(100, 110, unbounded), reserves(90, 90, 0)}}, true, 90, 110, true, false},
		"not possible":              {Prediction{Err: errors.New("no")}, false, 0, 0, true, false},
		"collectives":               {Prediction{Reasons: []InexactReason{Collectives}, Runs: []CountedRun{reserves(1, 1, 0)}}, false, 0, 0, true, false},
		"not reproduced":            {Prediction{Reasons: []InexactReason{RecordMismatch}, Runs: []CountedRun{reserves(1, 1, 0)}}, false, 0, 0, true, false},
		"the record itself":         {Prediction{Reasons: []InexactReason{RecordMismatch}, asRecorded: true, Runs: []CountedRun{reserves(1, 1, 0)}}, true, 1, 1, false, false},
		"the record contradicts":    {Prediction{asRecorded: true, Outcome: play.Outcome{Statistics: play.Statistics{PeakReserved: 4, PeakAllocated: 5}}}, false, 0, 0, true, false},
		"the record has all":        {Prediction{asRecorded: true, Outcome: play.Outcome{Statistics: play.Statistics{PeakReserved: 5, PeakAllocated: 5}}, Runs: []CountedRun{reserves(5, 5, 0)}}, true, 5, 5, false, false},
		"a prediction may be so":    {Prediction{Outcome: play.Outcome{Statistics: play.Statistics{PeakReserved: 4, PeakAllocated: 5}}, Runs: []CountedRun{reserves(4, 4, 0)}}, true, 4, 4, false, false},
		"another reason is no harm": {Prediction{Reasons: []InexactReason{DriverAddresses}, Runs: []CountedRun{reserves(1, 1, 0)}}, true, 1, 1, false, false},
	} {
		p := &test.p
		r, open := p.PeakReservedRange()
		if p.Told() != test.told || r.Low != test.low || r.High != test.high || open != test.open || p.UpToLimit() != test.upToOpen {
			t.Errorf("%s: told %v, from %d to %d, open %v, up to a limit %v", what, p.Told(), r.Low, r.High, open, p.UpToLimit())
		}
		if f := p.Figures(); f.Reserved != r || f.Open != open {
			t.Errorf("%s: %+v", what, f)
		}
	}
}

// TestMostUnder: a device gives no more than it has, and expandable segments pass a fraction by less than a page.
func TestMostUnder(t *testing.T) {
	fixed, expandable := history.DefaultSettings(), other(t, "expandable_segments:True")
	beyond := BeyondLimit(expandable)
	if beyond != 18*mib || BeyondLimit(fixed) != 0 {
		t.Errorf("%d, %d", beyond, BeyondLimit(fixed))
	}
	two, odd := expandable, expandable
	two.Config.LargeSegmentSize, odd.Config.LargeSegmentSize = spec.DefaultGeometry().RoundLarge, 3*mib
	if BeyondLimit(two) != 1 || BeyondLimit(odd) != 3*mib {
		t.Errorf("%d, %d", BeyondLimit(two), BeyondLimit(odd))
	}
	for _, test := range []struct {
		fraction, device uint64
		s                history.Settings
		want             uint64
	}{
		{0, 0, fixed, 0}, {100 * mib, 0, fixed, 100 * mib}, {0, 90 * mib, fixed, 90 * mib}, {100 * mib, 90 * mib, fixed, 90 * mib}, {90 * mib, 100 * mib, fixed, 90 * mib},
		{0, 0, expandable, 0}, {90 * mib, 0, expandable, 108 * mib}, {90 * mib, 100 * mib, expandable, 100 * mib}, {90 * mib, 109 * mib, expandable, 108 * mib}, {90 * mib, 108 * mib, expandable, 108 * mib},
	} {
		if got := mostUnder(history.Reading{Limits: history.Limits{Fraction: test.fraction, Device: test.device}}, test.s); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
}

// TestSameOutcome: statistics and the request that failed; what is at the end counts if the program goes on.
func TestSameOutcome(t *testing.T) {
	plain := func() play.Outcome { return play.Outcome{Statistics: play.Statistics{PeakReserved: 5}} }
	failed := func(request int) play.Outcome {
		o := plain()
		o.FirstOOM = &play.OutOfMemory{Request: request}
		return o
	}
	reserved, end := plain(), plain()
	reserved.PeakReserved, end.AtEnd.PeakReserved = 6, 6
	for what, test := range map[string]struct {
		a, b               play.Outcome
		same, sameIfItGoes bool
	}{
		"the same":        {plain(), plain(), true, true},
		"more reserved":   {plain(), reserved, false, false},
		"more at the end": {plain(), end, true, false},
		"one fails":       {plain(), failed(3), false, false},
		"the other fails": {failed(3), plain(), false, false},
		"both fail":       {failed(3), failed(3), true, true},
		"elsewhere":       {failed(3), failed(4), false, false},
	} {
		if got, goes := sameOutcome(&test.a, &test.b, false), sameOutcome(&test.a, &test.b, true); got != test.same || goes != test.sameIfItGoes {
			t.Errorf("%s: %v, %v", what, got, goes)
		}
	}
}

// TestRanked: the order of predictions, by name; equals keep theirs.
func TestRanked(t *testing.T) {
	named := func(name string, change func(*Prediction)) Prediction {
		p := Prediction{Settings: history.Settings{Text: name}, Runs: make([]CountedRun, 2)}
		p.PeakReserved = 10
		change(&p)
		return p
	}
	fails := func(at, runs int) func(*Prediction) {
		return func(p *Prediction) {
			p.FirstOOM = &play.OutOfMemory{Number: at}
			for i := range runs {
				p.Runs[i] = ran("", at, 0)
			}
		}
	}
	c := &Comparison{Predictions: []Prediction{
		named("cannot", func(p *Prediction) { p.Err = errors.New("no") }),
		named("fails early", fails(3, 2)),
		named("fails late", fails(9, 2)),
		named("fails at times", fails(3, 1)),
		named("retries", func(p *Prediction) { p.Retries, p.PeakReserved = 1, 5 }),
		named("with fraction", func(p *Prediction) { p.Fraction = 7 }),
		named("first", func(*Prediction) {}),
		named("second", func(*Prediction) {}),
		named("reserves less", func(p *Prediction) { p.PeakReserved = 9 }),
		named("of four one fails", func(p *Prediction) {
			p.Runs = make([]CountedRun, 4)
			fails(3, 1)(p)
		}),
	}}
	var names []string
	for _, p := range c.Ranked() {
		names = append(names, p.Settings.Text)
	}
	want := "reserves less, first, second, with fraction, retries, of four one fails, fails at times, fails late, fails early, cannot"
	if got := strings.Join(names, ", "); got != want {
		t.Errorf("%s, not %s", got, want)
	}
	if (&Prediction{}).OOMRequest() != 0 || c.Predictions[2].OOMRequest() != 9 {
		t.Error("the number of the request")
	}
	for text, want := range map[string]int{"": 0, "a:1": 1, "a:1,b:2": 2, "a:1,b:2,c:3": 3} {
		p := Prediction{Settings: history.Settings{Text: text}}
		with := p
		with.Fraction = 5
		if p.NumSettings() != want || with.NumSettings() != want+1 {
			t.Errorf("%q: %d, %d", text, p.NumSettings(), with.NumSettings())
		}
	}
}

// TestCurrent: the prediction for the recorded settings, or else for the default ones.
func TestCurrent(t *testing.T) {
	now, usual, third := other(t, "max_split_size_mb:40"), history.DefaultSettings(), other(t, "expandable_segments:True")
	for what, test := range map[string]struct {
		predictions []Prediction
		want        int // -1: none
	}{
		"none":                  {nil, -1},
		"another":               {[]Prediction{{Settings: third}}, -1},
		"the usual ones":        {[]Prediction{{Settings: third}, {Settings: usual}}, 1},
		"its own":               {[]Prediction{{Settings: usual}, {Settings: third}, {Settings: now}}, 2},
		"not with a fraction":   {[]Prediction{{Settings: now, Fraction: 5}, {Settings: usual}}, 1},
		"not under the newest":  {[]Prediction{{Settings: now, Release: "2.15"}, {Settings: now}}, 1},
		"its own under another": {[]Prediction{{Settings: now, Release: "2.15"}}, -1},
	} {
		c := &Comparison{Workload: &history.Workload{Settings: now}, Predictions: test.predictions}
		got := c.Current()
		if (got == nil) != (test.want < 0) || got != nil && got != &c.Predictions[test.want] {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// TestEligible: what cannot be, has no effect, or is of another release is not advised.
func TestEligible(t *testing.T) {
	garbage, expandable := other(t, "garbage_collection_threshold:0.6"), other(t, "expandable_segments:True")
	fraction := func(kind history.LimitKind) func(*Comparison) {
		return func(c *Comparison) {
			c.Workload.Limit.Kind, c.Readings = kind, []history.Reading{{}, {Limits: history.Limits{Fraction: 5}}}
		}
	}
	noExpandable := func(c *Comparison) { c.Workload.Marks.NoExpandable = "CUDA IPC" }
	for what, test := range map[string]struct {
		p      Prediction
		change func(*Comparison)
		want   bool
	}{
		"settings":                            {Prediction{Settings: expandable}, nil, true},
		"not possible":                        {Prediction{Settings: expandable, Err: errors.New("no")}, nil, false},
		"another release":                     {Prediction{Settings: expandable, Release: upstream.Newest().Name}, nil, false},
		"it cannot be":                        {Prediction{Settings: expandable}, noExpandable, false},
		"it cannot be, and is":                {Prediction{Settings: expandable}, func(c *Comparison) { noExpandable(c); c.Workload.Settings = expandable }, true},
		"others can be":                       {Prediction{Settings: garbage, Fraction: 5}, noExpandable, true},
		"without a fraction":                  {Prediction{Settings: garbage}, nil, false},
		"with one":                            {Prediction{Settings: garbage, Fraction: 5}, nil, true},
		"the record has one":                  {Prediction{Settings: garbage}, fraction(history.FractionLimit), true},
		"the record may have one":             {Prediction{Settings: garbage}, fraction(history.UnknownLimit), false},
		"as recorded":                         {Prediction{Settings: garbage, Recorded: true}, nil, true},
		"the present ones, without an effect": {Prediction{Settings: garbage}, func(c *Comparison) { c.Workload.Settings = garbage }, true},
	} {
		c := &Comparison{Workload: &history.Workload{Settings: history.DefaultSettings()}, Readings: []history.Reading{{}}, Predictions: []Prediction{test.p}}
		if test.change != nil {
			test.change(c)
		}
		if got := c.eligible(&c.Predictions[0]); got != test.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// TestAsksForLimit: where it is not known, and decides about the present or the advised settings.
func TestAsksForLimit(t *testing.T) {
	measured := play.MeasuredDriver.Name
	open := Prediction{Settings: history.DefaultSettings(), Runs: []CountedRun{ran(measured, 1, 10), ran(measured, 0, 20)}}
	plain := Prediction{Settings: history.DefaultSettings(), Runs: []CountedRun{ran(measured, 1, 10), ran(measured, 1, 20)}, Outcome: play.Outcome{FirstOOM: &play.OutOfMemory{}}}
	advised := Prediction{Settings: other(t, "expandable_segments:True"), Runs: []CountedRun{ran(measured, 1, 10), ran(measured, 0, 20)}, fits: 20}
	broken := open
	broken.Err = errors.New("no")
	for what, test := range map[string]struct {
		predictions []Prediction
		change      func(*Comparison)
		want        bool
	}{
		"it decides":                  {[]Prediction{open}, nil, true},
		"it does not":                 {[]Prediction{plain}, nil, false},
		"it decides about the others": {[]Prediction{plain, advised}, nil, true},
		"no prediction":               {nil, nil, false},
		"not possible":                {[]Prediction{broken}, nil, false},
		"given":                       {[]Prediction{open}, func(c *Comparison) { c.Given = true }, false},
		"nothing failed":              {[]Prediction{open}, func(c *Comparison) { c.Workload.Unrecorded.OOMs = 0 }, false},
		"known":                       {[]Prediction{open}, func(c *Comparison) { c.Workload.Limit.Most = 10 }, false},
		"a full device":               {[]Prediction{open}, func(c *Comparison) { c.Workload.Limit.Kind = history.DeviceLimit }, false},
	} {
		c := compared(history.FractionLimit, []uint64{10, 20}, test.predictions...)
		c.Workload.Unrecorded.OOMs = 1
		if test.change != nil {
			test.change(c)
		}
		if got := c.AsksForLimit(); got != test.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}
