package whatif

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
	"gaugeblock/tools/replay"
)

// Options says what to compare.
type Options struct {
	Settings []string // values of PYTORCH_ALLOC_CONF; nil: those that the version of PyTorch knows of Candidates, and those of the recorded run
	// AsRecorded assumes the limits that the recorded run had. Where the record leaves
	// open what they were, all possible ones are compared.
	AsRecorded   bool
	Limit        uint64 // a memory fraction, in bytes; 0 for none. Not with AsRecorded
	DeviceMemory uint64 // what the driver has for the process, in bytes; 0 for enough. Not with AsRecorded
	Present      bool   // compare also the settings of the recorded run, for the verdict
	SearchLimit  bool   // find the smallest limit under which each of the settings has no OOM
	Jobs         int    // parallel runs; 0: one for each processor
	MaxMemory    uint64 // of the process, in bytes; 0 for no bound. Compare fails with a *replay.ExcessError if one run at a time needs more
	Progress     func(done, total int)
}

// Comparison predicts a workload under several allocator settings.
type Comparison struct {
	Workload     *Workload
	Limit        uint64       // the assumed limit on reserved memory, in bytes; 0 for no limit
	Verification Verification // of the recorded run
	Predictions  []Prediction // in the order of Options.Settings
	LimitSearch  bool         // the predictions have a SmallestLimit
	// NeededLimit is the smallest limit under which the best settings have no OOM, if
	// they have one under Limit; else 0. NeededNow is that of the present settings.
	NeededLimit, NeededNow uint64

	readings []Reading // of the limit, the likeliest first
	given    bool      // the limit was given, and is not that of the record
}

// Prediction is the outcome of a workload under one value of the settings.
type Prediction struct {
	Settings string // PYTORCH_ALLOC_CONF
	Limit    uint64
	// Fraction is a memory fraction, in bytes, that is to be set beside the settings,
	// and was not set in the recorded run; 0 for none.
	Fraction uint64
	// Outcome is that of the recorded run, or of a run with the addresses of the
	// measured driver and everything else as recorded.
	Outcome
	PeakReservedRange Range           // over all runs
	OpenEnd           bool            // there is no upper bound: the program may request more
	InexactReasons    []InexactReason // none: the statistics are exact
	Differences       []string        // the reasons in words
	Recorded          bool            // the settings and the limit are those of the recorded run
	SmallestLimit     *Range          // without an OOM; nil if it was not searched for
	Runs              int             // one for each of the assumptions
	OOMRuns           int             // those with an OOM
	Err               error           // why the requests cannot be repeated under the settings
	reachesLimit      bool            // some run does
	limitDecides      bool            // the record leaves open what the limit was, and it decides whether there is an OOM
	fits              uint64          // then the smallest limit without an OOM
	fitting           *Outcome        // then the outcome under the smallest limit of those compared that is enough
	fittingReading    int             // its index into Comparison.readings
	recordedRange     Range           // of peak reserved, as far as the record goes
	fittingRange      Range           // the same of the runs without an OOM
	unknownEnd        bool            // after that the program may reserve more, up to the limit
	notAsked          bool            // only Options.Present asked for it
	limitErr          error           // why the smallest limit was not found
}

// Range is from Low to High, in bytes.
type Range struct {
	Low, High uint64
	some      bool // something is included
}

func (r *Range) include(n uint64) {
	if !r.some {
		r.Low, r.High, r.some = n, n, true
	}
	r.Low, r.High = min(r.Low, n), max(r.High, n)
}

// Exact reports whether the statistics are certain, provided that the program makes the
// same requests.
func (p *Prediction) Exact() bool { return len(p.InexactReasons) == 0 }

// Unallocated is the share of PeakReserved that PeakAllocated leaves, 0 to 1: reserved
// but unallocated memory.
func (p *Prediction) Unallocated() float64 {
	return unallocated(&p.Statistics)
}

func unallocated(s *Statistics) float64 {
	if s.PeakReserved == 0 {
		return 0
	}
	return 1 - float64(min(s.PeakAllocated, s.PeakReserved))/float64(s.PeakReserved)
}

