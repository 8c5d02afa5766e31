package whatif

import (
	"fmt"
	"slices"
	"strings"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
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
func (r runs) under(a Assumptions, reading int) *Outcome {
	i := slices.IndexFunc(r, func(result runResult) bool { return result.assumptions.Name == a.Name && result.reading == reading })
	if i < 0 {
		return nil
	}
	return &r[i].outcome
}

// predict makes a prediction from its runs.
func (c *comparing) predict(p *Prediction, results runs) {
	w := c.Workload
	if i := slices.IndexFunc(results, func(r runResult) bool { return r.err != nil }); i >= 0 {
		p.Err = results[i].err
		p.InexactReasons, p.Differences = []InexactReason{RunFailed}, []string{fmt.Sprintf("the recorded requests cannot be repeated under these settings: %v", p.Err)}
		return
	}
	if p.Recorded && (c.Verification.Exact() || w.Complete() && c.asRecorded()) {
		c.takeRecorded(p)
	} else {
		p.Outcome = *results.under(measuredDriver, 0)
		if !w.Complete() && !sameSettings(p.Settings, w.recordedSettings()) {
			p.Outcome = *results.under(packedStart, 0) // under these settings memory never had the recorded layout
		}
		if w.goesOnAfterFailures() {
			p.Statistics = p.AtEnd
		}
		for i := range results {
			c.count(p, &results[i])
		}
		c.findReasons(p, results)
	}
	for _, r := range p.InexactReasons {
		p.Differences = append(p.Differences, r.explain(c, p)...)
	}
}

// takeRecorded makes the prediction for the recorded settings and limit: it is what the
// record has.
func (c *comparing) takeRecorded(p *Prediction) {
	w := c.Workload
	p.Outcome = c.recordedOutcome
	if !c.Verification.Exact() {
		w.recordFigures(&p.AtEnd)
		if p.AtEnd.OOMs == 0 {
			p.FirstOOM = nil
		}
	}
	p.Statistics = p.AtEnd // of the whole record, also if the program went on after a failure
	c.count(p, &runResult{outcome: p.Outcome})
	if !w.Complete() {
		p.InexactReasons = append(p.InexactReasons, MissingStart)
	}
	if w.Unrecorded.PoolFailures > 0 { // that they were requests of a private pool is not recorded
		p.InexactReasons = append(p.InexactReasons, PoolMembership)
	}
	p.InexactReasons = append(p.InexactReasons, c.always()...)
	if c.asRecorded() && (w.Unrecorded.DoubtfulFrees > 0 || w.doubtfulGarbage || w.retriesOpen) {
		p.InexactReasons = append(p.InexactReasons, LimitNotTold)
	}
}

// recordFigures are the statistics that the entries of the record themselves have.
func (w *Workload) recordFigures(s *Statistics) {
	_, s.PeakReserved = reservedBytes(w.trace, w.InitialSegments)
	s.DeviceAllocs, s.DeviceFrees, s.OOMs = 0, 0, 0
	for i := range w.trace {
		switch w.trace[i].Action {
		case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
			s.DeviceAllocs++
		case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
			s.DeviceFrees++
		case spec.ActionOOM:
			s.OOMs++
		}
	}
	if !w.likelyEmptied() {
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
	limitMatters, goesOn := false, w.goesOnAfterFailures()
	first := results.under(measuredDriver, 0)
	if !w.Complete() && !sameSettings(p.Settings, w.recordedSettings()) {
		first = results.under(packedStart, 0)
	}
	addressesMatter := slices.ContainsFunc(otherDrivers, func(a Assumptions) bool {
		o := results.under(a, 0)
		return o != nil && !sameOutcome(first, o, goesOn)
	})
	first = results.under(measuredDriver, 0)
	for i := range c.readings {
		o := results.under(measuredDriver, i)
		limitMatters = limitMatters || !sameOutcome(first, o, goesOn)
		p.limitDecides = p.limitDecides || (o.FirstOOM == nil) != (first.FirstOOM == nil)
		if o.FirstOOM == nil && (p.fitting == nil || c.readings[i].Bytes() < c.readings[p.fittingReading].Bytes()) {
			p.fitting, p.fittingReading = o, i
		}
	}
	if limitMatters && p.reachesLimit { // under another limit between those that were tried it may reserve as much
		most := uint64(0)
		for _, r := range c.readings {
			most = max(most, r.Bytes())
		}
		p.PeakReservedRange.include(most + beyondLimit(p.Settings))
	}
	passes, optional := c.passesFailure(p, &p.Outcome), c.failsOptional(&p.Outcome)
	for i := range results {
		passes = passes || c.passesFailure(p, &results[i].outcome)
		optional = optional || c.failsOptional(&results[i].outcome)
	}
	for _, check := range []struct {
		reason  InexactReason
		applies bool
	}{
		{DriverAddresses, addressesMatter},
		{StreamTiming, w.Unrecorded.PendingFrees > 0},
		{PoolMembership, len(w.PrivatePools) > 0 || w.Unrecorded.UnknownPools > 0},
		{MissingStart, !w.Complete()},
		{FailedRequests, passes},
		{OptionalRequests, optional},
		{LimitNotTold, limitMatters},
		{EmptyCacheCalls, w.Unrecorded.EmptyCaches > 0},
		{ChangedSettings, w.Unrecorded.SettingsChanges > 0},
	} {
		if check.applies {
			p.InexactReasons = append(p.InexactReasons, check.reason)
		}
	}
	p.InexactReasons = append(p.InexactReasons, c.always()...)
}

// count adds the outcome of a run to the range. If the program goes on where its recorded
// requests end, or may make others, the run can reserve up to the limit.
func (c *comparing) count(p *Prediction, r *runResult) {
	o := &r.outcome
	p.includeReserved(o, o.PeakReserved)
	if c.Workload.goesOnAfterFailures() {
		p.includeReserved(o, o.AtEnd.PeakReserved)
	}
	if !p.Recorded && (c.passesFailure(p, o) || c.failsOptional(o)) {
		if o.Passed || o.Missed {
			p.includeReserved(o, o.Parted)
		}
		if c.unrounded(p) {
			p.includeReserved(o, o.BeforeFailure)
		}
		p.unknownEnd = true
		if limit := c.readings[r.reading].Bytes(); limit > 0 {
			p.PeakReservedRange.include(limit + beyondLimit(p.Settings))
		} else {
			p.OpenEnd = true
		}
	}
	p.reachesLimit = p.reachesLimit || o.Retries > 0 || o.FirstOOM != nil
	if o.FirstOOM != nil {
		p.OOMRuns++
	}
	p.Runs++
}

// includeReserved adds what a run reserves as far as the record goes.
func (p *Prediction) includeReserved(o *Outcome, bytes uint64) {
	p.PeakReservedRange.include(bytes)
	p.recordedRange.include(bytes)
	if o.FirstOOM == nil {
		p.fittingRange.include(bytes)
	}
}

// beyondLimit is by how much reserved memory can exceed a memory fraction: that is compared
// with the size of a segment, and in an expandable segment whole pages are mapped.
func beyondLimit(text string) uint64 {
	if c, err := settings.Parse(text, spec.DefaultGeometry()); err == nil && c.ExpandableSegments {
		return c.LargeSegmentSize
	}
	return 0
}

// sameOutcome compares everything that is reported of two runs. goesOn is that the program
// goes on after a failure.
func sameOutcome(a, b *Outcome, goesOn bool) bool {
	if (a.FirstOOM == nil) != (b.FirstOOM == nil) || a.FirstOOM != nil && a.FirstOOM.Request != b.FirstOOM.Request {
		return false
	}
	return a.Statistics == b.Statistics && (!goesOn || a.AtEnd == b.AtEnd)
}

// explain says a reason in words.
func (r InexactReason) explain(c *comparing, p *Prediction) []string {
	w := c.Workload
	switch r {
	case DriverAddresses:
		return []string{"they depend on the addresses that the driver returns"}
	case StreamTiming:
		return []string{fmt.Sprintf("%s had to wait for other streams, and how long that takes differs from run to run (from no time to four times as long was assumed)", counted(w.Unrecorded.PendingFrees, "free"))}
	case PoolMembership:
		return []string{"there are private pools (graph captures or MemPools), and the history does not record when requests were routed to them"}
	case MissingStart:
		return []string{fmt.Sprintf("the beginning of the history is missing, and %s was allocated before", spec.FormatSize(w.allocatedAtStart()))}
	case FailedRequests:
		return []string{fmt.Sprintf("%s failed in the recorded run and may not fail here: what the program requests after that is not recorded", counted(w.Unrecorded.OOMs, "request"))}
	case OptionalRequests:
		return []string{"a request fails that a program can do without (its memory is freed at once, as a workspace is, or the recorded program went on after failures): it then makes other requests than the recorded ones, up to the limit"}
	case LimitNotTold:
		return []string{c.limitNotTold()}
	case ChangedSettings:
		return []string{"the program changed the settings while it ran, and that is not repeated"}
	case EmptyCacheCalls:
		return []string{"the program called empty_cache, and calls that freed no segment are not recorded"}
	case UnknownRecord:
		return w.unknown()
	case SkippedActions:
		return []string{fmt.Sprintf("%v entries were not recorded (skip_actions), so when other streams used memory cannot be told", w.Unrecorded.Skipped[0])}
	}
	switch n := w.Unrecorded.InconsistentEntries; n {
	case 0:
		return slices.Clone(c.Verification.Differences)
	case 1:
		return append([]string{"1 entry of the history contradicts others"}, c.Verification.Differences...)
	default:
		return append([]string{fmt.Sprintf("%d entries of the history contradict others", n)}, c.Verification.Differences...)
	}
}

// limitNotTold says what the record leaves open of the limit.
func (c *comparing) limitNotTold() string {
	w := c.Workload
	b := w.Limit
	limit := "the limit was between " + spec.FormatSize(b.Least) + " and " + spec.FormatSize(b.Most)
	if b.Known() {
		limit = "the limit was " + spec.FormatSize(b.Least)
	}
	doubtful := fmt.Sprintf("cached segments were freed (%s), and the record does not tell whether by empty_cache", times(int64(w.Unrecorded.DoubtfulFrees)))
	switch {
	case w.doubtfulGarbage:
		return fmt.Sprintf("cached segments were freed, and the record does not tell whether by empty_cache or by garbage collection under a memory fraction of at most %s", spec.FormatSize(b.Most))
	case w.Unrecorded.DoubtfulFrees > 0 && w.Unrecorded.DoubtfulFrees == w.Unrecorded.Refusals:
		return fmt.Sprintf("%s or because a limit between %s and %s was reached", doubtful, spec.FormatSize(b.Least), spec.FormatSize(b.Most))
	case w.retriesOpen && w.Unrecorded.DoubtfulFrees == 0:
		return "the record does not tell of all freed segments whether they were garbage or those of a refused request; " + limit
	case w.Unrecorded.DoubtfulFrees > 0:
		return doubtful + " or because the limit was reached; " + limit
	case b.Kind == UnknownLimit:
		return limit + ", and the record does not tell whether it was a memory fraction or a full device"
	}
	if b.Kind == DeviceLimit && b.Known() || c.given {
		return "what a full device has for the process differs by a few MiB from run to run, and the outcome depends on it"
	}
	return limit + ", and the outcome depends on where"
}

// unknown names what is not known of the record.
func (w *Workload) unknown() []string {
	var list []string
	for _, u := range w.Unrecorded.Unknown {
		list = append(list, fmt.Sprintf("%s of the history with the action %s, which is not known here", counted(u.Entries, "entry"), quoted(u.Action)))
	}
	for _, s := range w.Unrecorded.UnknownSettings {
		list = append(list, fmt.Sprintf("the setting %s of the recorded run is not known here", quoted(s)))
	}
	return list
}

// counted is "1 entry" or "7 entries".
func counted(n int, what string) string {
	if n != 1 {
		what = strings.TrimSuffix(what, "y") + map[bool]string{true: "ies", false: "s"}[strings.HasSuffix(what, "y")]
	}
	return fmt.Sprintf("%d %s", n, what)
}

// Certainty is how much a comparison can tell.
type Certainty string

// The certainties.
const (
	CertainExact   Certainty = "exact"   // the present settings and the advised ones are exact
	CertainRange   Certainty = "range"   // what is not exact is in its range
	CertainUnknown Certainty = "unknown" // the record is not reproduced, so nothing can be told
)

// Certainty is how much the comparison can tell of the present settings and the
// recommended ones.
func (c *Comparison) Certainty() Certainty {
	best, now := c.Recommended(), c.current()
	if !c.Verification.Exact() {
		return CertainUnknown
	}
	for _, p := range []*Prediction{best, now} {
		if p != nil && !p.Exact() {
			return CertainRange
		}
	}
	return CertainExact
}

// Sure reports whether the advice, or that there is none, holds under everything that the
// record leaves open.
func (c *Comparison) Sure() bool {
	best, now := c.Recommended(), c.current()
	if best == nil || c.Certainty() == CertainUnknown {
		return false
	}
	certain := func(p *Prediction) bool {
		for _, r := range p.InexactReasons {
			if r != DriverAddresses && r != LimitNotTold && r != StreamTiming && r != MissingStart { // of which all cases were run
				return false
			}
		}
		return p.OOMRuns == 0 || p.OOMRuns == p.Runs
	}
	return certain(best) && (now == nil || certain(now))
}
