package whatif

import (
	"fmt"
	"runtime"
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
	"gaugeblock/tests/replay"
)

// Options says what to try.
type Options struct {
	Settings []string // PYTORCH_ALLOC_CONF strings; nil: Candidates, and what the run had
	Limit    uint64   // bytes that may be held from the driver; 0 for no limit
	Search   bool     // find the smallest limit that each survives
	Jobs     int      // runs at a time; 0: as many as there are processors
	Progress func(done, total int)
}

// Study is what came of trying settings on a history.
type Study struct {
	History *History
	Limit   uint64
	// Agreement says whether the recorded run comes out as it was recorded.
	Agreement Agreement
	Rows      []Row // in the order of the settings
	// Needed is the smallest limit that the settings of Choice survive, if no
	// settings survive Limit; else 0.
	Needed uint64
}

// Row is what came of one setting.
type Row struct {
	Settings string
	Limit    uint64
	Outcome          // as recorded, or else under the measured driver with everything else as recorded
	Range    Range   // of PeakReserved, over all models that count
	Doubts   []Doubt // why it may be otherwise; none: it is exact
	Recorded bool    // these are the settings and the limit of the recorded run
	Smallest *Range  // limit that is survived, if it was looked for
	Runs     int     // how many models were run
	Failing  int     // under how many of them a request fails
}

// Range is from Low to High, in bytes.
type Range struct{ Low, High uint64 }

func (r *Range) include(n uint64) {
	if r.High == 0 {
		r.Low, r.High = n, n
	}
	r.Low, r.High = min(r.Low, n), max(r.High, n)
}

// Exact reports whether the figures are certain, given that the program asks for the
// same.
func (r *Row) Exact() bool { return len(r.Doubts) == 0 }

// Fragmentation is the share of the memory held at the peak that was not given out
// at the peak.
func (r *Row) Fragmentation() float64 {
	if r.PeakReserved == 0 {
		return 0
	}
	return 1 - float64(min(r.PeakAllocated, r.PeakReserved))/float64(r.PeakReserved)
}

// Try runs a history under settings.
func Try(h *History, o Options) (*Study, error) {
	if o.Settings == nil {
		o.Settings = h.candidates(o.Limit > 0)
	}
	for _, s := range o.Settings {
		if err := CheckSettings(s); err != nil {
			return nil, err
		}
	}
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	t := &trial{Study: Study{History: h, Limit: o.Limit}, options: o}
	t.Agreement, t.recorded = runAsRecorded(h)
	for _, s := range o.Settings {
		t.Rows = append(t.Rows, Row{Settings: s, Limit: o.Limit, Recorded: t.asRecorded(s)})
	}
	if err := t.runAll(); err != nil {
		return nil, err
	}
	return &t.Study, nil
}

// candidates are the usual settings, preceded by those of the recorded run.
func (h *History) candidates(limited bool) []string {
	settings := Candidates(limited)
	recorded := h.settings()
	for _, s := range settings {
		if sameSettings(s, recorded) {
			return settings
		}
	}
	if CheckSettings(recorded) != nil {
		return settings
	}
	return append([]string{recorded}, settings...)
}

func sameSettings(a, b string) bool {
	g := spec.DefaultGeometry()
	first, err1 := settings.Parse(a, g)
	second, err2 := settings.Parse(b, g)
	return err1 == nil && err2 == nil && settings.Format(first, g) == settings.Format(second, g)
}

// trial is a study under way.
type trial struct {
	Study
	options  Options
	recorded Outcome // of the recorded run
	done     int
	total    int
}

// asRecorded reports whether these are the circumstances of the recorded run.
func (t *trial) asRecorded(settings string) bool {
	return sameSettings(settings, t.History.settings()) && t.History.Limit.Allows(t.options.Limit)
}

// job is a run to be made for a row.
type job struct {
	row   int
	model Model
}

// result is what came of it.
type result struct {
	job
	outcome Outcome
	err     error
}

// runAll makes the runs: for every setting those of the models that count, and where
// these do not agree those of all others, so that the range is wide enough.
func (t *trial) runAll() error {
	models := slices.Clone(credible)
	if t.History.Unknown.Held > 0 {
		models = append(models, eventModels...)
	}
	if len(t.History.Pools) > 0 {
		models = append(models, noPools)
	}
	if !t.History.Whole() {
		models = append(models, packedStart)
	}
	t.total = len(t.Rows) * (len(models) + len(absurd))
	if t.options.Search {
		t.total += len(t.Rows) * len(credible)
	}
	results, err := t.run(t.jobs(models, func(*Row) bool { return true }))
	if err != nil {
		return err
	}
	for i := range t.Rows {
		t.judge(&t.Rows[i], results[i*len(models):(i+1)*len(models)])
	}
	more := t.jobs(absurd, func(r *Row) bool { return r.doubts(ByAddress) })
	if results, err = t.run(more); err != nil {
		return err
	}
	for _, r := range results {
		t.Rows[r.row].count(&r.outcome)
	}
	if choice := t.Choice(); choice.First != nil {
		t.Needed, err = smallestLimit(t.History, choice.Settings, measured, t.History.leastPeak())
	}
	if err == nil && t.options.Search {
		err = t.searchAll()
	}
	t.advance(t.total - t.done)
	return err
}

func (t *trial) jobs(models []Model, wanted func(*Row) bool) []job {
	var jobs []job
	for i := range t.Rows {
		if !wanted(&t.Rows[i]) {
			continue
		}
		for _, m := range models {
			jobs = append(jobs, job{i, m})
		}
	}
	return jobs
}

// run makes runs in parallel and gives their results in order.
func (t *trial) run(jobs []job) ([]result, error) {
	var results []result
	var failure error
	replay.InOrder(jobs, t.options.Jobs, func(j job) result {
		r := &t.Rows[j.row]
		outcome, err := Run(t.History, Setup{Settings: r.Settings, Limit: r.Limit, Model: j.model})
		return result{j, outcome, err}
	}, func(r result) {
		if r.err != nil && failure == nil {
			failure = fmt.Errorf("%s, %s: %w", NameOf(t.Rows[r.row].Settings), r.model.Name, r.err)
		}
		results = append(results, r)
		t.advance(1)
	})
	return results, failure
}

func (t *trial) advance(by int) {
	t.done += by
	if t.options.Progress != nil {
		t.options.Progress(t.done, t.total)
	}
}

// NameOf is what people call settings.
func NameOf(settings string) string {
	if settings == "" {
		return "default"
	}
	return settings
}