// Compare predicts a workload under each of the settings.
func Compare(w *Workload, o Options) (*Comparison, error) {
	bounded := *w
	c, err := compareWithin(&bounded, o)
	if c != nil {
		c.Workload = w
	}
	return c, err
}

func compare(w *Workload, o Options) (*Comparison, error) {
	w.memory = &memoryBound{limit: o.MaxMemory}
	c := &comparing{Comparison: Comparison{Workload: w, LimitSearch: o.SearchLimit, given: !o.AsRecorded}, options: o}
	c.readings = w.readings()
	if !o.AsRecorded {
		c.readings = w.givenReadings(Limits{Fraction: o.Limit, Device: o.DeviceMemory})
	}
	c.readings = withDrift(c.readings)
	c.Limit = c.readings[0].Bytes()
	if o.Settings == nil {
		c.options.Settings = w.candidates(c.Limit > 0)
	}
	for _, s := range c.options.Settings {
		if err := CheckSettings(s); err != nil {
			return nil, err
		}
	}
	if o.Jobs <= 0 {
		c.options.Jobs = runtime.GOMAXPROCS(0)
	}
	c.Verification, c.recordedOutcome = runAsRecorded(w, c.readings[0])
	for _, s := range c.options.Settings {
		c.Predictions = append(c.Predictions, c.prediction(s))
	}
	if now := w.recordedSettings(); o.Present && c.current() == nil && CheckSettings(now) == nil {
		p := c.prediction(now)
		p.notAsked = true
		c.Predictions = append(c.Predictions, p)
	}
	c.addFractions()
	err := c.runAll()
	if err := cmp.Or(w.memory.err(), err); err != nil {
		return nil, err
	}
	return &c.Comparison, nil
}

// prediction is one that is still to be made.
func (c *comparing) prediction(settings string) Prediction {
	w, o := c.Workload, &c.options
	limits := o.AsRecorded || o.DeviceMemory == 0 && w.Limit.Allows(o.Limit)
	return Prediction{Settings: settings, Limit: c.Limit, Recorded: limits && sameSettings(settings, w.recordedSettings())}
}

// asRecorded reports whether the limits are those of the record.
func (c *comparing) asRecorded() bool { return c.options.AsRecorded }

// givenReadings are the readings if limits are given. What the record leaves open of
// empty_cache is read both ways, unless the limit may have been that of the recorded run.
func (w *Workload) givenReadings(l Limits) []Reading {
	emptied := !w.Limit.Refused() || w.likelyEmptied()
	if w.Limit.Refused() && l.Bytes() > 0 && w.Limit.Allows(l.Bytes()) {
		emptied = false
	}
	list := []Reading{{Limits: l, EmptyCache: emptied}}
	if w.Unrecorded.DoubtfulFrees > 0 && !w.Limit.Allows(l.Bytes()) {
		list = append(list, Reading{Limits: l, EmptyCache: !emptied})
	}
	return list
}

// addFractions adds predictions with a memory fraction, for settings without effect
// unless there is one, if the record has none.
func (c *comparing) addFractions() {
	if c.given || c.Limit == 0 || c.Workload.Limit.Kind == FractionLimit {
		return
	}
	for _, s := range c.options.Settings {
		if needsFraction(s) {
			c.Predictions = append(c.Predictions, Prediction{Settings: s, Limit: c.Limit, Fraction: c.Limit})
		}
	}
}

// needsFraction reports whether a part of the settings has no effect without a memory
// fraction: garbage is collected only under one.
func needsFraction(text string) bool {
	c, err := settings.Parse(text, spec.DefaultGeometry())
	return err == nil && c.GarbageCollectionThreshold > 0
}

