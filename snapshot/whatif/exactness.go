package whatif

import "slices"

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
	// EmptyCacheCalls: the program called empty_cache. Calls that freed no segment are
	// not recorded.
	EmptyCacheCalls InexactReason = "empty_cache"
	// ChangedSettings: the program changed the allocator settings while it ran.
	ChangedSettings InexactReason = "settings"
	// RecordMismatch: a replay of the recorded run does not reproduce it, or entries of
	// the history contradict each other.
	RecordMismatch InexactReason = "record"
)

// runs are the runs of one prediction, in the order in which they were asked for. One of
// them is found by its assumptions.
type runs []runResult

func (r runs) under(a Assumptions) *Outcome {
	return &r[slices.IndexFunc(r, func(result runResult) bool { return result.assumptions.Name == a.Name })].outcome
}

// predict makes a prediction from its runs.
func (c *comparing) predict(p *Prediction, results runs) {
	w := c.Workload
	if p.Recorded && w.Complete() && c.Verification.Exact() && w.Unrecorded.InconsistentEntries == 0 {
		p.Outcome = c.recordedOutcome // not a prediction
		p.count(&p.Outcome)
		return
	}
	p.Outcome = *results.under(measuredDriver)
	if !w.Complete() && !sameSettings(p.Settings, w.recordedSettings()) {
		p.Outcome = *results.under(packedStart) // under these settings memory never had the recorded layout
	}
	for i := range results {
		p.count(&results[i].outcome)
	}
	addressesMatter := slices.ContainsFunc(otherDrivers, func(a Assumptions) bool { return !sameOutcome(&p.Outcome, results.under(a)) })
	for _, check := range []struct {
		reason  InexactReason
		applies bool
	}{
		{DriverAddresses, addressesMatter},
		{StreamTiming, w.Unrecorded.PendingFrees > 0},
		{PoolMembership, len(w.PrivatePools) > 0 || w.Unrecorded.UnknownPools > 0},
		{MissingStart, !w.Complete()},
		{FailedRequests, w.Unrecorded.OOMs > 0},
		{EmptyCacheCalls, w.Unrecorded.EmptyCaches > 0},
		{ChangedSettings, w.Unrecorded.SettingsChanges > 0},
		{RecordMismatch, w.Unrecorded.InconsistentEntries > 0 || !c.Verification.Exact()},
	} {
		if check.applies {
			p.InexactReasons = append(p.InexactReasons, check.reason)
		}
	}
}

// count adds the outcome of a run to the range.
func (p *Prediction) count(o *Outcome) {
	p.PeakReservedRange.include(o.PeakReserved)
	if o.FirstOOM != nil {
		p.OOMRuns++
	}
	p.Runs++
}

// sameOutcome compares everything that is reported of two runs.
func sameOutcome(a, b *Outcome) bool {
	if (a.FirstOOM == nil) != (b.FirstOOM == nil) || a.FirstOOM != nil && a.FirstOOM.Request != b.FirstOOM.Request {
		return false
	}
	return a.Statistics == b.Statistics
}
