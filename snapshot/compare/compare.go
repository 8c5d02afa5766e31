package compare

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	"gaugeblock/internal/inorder"
	"gaugeblock/internal/memlimit"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
	"gaugeblock/upstream"
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
	MaxMemory    uint64 // of the process, in bytes; 0 for no bound. Compare fails with a *memlimit.ExcessError if one run at a time needs more
	Progress     func(done, total int)
}

// Comparison predicts a workload under several allocator settings.
type Comparison struct {
	Workload     *history.Workload
	Limit        uint64            // the assumed limit on reserved memory, in bytes; 0 for no limit
	Verification play.Verification // of the recorded run
	Predictions  []Prediction      // in the order of Options.Settings
	LimitSearch  bool              // the predictions have a SmallestLimit
	// NeededLimit is the smallest limit under which the best settings have no OOM, if
	// they have one under Limit; else 0. NeededNow is that of the present settings.
	NeededLimit, NeededNow uint64

	Readings []history.Reading // of the limit, the likeliest first
	Given    bool              // the limit was given, and is not that of the record
}

// Compare predicts a workload under each of the settings.
func Compare(w *history.Workload, o Options) (*Comparison, error) {
	memory := bound(o.MaxMemory)
	c, err := compare(w, o, memory)
	if memory.Err() != nil && o.Jobs != 1 { // one run after the other takes less
		c = nil
		runtime.GC() // the budget looks at what was found in use last
		o.Jobs = 1
		return compare(w, o, bound(o.MaxMemory))
	}
	return c, err
}

// bound is nil if there is none.
func bound(bytes uint64) *memlimit.Budget {
	if bytes == 0 {
		return nil
	}
	return memlimit.New(bytes)
}

func compare(w *history.Workload, o Options, memory *memlimit.Budget) (*Comparison, error) {
	c := &comparing{Comparison: Comparison{Workload: w, LimitSearch: o.SearchLimit, Given: !o.AsRecorded}, options: o, memory: memory}
	c.Readings = w.Readings()
	if !o.AsRecorded {
		c.Readings = w.GivenReadings(history.Limits{Fraction: o.Limit, Device: o.DeviceMemory})
	}
	c.Readings = withDrift(c.Readings)
	c.Limit = c.Readings[0].Bytes()
	wanted, err := c.wanted()
	if err != nil {
		return nil, err
	}
	if o.Jobs <= 0 {
		c.options.Jobs = runtime.GOMAXPROCS(0)
	}
	c.Verification, c.recordedOutcome = play.RunAsRecorded(w, c.Readings[0], memory)
	for _, s := range wanted {
		c.Predictions = append(c.Predictions, c.prediction(s))
	}
	if o.Present && c.Current() == nil && w.Settings.Comparable() == nil {
		p := c.prediction(w.Settings)
		p.Asked = false
		c.Predictions = append(c.Predictions, p)
	}
	c.addFractions(wanted)
	c.addNewest()
	err = c.runAll()
	if err := cmp.Or(memory.Err(), err); err != nil {
		return nil, err
	}
	return &c.Comparison, nil
}