// candidates are Candidates, preceded by the settings of the recorded run.
func (w *Workload) candidates(limited bool) []string {
	settings := slices.DeleteFunc(Candidates(limited), func(s string) bool { return !knownTo(w.Version, s) })
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
	reading     int // index into Comparison.readings
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
	c.total += len(c.Predictions) * (len(c.readings) - 1)
	all := func(*Prediction) bool { return true }
	jobs := c.jobs(assumptions, 0, all)
	for i := 1; i < len(c.readings); i++ {
		jobs = append(jobs, c.jobs([]Assumptions{measuredDriver}, i, all)...)
	}
	results := c.run(jobs)
	for i := range c.Predictions {
		p := &c.Predictions[i]
		c.predict(p, results[p])
	}
	addressesMatter := func(p *Prediction) bool { return slices.Contains(p.InexactReasons, DriverAddresses) }
	for p, extremes := range c.run(c.jobs(extremeDrivers, 0, addressesMatter)) {
		for i := range extremes {
			if extremes[i].err == nil {
				c.count(p, &extremes[i])
			}
		}
	}
	if err := c.findNeededLimits(); err != nil {
		return err
	}
	if c.options.SearchLimit {
		c.searchLimits()
	}
	c.advance(c.total - c.done)
	return nil
}

// findNeededLimits looks for the limits under which the best settings and the present ones
// have no OOM, if they have one.
func (c *comparing) findNeededLimits() (err error) {
	if best := c.Ranked()[0]; best.Err == nil && best.FirstOOM != nil {
		c.NeededLimit, err = smallestLimit(c.Workload, best.Settings, measuredDriver, c.limitReading())
	}
	for i := range c.Predictions {
		if p := &c.Predictions[i]; err == nil && p.Err == nil && p.limitDecides {
			p.fits, err = smallestLimit(c.Workload, p.Settings, measuredDriver, c.limitReading())
		}
	}
	if now := c.current(); err == nil && now != nil && now.Err == nil && now.FirstOOM != nil {
		c.NeededNow, err = smallestLimit(c.Workload, now.Settings, measuredDriver, c.limitReading())
	}
	return err
}

// apply reports whether assumptions apply to a prediction. The recorded addresses are
// plausible up to the first difference from the recorded run, so under its settings; when
// garbage is collected does not matter before that.
func (c *comparing) apply(a Assumptions, p *Prediction) bool {
	if !a.RecordedAddresses {
		return true
	}
	config, err := settings.Parse(p.Settings, spec.DefaultGeometry())
	config.GarbageCollectionThreshold = c.Workload.Config.GarbageCollectionThreshold
	return err == nil && c.Workload.Complete() && sameSettings(settings.Format(config, spec.DefaultGeometry()), c.Workload.recordedSettings())
}

// limitReading is a reading with a limit, if there is one.
func (c *Comparison) limitReading() Reading {
	for _, r := range c.readings {
		if r.Bytes() > 0 {
			return r
		}
	}
	return c.readings[0]
}

func (c *comparing) jobs(assumptions []Assumptions, reading int, wanted func(*Prediction) bool) []runJob {
	var jobs []runJob
	for i := range c.Predictions {
		for _, a := range assumptions {
			if p := &c.Predictions[i]; wanted(p) && c.apply(a, p) {
				jobs = append(jobs, runJob{p, a, reading})
			}
		}
	}
	return jobs
}

// run makes runs in parallel and returns them by their prediction. That a run cannot be
// made is a result, too.
func (c *comparing) run(jobs []runJob) map[*Prediction]runs {
	results := map[*Prediction]runs{}
	replay.InOrder(jobs, c.options.Jobs, func(j runJob) runResult {
		reading := c.readings[j.reading]
		if j.prediction.Fraction > 0 {
			reading.Fraction = j.prediction.Fraction
		}
		outcome, err := Run(c.Workload, RunOptions{Settings: j.prediction.Settings, Reading: reading, Assumptions: j.assumptions})
		if err != nil {
			err = fmt.Errorf("%s: %w", j.assumptions.Name, err)
		}
		return runResult{j, outcome, err}
	}, func(r runResult) {
		results[r.prediction] = append(results[r.prediction], r)
		c.advance(1)
	})
	return results
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
