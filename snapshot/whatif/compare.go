package whatif

import (
	"fmt"
	"runtime"
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
	"gaugeblock/tests/replay"
)

// Options says what to compare.
type Options struct {
	Settings    []string // values of PYTORCH_ALLOC_CONF; nil: Candidates, and those of the recorded run
	Limit       uint64   // on reserved memory, in bytes; 0 for no limit
	SearchLimit bool     // find the smallest limit under which each of the settings has no OOM
	Jobs        int      // parallel runs; 0: one for each processor
	Progress    func(done, total int)
}

// Comparison predicts a workload under several allocator settings.
type Comparison struct {
	Workload     *Workload
	Limit        uint64       // on reserved memory, in bytes; 0 for no limit
	Verification Verification // of the recorded run
	Predictions  []Prediction // in the order of Options.Settings
	LimitSearch  bool         // the predictions have a SmallestLimit
	// NeededLimit is the smallest limit under which the recommended settings have no
	// OOM, if they have one under Limit; else 0.
	NeededLimit uint64
}

// Prediction is the outcome of a workload under one value of the settings.
type Prediction struct {
	Settings string // PYTORCH_ALLOC_CONF
	Limit    uint64
	// Outcome is that of the recorded run, or of a run with the addresses of the
	// measured driver and everything else as recorded.
	Outcome
	PeakReservedRange Range           // over all runs
	InexactReasons    []InexactReason // none: the statistics are exact
	Recorded          bool            // the settings and the limit are those of the recorded run
	SmallestLimit     *Range          // without an OOM; nil if it was not searched for
	Runs              int             // one for each of the assumptions
	OOMRuns           int             // those with an OOM
}

// Range is from Low to High, in bytes.
type Range struct{ Low, High uint64 }

func (r *Range) include(n uint64) {
	if r.High == 0 {
		r.Low, r.High = n, n
	}
	r.Low, r.High = min(r.Low, n), max(r.High, n)
}

// Exact reports whether the statistics are certain, provided that the program makes the
// same requests.
func (p *Prediction) Exact() bool { return len(p.InexactReasons) == 0 }

// Unallocated is the share of PeakReserved that PeakAllocated leaves, 0 to 1: reserved
// but unallocated memory.
func (p *Prediction) Unallocated() float64 {
	if p.PeakReserved == 0 {
		return 0
	}
	return 1 - float64(min(p.PeakAllocated, p.PeakReserved))/float64(p.PeakReserved)
}

// Compare predicts a workload under each of the settings.
func Compare(w *Workload, o Options) (*Comparison, error) {
	if o.Settings == nil {
		o.Settings = w.candidates(o.Limit > 0)
	}
	for _, s := range o.Settings {
		if err := CheckSettings(s); err != nil {
			return nil, err
		}
	}
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	c := &comparing{Comparison: Comparison{Workload: w, Limit: o.Limit, LimitSearch: o.SearchLimit}, options: o}
	c.Verification, c.recordedOutcome = runAsRecorded(w)
	for _, s := range o.Settings {
		recorded := sameSettings(s, w.recordedSettings()) && w.Limit.Allows(o.Limit)
		c.Predictions = append(c.Predictions, Prediction{Settings: s, Limit: o.Limit, Recorded: recorded})
	}
	if err := c.runAll(); err != nil {
		return nil, err
	}
	return &c.Comparison, nil
}

// candidates are Candidates, preceded by the settings of the recorded run.
func (w *Workload) candidates(limited bool) []string {
	settings := Candidates(limited)
	recorded := w.recordedSettings()
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

// comparing is a comparison that is not finished.
type comparing struct {
	Comparison
	options         Options
	recordedOutcome Outcome
	done, total     int // runs
}

// runJob is a run to be made for a prediction.
type runJob struct {
	prediction  *Prediction
	assumptions Assumptions
}

// runResult is its outcome.
type runResult struct {
	runJob
	outcome Outcome
	err     error
}

// runAll makes the runs: for all predictions those under assumptions that may well be
// true, and where the plausible drivers do not agree those with extreme drivers.
func (c *comparing) runAll() error {
	assumptions := slices.Clone(plausibleDrivers)
	if c.Workload.Unrecorded.PendingFrees > 0 {
		assumptions = append(assumptions, streamDelays...)
	}
	if len(c.Workload.PrivatePools) > 0 {
		assumptions = append(assumptions, noPrivatePools)
	}
	if !c.Workload.Complete() {
		assumptions = append(assumptions, packedStart)
	}
	c.total = len(c.Predictions) * (len(assumptions) + len(extremeDrivers))
	if c.options.SearchLimit {
		c.total += len(c.Predictions) * len(plausibleDrivers)
	}
	results, err := c.run(c.jobs(assumptions, func(*Prediction) bool { return true }))
	if err != nil {
		return err
	}
	for i := range c.Predictions {
		p := &c.Predictions[i]
		c.predict(p, results[p])
	}
	addressesMatter := func(p *Prediction) bool { return slices.Contains(p.InexactReasons, DriverAddresses) }
	if results, err = c.run(c.jobs(extremeDrivers, addressesMatter)); err != nil {
		return err
	}
	for p, extremes := range results {
		for i := range extremes {
			p.count(&extremes[i].outcome)
		}
	}
	if best := c.Recommended(); best.FirstOOM != nil {
		c.NeededLimit, err = smallestLimit(c.Workload, best.Settings, measuredDriver)
	}
	if err == nil && c.options.SearchLimit {
		err = c.searchLimits()
	}
	c.advance(c.total - c.done)
	return err
}

func (c *comparing) jobs(assumptions []Assumptions, wanted func(*Prediction) bool) []runJob {
	var jobs []runJob
	for i := range c.Predictions {
		for _, a := range assumptions {
			if p := &c.Predictions[i]; wanted(p) {
				jobs = append(jobs, runJob{p, a})
			}
		}
	}
	return jobs
}

// run makes runs in parallel and returns them by their prediction. The error is that of the first job that fails.
func (c *comparing) run(jobs []runJob) (map[*Prediction]runs, error) {
	results := map[*Prediction]runs{}
	var failure error
	replay.InOrder(jobs, c.options.Jobs, func(j runJob) runResult {
		outcome, err := Run(c.Workload, RunOptions{Settings: j.prediction.Settings, Limit: j.prediction.Limit, Assumptions: j.assumptions})
		return runResult{j, outcome, err}
	}, func(r runResult) {
		if r.err != nil && failure == nil {
			failure = fmt.Errorf("%s, %s: %w", NameOf(r.prediction.Settings), r.assumptions.Name, r.err)
		}
		results[r.prediction] = append(results[r.prediction], r)
		c.advance(1)
	})
	return results, failure
}

func (c *comparing) advance(by int) {
	c.done += by
	if c.options.Progress != nil {
		c.options.Progress(c.done, c.total)
	}
}

// NameOf is a name for settings: "default" for the empty string.
func NameOf(settings string) string {
	if settings == "" {
		return "default"
	}
	return settings
}