// wanted are the settings to compare.
func (c *comparing) wanted() ([]history.Settings, error) {
	if c.options.Settings == nil {
		return candidatesFor(c.Workload, c.Limit > 0), nil
	}
	var list []history.Settings
	for _, text := range c.options.Settings {
		s, err := c.read(text)
		if err := cmp.Or(err, s.Comparable()); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// read reads settings as the release of the record does, or one of those that it may be of.
func (c *comparing) read(text string) (history.Settings, error) {
	s, err := history.ParseSettings(text, c.Workload.Release)
	for _, r := range c.Workload.Version.Releases() {
		if err != nil {
			if other, otherErr := history.ParseSettings(text, r); otherErr == nil {
				return other, nil
			}
		}
	}
	return s, err
}

// prediction is one that is still to be made.
func (c *comparing) prediction(s history.Settings) Prediction {
	w, o := c.Workload, &c.options
	limits := o.AsRecorded || o.DeviceMemory == 0 && w.Limit.Allows(o.Limit) && !c.addsFraction(s) &&
		(o.Limit == 0 || !w.Limit.Refused() || w.Limit.Kind == history.FractionLimit || BeyondLimit(s) == 0) && c.fractionIsFelt(s) == notFelt
	return Prediction{Settings: s, Asked: true, Recorded: limits && s.Same(w.Settings)}
}

// felt is whether a given memory fraction changes a run under the recorded settings that reserves no
// more than it allows.
type felt bool

const notFelt felt = false

// fractionIsFelt: garbage is collected by it, and expandable segments are refused pages that would
// fit, since it is compared with the size of a segment.
func (c *comparing) fractionIsFelt(s history.Settings) felt {
	b, limit := c.Workload.Limit, c.options.Limit
	switch {
	case c.options.AsRecorded || limit == 0 || b.Kind == history.FractionLimit && b.Known() && b.Least == limit:
		return notFelt
	case needsFraction(s):
		return true
	}
	return felt(BeyondLimit(s) > 0 && limit < b.OfFraction[0])
}

// addsFraction reports whether a memory fraction is given, of which the record does not tell that
// it had one, and settings have an effect only with one.
func (c *comparing) addsFraction(s history.Settings) bool {
	return c.Given && c.options.Limit > 0 && c.Workload.Limit.Kind != history.FractionLimit && needsFraction(s)
}

// addFractions adds predictions with a memory fraction, for settings without effect
// unless there is one, if the record has none.
func (c *comparing) addFractions(wanted []history.Settings) {
	if c.Given || c.Limit == 0 || c.Workload.Limit.Kind == history.FractionLimit {
		return
	}
	for _, s := range wanted {
		if needsFraction(s) {
			c.Predictions = append(c.Predictions, Prediction{Settings: s, Fraction: c.Limit, Asked: true})
		}
	}
}

// addNewest adds the present settings under the newest release, if the usual settings are
// compared and it decides otherwise.
func (c *comparing) addNewest() {
	newest := upstream.Newest()
	if c.options.Settings == nil && newest.Rules.Ties != c.Workload.Release.Rules.Ties {
		c.Predictions = append(c.Predictions, Prediction{Settings: c.Workload.Settings, Release: newest.Name, Asked: true})
	}
}

// needsFraction reports whether a part of the settings has no effect without a memory
// fraction: garbage is collected only under one.
func needsFraction(s history.Settings) bool { return s.Config.GarbageCollectionThreshold > 0 }

// comparing is a comparison that is not finished.
type comparing struct {
	Comparison
	options         Options
	memory          *memlimit.Budget
	recordedOutcome play.Outcome
	start           unknownStart
	done, total     int // runs
}

// runJob is a run to be made for a prediction.
type runJob struct {
	prediction  *Prediction
	assumptions play.Assumptions
	reading     int // index into Comparison.Readings
}

// runResult is its outcome.
type runResult struct {
	runJob
	outcome play.Outcome
	err     error
}

// runAll makes the runs: for all predictions those under assumptions that may well be
// true, and where the plausible drivers do not agree those with extreme drivers.
func (c *comparing) runAll() error {
	assumptions := slices.Clone(play.PlausibleDrivers)
	if c.Workload.Unrecorded.PendingFrees > 0 {
		assumptions = append(assumptions, play.StreamDelays...)
	}
	if len(c.Workload.PrivatePools) > 0 {
		assumptions = append(assumptions, play.NoPrivatePools)
	}
	if !c.Workload.Complete() {
		assumptions = append(assumptions, play.PackedStart, play.WarmStart)
	}
	known := slices.Clone(assumptions) // but for the release
	for _, r := range c.Workload.OtherReleases {
		for _, a := range known {
			assumptions = append(assumptions, a.On(r.Name))
		}
	}
	c.total = len(c.Predictions) * (len(assumptions) + len(play.ExtremeDrivers))
	if c.options.SearchLimit {
		c.total += len(c.Predictions) * len(play.PlausibleDrivers)
	}
	c.total += len(c.Predictions) * (len(c.Readings) - 1)
	all := func(*Prediction) bool { return true }
	jobs := c.jobs(assumptions, 0, all)
	for i := 1; i < len(c.Readings); i++ {
		jobs = append(jobs, c.jobs([]play.Assumptions{play.MeasuredDriver}, i, all)...)
	}
	c.start = c.findStart()
	results := c.run(jobs)
	for i := range c.Predictions {
		p := &c.Predictions[i]
		c.predict(p, results[p])
	}
	// Under a limit large blocks that are not split are freed one by one, by their order.
	addressesMatter := func(p *Prediction) bool {
		return slices.Contains(p.Reasons, DriverAddresses) || p.Err == nil && !p.Recorded && p.Settings.Config.MaxSplitSize != spec.Unlimited && p.reachesLimit()
	}
	for p, extremes := range c.run(c.jobs(play.ExtremeDrivers, 0, addressesMatter)) {
		c.countExtremes(p, results[p], extremes)
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
	needed := func(p *Prediction) (bytes uint64) {
		if err == nil {
			a := play.MeasuredDriver
			c.apply(&a, p)
			bytes, err = play.SmallestLimit(c.Workload, p.Settings, a, c.LimitReading(), c.memory)
		}
		return bytes
	}
	if best := c.Ranked()[0]; best.Err == nil && best.FirstOOM != nil {
		c.NeededLimit = needed(best)
	}
	for i := range c.Predictions {
		p := &c.Predictions[i]
		if decides, _ := p.limitDecides(); p.Err == nil && decides {
			p.fits = needed(p)
		}
	}
	if now := c.Current(); now != nil && now.Err == nil && now.FirstOOM != nil {
		c.NeededNow = needed(now)
	}
	return err
}

// searchLimits finds the smallest limit of all settings, with every plausible driver.
func (c *comparing) searchLimits() {
	type found struct {
		runJob
		limit uint64
		err   error
	}
	canRun := func(p *Prediction) bool { return p.Err == nil && p.Fraction == 0 }
	failed := map[*Prediction]bool{}
	inorder.Each(c.jobs(play.PlausibleDrivers, 0, canRun), c.options.Jobs, func(j runJob) found {
		limit, err := play.SmallestLimit(c.Workload, j.prediction.Settings, j.assumptions, c.Readings[0], c.memory)
		return found{j, limit, err}
	}, func(f found) {
		p := f.prediction
		if f.err != nil {
			p.SmallestLimit, failed[p] = nil, true
		}
		if !failed[p] {
			if p.SmallestLimit == nil {
				p.SmallestLimit = &Range{}
			}
			p.SmallestLimit.include(f.limit)
		}
		c.advance(1)
	})
}

// apply reports whether assumptions apply to a prediction. The recorded addresses are
// plausible up to the first difference from the recorded run, so under its settings; when
// garbage is collected does not matter before that.
func (c *comparing) apply(a *play.Assumptions, p *Prediction) bool {
	if !c.Workload.Complete() {
		if !c.startIsKnown(p) {
			a.PackedStart = true
		} else if a.PackedStart && !a.NoPrivatePools {
			return false
		}
	}
	if !a.RecordedAddresses {
		return true
	}
	config := p.Settings.Config
	config.GarbageCollectionThreshold = c.Workload.Settings.Config.GarbageCollectionThreshold
	return p.Release == "" && c.Workload.Complete() && history.SettingsOf(config).Same(c.Workload.Settings)
}

// startIsKnown reports whether the memory at the start of an incomplete history has the
// recorded layout: under the recorded settings, if the limit leaves room for all that the
// record reserves, and the recorded run reached none. What the program did before the history
// would otherwise have differed.
func (c *comparing) startIsKnown(p *Prediction) bool {
	w := c.Workload
	_, peak := history.ReservedBytes(w.Trace, w.InitialSegments)
	limit := c.LimitReading().Bytes()
	switch {
	case p.Release != "" || !p.Settings.Same(w.Settings):
		return false
	case p.Recorded:
		return true
	}
	return !w.Limit.Refused() && !c.addsFraction(p.Settings) && c.fractionIsFelt(p.Settings) == notFelt && (limit == 0 || limit >= peak)
}

// LimitReading is a reading with a limit, if there is one.
func (c *Comparison) LimitReading() history.Reading {
	for _, r := range c.Readings {
		if r.Bytes() > 0 {
			return r
		}
	}
	return c.Readings[0]
}

func (c *comparing) jobs(assumptions []play.Assumptions, reading int, wanted func(*Prediction) bool) []runJob {
	var jobs []runJob
	for i := range c.Predictions {
		for _, a := range assumptions {
			if p := &c.Predictions[i]; wanted(p) && c.apply(&a, p) {
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
	inorder.Each(jobs, c.options.Jobs, func(j runJob) runResult {
		reading := c.Readings[j.reading]
		if j.prediction.Fraction > 0 {
			reading.Fraction = j.prediction.Fraction
		}
		outcome, err := play.Run(c.Workload, play.RunOptions{Settings: j.prediction.Settings, Reading: reading, Assumptions: j.assumptions, Memory: c.memory, Release: j.prediction.Release})
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

// deviceDrift is by how much less a full device may have for the process in another run, in
// bytes: the process itself, not its allocator, takes more when it loads kernels.
var deviceDrift = []uint64{2 * spec.MiB, 8 * spec.MiB}

// withDrift adds readings of a full device that has a little less for the process.
func withDrift(list []history.Reading) []history.Reading {
	for _, r := range list {
		for _, less := range deviceDrift {
			if less < r.Device {
				less := history.Reading{Limits: history.Limits{Fraction: r.Fraction, Device: r.Device - less}, EmptyCache: r.EmptyCache, Drift: true}
				list = append(list, less)
			}
		}
	}
	return list
}
