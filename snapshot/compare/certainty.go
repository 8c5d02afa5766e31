package compare

import (
	"cmp"
	"slices"
	"strings"

	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// How certain a prediction is: this is the only place that says so. A prediction is exact
// if the whole record is reproduced, nothing in it is unknown, and nothing that it leaves
// open makes a difference. Each reason why it is not exact is a difference in words.

// InexactReason is a reason why statistics may differ from the predicted ones.
type InexactReason string

// What the history does not record, and what may depend on it.
const (
	// DriverAddresses: the statistics depend on the addresses that the driver returns.
	DriverAddresses InexactReason = "addresses"
	// StreamTiming: they depend on when other streams have finished with freed memory.
	StreamTiming InexactReason = "streams"
	// PoolMembership: the pools of requests, and the times of captures, are not
	// recorded.
	PoolMembership InexactReason = "pools"
	// MissingStart: the beginning of the history is missing.
	MissingStart InexactReason = "start"
	// StartBlocks: how large some blocks of the start were; what is allocated may be more.
	StartBlocks InexactReason = "start blocks"
	// FailedRequests: requests failed in the recorded run. What the program would have
	// done with the memory is not known.
	FailedRequests InexactReason = "failures"
	// OptionalRequests: a request fails that the program can do without, so that what it
	// requests afterwards is not what was recorded.
	OptionalRequests InexactReason = "optional requests"
	// LimitNotTold: the record leaves open what the limit was, and that matters.
	LimitNotTold InexactReason = "limit"
	// EmptyCacheCalls: the program called empty_cache. Calls that freed no segment are
	// not recorded.
	EmptyCacheCalls InexactReason = "empty_cache"
	// ChangedSettings: the program changed the allocator settings while it ran.
	ChangedSettings InexactReason = "settings"
	// UnknownRecord: entries, or settings, that this version does not know.
	UnknownRecord InexactReason = "unknown"
	// ReleaseNotTold: the record may be one of several releases, which decide differently.
	ReleaseNotTold InexactReason = "release"
	// Collectives: memory is freed when collectives of several processes are done, so other
	// runs of the same program free it earlier or later.
	Collectives InexactReason = "collectives"
	// SkippedActions: entries that were not recorded (skip_actions).
	SkippedActions InexactReason = "skipped"
	// RecordMismatch: a replay of the recorded run does not reproduce it, or entries of
	// the history contradict each other.
	RecordMismatch InexactReason = "record"
	// RunFailed: the requests cannot be repeated under these settings.
	RunFailed InexactReason = "run"
)

// runs are the runs of one prediction, in the order in which they were asked for.
type runs []runResult

// under is the outcome under an assumption and a reading, nil if there is none.
func (r runs) under(a play.Assumptions, reading int) *play.Outcome {
	i := slices.IndexFunc(r, func(result runResult) bool { return result.assumptions.Name == a.Name && result.reading == reading })
	if i < 0 {
		return nil
	}
	return &r[i].outcome
}

// predict makes a prediction from its runs.
func (c *comparing) predict(p *Prediction, results runs) {
	if i := slices.IndexFunc(results, func(r runResult) bool { return r.err != nil }); i >= 0 {
		p.Err, p.Reasons = results[i].err, []InexactReason{RunFailed}
		return
	}
	if p.Recorded && (c.Verification.Exact() || c.Workload.Complete() && c.options.AsRecorded) {
		c.takeRecorded(p)
		return
	}
	p.Outcome = *results.under(c.likeliest(p), 0)
	if c.Workload.GoesOnAfterFailures() {
		p.Statistics = p.AtEnd
	}
	results = c.withoutKnownPools(p, results)
	for i := range results {
		c.count(p, &results[i])
	}
	c.findReasons(p, results)
}

// withoutKnownPools leaves out that requests were served from the default pool, where the pool of
// each is known. When captures were under way matters only where cached memory would be freed.
func (c *comparing) withoutKnownPools(p *Prediction, results runs) runs {
	if len(c.Workload.PrivatePools) == 0 || c.poolsMatter(p, results) {
		return results
	}
	return slices.DeleteFunc(results, func(r runResult) bool { return r.assumptions.NoPrivatePools })
}

// poolsMatter reports whether statistics may depend on what a record does not tell of private pools.
func (c *comparing) poolsMatter(p *Prediction, results runs) bool {
	w := c.Workload
	if len(w.PrivatePools) == 0 && w.Unrecorded.UnknownPools == 0 {
		return false
	}
	return !w.Complete() || !w.PoolsAreKnown() || c.Limit > 0 && needsFraction(p.Settings) ||
		slices.ContainsFunc(results, func(r runResult) bool { return !r.assumptions.NoPrivatePools && r.outcome.ReachesLimit() })
}

// likeliest are the assumptions whose outcome is told. Under other settings than the
// recorded ones memory never had the recorded layout.
func (c *comparing) likeliest(p *Prediction) play.Assumptions {
	if !c.Workload.Complete() && !c.startIsKnown(p) {
		return play.WarmStart
	}
	return play.MeasuredDriver
}

// takeRecorded makes the prediction for the recorded settings and limit: it is what the
// record has.
func (c *comparing) takeRecorded(p *Prediction) {
	w := c.Workload
	p.Outcome, p.asRecorded = c.recordedOutcome, true
	if !c.Verification.Exact() {
		recordFigures(w, &p.AtEnd)
		if p.AtEnd.OOMs == 0 {
			p.FirstOOM = nil
		}
	}
	p.Statistics = p.AtEnd // of the whole record, also if the program went on after a failure
	c.count(p, &runResult{outcome: p.Outcome})
	if w.Unrecorded.PoolFailures > 0 { // that they were requests of a private pool is not recorded
		p.Reasons = append(p.Reasons, PoolMembership)
	}
	if c.startBlocksMatter(p) {
		p.Reasons = append(p.Reasons, StartBlocks)
	}
	p.Reasons = append(p.Reasons, c.always()...)
	if c.options.AsRecorded && (w.Unrecorded.DoubtfulFrees > 0 || w.DoubtfulGarbage || w.RetriesOpen) {
		p.Reasons = append(p.Reasons, LimitNotTold)
	}
}

// recordFigures are the statistics that the entries of the record themselves have.
func recordFigures(w *history.Workload, s *play.Statistics) {
	_, s.PeakReserved = history.ReservedBytes(w.Trace, w.InitialSegments)
	s.PeakAllocated = max(s.PeakAllocated, history.AllocatedPeak(w.Trace, w.InitialSegments, w.Settings))
	s.DeviceAllocs, s.DeviceFrees, s.OOMs = 0, 0, 0
	for i := range w.Trace {
		switch w.Trace[i].Action {
		case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
			s.DeviceAllocs++
		case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
			s.DeviceFrees++
		case spec.ActionOOM:
			s.OOMs++
		}
	}
	if !w.LikelyEmptied() {
		s.Retries = int64(w.Unrecorded.Refusals)
	}
}

// always are the reasons that hold for every prediction.
func (c *comparing) always() []InexactReason {
	w := c.Workload
	var reasons []InexactReason
	if len(w.Unrecorded.Unknown) > 0 || slices.ContainsFunc(w.Unrecorded.UnknownSettings, ofDeviceMemory) {
		reasons = append(reasons, UnknownRecord)
	}
	if len(w.Unrecorded.Skipped) > 0 {
		reasons = append(reasons, SkippedActions)
	}
	if w.Unrecorded.InconsistentEntries > 0 || !c.Verification.Exact() {
		reasons = append(reasons, RecordMismatch)
	}
	return reasons
}

// ofDeviceMemory reports whether an unknown setting may matter: those for pinned memory of
// the host do not.
func ofDeviceMemory(setting string) bool { return !strings.HasPrefix(setting, "pinned_") }

// findReasons finds out why a prediction is not exact.
func (c *comparing) findReasons(p *Prediction, results runs) {
	w := c.Workload
	goesOn := w.GoesOnAfterFailures()
	first := results.under(c.likeliest(p), 0)
	addressesMatter := slices.ContainsFunc(play.OtherDrivers, func(a play.Assumptions) bool {
		o := results.under(a, 0)
		return o != nil && !sameOutcome(first, o, goesOn)
	})
	first = results.under(play.MeasuredDriver, 0)
	limitMatters, most := false, uint64(0)
	for i, r := range c.Readings {
		limitMatters = limitMatters || !sameOutcome(first, results.under(play.MeasuredDriver, i), goesOn)
		most = max(most, mostUnder(r, p.Settings))
	}
	if limitMatters && p.reachesLimit() { // under another limit between those that were tried it may reserve as much
		p.upTo = most
	}
	if !w.Complete() && !c.startIsKnown(p) {
		c.widen(p, most)
	}
	p.failureOpen = p.failureOpen || w.Marks.Collectives && most > 0
	passes, optional := c.passesFailure(p, &p.Outcome), c.failsOptional(&p.Outcome)
	defer func() { p.passes = passes }()
	for i := range results {
		passes = passes || c.passesFailure(p, &results[i].outcome)
		optional = optional || c.failsOptional(&results[i].outcome)
	}
	for _, check := range []struct {
		reason  InexactReason
		applies bool
	}{
		{DriverAddresses, addressesMatter},
		{ReleaseNotTold, slices.ContainsFunc(w.OtherReleases, func(r upstream.Release) bool {
			o := results.under(play.MeasuredDriver.On(r.Name), 0)
			return o != nil && !sameOutcome(first, o, goesOn)
		})},
		{StreamTiming, w.Unrecorded.PendingFrees > 0},
		{Collectives, w.Marks.Collectives},
		{PoolMembership, c.poolsMatter(p, results)},
		{MissingStart, !w.Complete() && (!c.startIsKnown(p) || w.Unrecorded.PendingFrees > 0 || needsFraction(p.Settings))},
		{StartBlocks, c.startIsKnown(p) && c.startBlocksMatter(p)},
		{FailedRequests, passes},
		{OptionalRequests, optional},
		{LimitNotTold, limitMatters},
		{EmptyCacheCalls, w.Unrecorded.EmptyCaches > 0},
		{ChangedSettings, w.Unrecorded.SettingsChanges > 0},
	} {
		if check.applies {
			p.Reasons = append(p.Reasons, check.reason)
		}
	}
	p.Reasons = append(p.Reasons, c.always()...)
}

// widen widens the range of a prediction from an unknown start. What is freed when a limit
// is reached, or as garbage, depends on it. If the program did something else before the
// history, only what is allocated is a bound.
func (c *comparing) widen(p *Prediction, limit uint64) {
	most := cmp.Or(limit, unbounded)
	_, recorded := history.ReservedBytes(c.Workload.Trace, c.Workload.InitialSegments)
	part, repeats := c.start.margin()
	for i := range p.Runs {
		r := &p.Runs[i].reserved
		switch {
		case !r.some:
		case !repeats:
			r.include(p.PeakAllocated)
			r.include(min(recorded, most))
			p.Runs[i].upTo = most
		default:
			r.include(p.PeakAllocated) // the start may have been packed without gaps
			r.include(min(r.High+uint64(part*float64(r.High)), max(most, r.High)))
		}
	}
	if limit == 0 {
		return
	}
	sure := c.Workload.PeakRequested() > most && !(c.Workload.Limit.Moved && !c.Given)
	mayReach := p.reachesLimit()
	for i := range p.Runs {
		mayReach = mayReach || p.Runs[i].upTo > 0 || p.Runs[i].reserved.High >= limit
	}
	p.failureOpen = mayReach && !sure
	if mayReach || p.Settings.Config.GarbageCollectionThreshold > 0 {
		p.between.include(c.leastReserved(p))
		p.upTo = max(p.upTo, most)
	}
}

// countExtremes counts runs under extreme addresses.
func (c *comparing) countExtremes(p *Prediction, plausible, extremes runs) {
	first, known := plausible.under(c.likeliest(p), 0), slices.Contains(p.Reasons, DriverAddresses)
	for i := range extremes {
		if extremes[i].err != nil {
			continue
		}
		differs := !sameOutcome(first, &extremes[i].outcome, c.Workload.GoesOnAfterFailures())
		if differs && !known {
			p.Reasons, known = append(p.Reasons, DriverAddresses), true
		}
		if known {
			c.count(p, &extremes[i])
		}
	}
}

// count adds the outcome of a run. If the program goes on where its recorded requests
// end, or may make others, the run can reserve up to the limit.
func (c *comparing) count(p *Prediction, r *runResult) {
	o := &r.outcome
	counted := CountedRun{Outcome: *o, assumptions: r.assumptions.Name, limit: c.Readings[r.reading].Bytes()}
	if r.assumptions.UntilWaitedFor { // hardly a run is like that
		p.between.include(o.PeakReserved)
		p.Runs = append(p.Runs, counted)
		return
	}
	counted.reserved.include(o.PeakReserved)
	if c.Workload.GoesOnAfterFailures() {
		counted.reserved.include(o.AtEnd.PeakReserved)
	}
	if !p.Recorded && (c.passesFailure(p, o) || c.failsOptional(o)) {
		if o.Passed || o.Missed {
			counted.reserved.include(o.Parted)
		}
		if c.unrounded(p) {
			counted.reserved.include(o.BeforeFailure)
		}
		counted.upTo = cmp.Or(mostUnder(c.Readings[r.reading], p.Settings), unbounded)
	}
	p.Runs = append(p.Runs, counted)
}

// mostUnder is the most that can be reserved under a limit; 0: there is none. A device gives no more
// than it has.
func mostUnder(r history.Reading, s history.Settings) uint64 {
	if r.Fraction > 0 && (r.Device == 0 || r.Fraction+BeyondLimit(s) < r.Device) {
		return r.Fraction + BeyondLimit(s)
	}
	return r.Device
}

// BeyondLimit is by how much reserved memory can exceed a memory fraction: that is compared
// with the size of a segment, and in an expandable segment whole pages are mapped. A segment that
// needs more than one page is a multiple of the size to which large ones are rounded.
func BeyondLimit(s history.Settings) uint64 {
	page, round := s.Config.LargeSegmentSize, spec.DefaultGeometry().RoundLarge
	switch {
	case !s.Config.ExpandableSegments:
		return 0
	case page%round == 0:
		return max(page-round, 1)
	}
	return page
}

// sameOutcome compares everything that is reported of two runs. goesOn is that the program
// goes on after a failure.
func sameOutcome(a, b *play.Outcome, goesOn bool) bool {
	if (a.FirstOOM == nil) != (b.FirstOOM == nil) || a.FirstOOM != nil && a.FirstOOM.Request != b.FirstOOM.Request {
		return false
	}
	return a.Statistics == b.Statistics && (!goesOn || a.AtEnd == b.AtEnd)
}

// Sureness is how sure the verdict is: what happened, why, and what to do. The text, the
// page and the JSON all say this.
type Sureness string

// The degrees of sureness.
const (
	ExactVerdict   Sureness = "exact"   // the statistics of the present and the advised settings are exact
	OpenVerdict    Sureness = "open"    // those of the present ones are; whether others are better is open
	SureVerdict    Sureness = "sure"    // it holds under everything that the record leaves open
	LimitVerdict   Sureness = "limit"   // it depends on the limit, which the record leaves open
	LikelyVerdict  Sureness = "likely"  // it holds under what is likely
	UnknownVerdict Sureness = "unknown" // the record is not reproduced, so nothing can be told
)

// Sureness is how sure the verdict is.
func (c *Comparison) Sureness() Sureness {
	best, now, advised := c.Recommended(), c.Current(), c.Advised()
	exact := func(p *Prediction) bool { return p == nil || p.Exact() }
	switch {
	case !c.Verification.Exact() || best == nil:
		return UnknownVerdict
	case exact(best) && exact(now) && c.MayBeBetter() != nil:
		return OpenVerdict
	case exact(best) && exact(now) && (advised != nil || c.NothingIsBetter()):
		return ExactVerdict
	case advised != nil && advised.DependsOnLimit() || advised == nil && best.DependsOnLimit():
		return LimitVerdict
	case !holds(now):
		return LikelyVerdict
	case advised != nil && holds(advised) || advised == nil && c.NothingIsBetter():
		return SureVerdict
	}
	return LikelyVerdict
}

// holds reports whether all that a prediction leaves open was tried and decides nothing
// about whether a request fails.
func holds(p *Prediction) bool {
	if p == nil {
		return true
	}
	for _, r := range p.Reasons {
		if r != DriverAddresses && r != LimitNotTold {
			return false
		}
	}
	_, known := p.Fails()
	return known
}

// NothingIsBetter reports whether it is sure that no settings save a run that fails: the
// program asks for more than there is, or each of the settings fails whatever is assumed.
func (c *Comparison) NothingIsBetter() bool {
	if now := c.Current(); now == nil || now.FirstOOM == nil {
		return true
	}
	if c.PeakExceedsLimit() {
		return true
	}
	for i := range c.Predictions {
		p := &c.Predictions[i]
		if fails, known := p.Fails(); !fails || !known || !holds(p) {
			return false
		}
	}
	return true
}
