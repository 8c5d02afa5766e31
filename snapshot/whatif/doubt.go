package whatif

import "slices"

// Doubt is a reason why figures may be otherwise than predicted.
type Doubt string

// What a snapshot does not say, and what may depend on it.
const (
	// ByAddress: it depends on the addresses that the driver gives.
	ByAddress Doubt = "addresses"
	// ByStreams: it depends on how long other streams use memory that was freed.
	ByStreams Doubt = "streams"
	// ByPools: which pool requests went to, and when captures were under way, is
	// not recorded.
	ByPools Doubt = "pools"
	// ByStart: the history begins in the middle.
	ByStart Doubt = "start"
	// ByFailures: requests failed in the recorded run; what the program would have
	// done with the memory is not known.
	ByFailures Doubt = "failures"
	// ByEmptyCache: the program emptied its cache; where that had no effect it is
	// not recorded.
	ByEmptyCache Doubt = "empty_cache"
	// BySettings: the program changed the settings on its way.
	BySettings Doubt = "settings"
	// ByRecord: the recorded run does not come out as it was recorded, or entries of
	// the record contradict each other.
	ByRecord Doubt = "record"
)

func (r *Row) doubts(d Doubt) bool { return slices.Contains(r.Doubts, d) }

// judge puts the results of the models that count together: those of the credible
// addresses come first.
func (t *trial) judge(r *Row, results []result) {
	r.Outcome = results[0].outcome
	if !t.History.Whole() && !sameSettings(r.Settings, t.History.settings()) {
		r.Outcome = results[len(results)-1].outcome // the packed start: memory never lay as recorded
	}
	unknown := &t.History.Unknown
	if r.Recorded && t.History.Whole() && t.Agreement.Full() && unknown.Contradictions == 0 {
		r.Outcome = t.recorded // not a prediction
		r.count(&r.Outcome)
		return
	}
	for i := range results {
		r.count(&results[i].outcome)
	}
	agree := true
	for _, other := range results[1:len(credible)] {
		agree = agree && sameOutcome(&r.Outcome, &other.outcome)
	}
	for _, d := range []struct {
		doubt   Doubt
		applies bool
	}{
		{ByAddress, !agree},
		{ByStreams, unknown.Held > 0},
		{ByPools, len(t.History.Pools) > 0 || unknown.LostPools > 0},
		{ByStart, !t.History.Whole()},
		{ByFailures, unknown.Failed > 0},
		{ByEmptyCache, unknown.EmptyCaches > 0},
		{BySettings, unknown.Reconfigured > 0},
		{ByRecord, unknown.Contradictions > 0 || !t.Agreement.Full()},
	} {
		if d.applies {
			r.Doubts = append(r.Doubts, d.doubt)
		}
	}
}

// count takes a run into the range.
func (r *Row) count(o *Outcome) {
	r.Range.include(o.PeakReserved)
	if o.First != nil {
		r.Failing++
	}
	r.Runs++
}

// sameOutcome compares all that is told of two runs.
func sameOutcome(a, b *Outcome) bool {
	if (a.First == nil) != (b.First == nil) || a.First != nil && a.First.Request != b.First.Request {
		return false
	}
	return a.Statistics == b.Statistics
}
