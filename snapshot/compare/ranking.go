package compare

import (
	"cmp"
	"slices"
	"strings"

	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
)

// Ranked lists the predictions, the best first. Those with no OOM in any run come before
// those with an OOM in some. Then fewer retries come first, then less reserved memory. Of
// those with an OOM the one whose first OOM is at the latest request comes first. Equals
// keep the order of Options.Settings, in which simple settings come first. Those that
// cannot be predicted come last.
func (c *Comparison) Ranked() []*Prediction {
	ranked := make([]*Prediction, len(c.Predictions))
	for i := range c.Predictions {
		ranked[i] = &c.Predictions[i]
	}
	failed := func(p *Prediction) int {
		if p.Err != nil {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(ranked, func(a, b *Prediction) int {
		return cmp.Or(
			cmp.Compare(failed(a), failed(b)),
			cmp.Compare(a.OOMRuns()*len(b.Runs), b.OOMRuns()*len(a.Runs)),
			-cmp.Compare(a.OOMRequest(), b.OOMRequest()),
			cmp.Compare(a.Retries, b.Retries),
			cmp.Compare(a.PeakReserved, b.PeakReserved),
			cmp.Compare(a.Fraction, b.Fraction),
		)
	})
	return ranked
}

// OOMRequest is the number of the request with the first OOM, 0 if there is none.
func (p *Prediction) OOMRequest() int {
	if p.FirstOOM == nil {
		return 0
	}
	return p.FirstOOM.Number
}

// Current is the prediction for the settings of the recorded run, or else for the default
// ones; nil if there is neither.
func (c *Comparison) Current() *Prediction {
	for _, settings := range []history.Settings{c.Workload.Settings, history.DefaultSettings()} {
		for i := range c.Predictions {
			if p := &c.Predictions[i]; p.Settings.Same(settings) && p.Fraction == 0 && p.Release == "" {
				return p
			}
		}
	}
	return nil
}

// Recommended is the prediction of the settings to use: those of the best prediction that
// is clearly better than the present settings, or fewer settings that are as good and
// reserve at most a fiftieth more. It is the present prediction if none is better, and nil
// if there is none.
func (c *Comparison) Recommended() *Prediction {
	now := c.Current()
	var best *Prediction
	for _, p := range c.Ranked() {
		if !c.eligible(p) || now != nil && p != now && !c.clearlyBetter(p, now) {
			continue
		}
		switch {
		case best == nil:
			best = p
		case asGood(p, best) && p.NumSettings() < best.NumSettings():
			best = p
		}
	}
	return best
}

// asGood reports whether a prediction that is ranked lower is as good all the same.
func asGood(p, best *Prediction) bool {
	return p.OOMRuns()*len(best.Runs) == best.OOMRuns()*len(p.Runs) && p.OOMRequest() == best.OOMRequest() &&
		p.Retries <= best.Retries && p.PeakReserved <= best.PeakReserved+best.PeakReserved/worthwhile
}

// hasEffect reports whether the settings are more than a longer name for others: part of
// them may need a memory fraction that is not set.
func (c *Comparison) hasEffect(p *Prediction) bool {
	fraction := p.Fraction > 0
	for _, r := range c.Readings {
		fraction = fraction || r.Fraction > 0 && c.Workload.Limit.Kind != history.UnknownLimit
	}
	return fraction || !needsFraction(p.Settings) || p.Recorded || p == c.Current()
}

// clearlyBetter reports whether a prediction is enough of an improvement to change
// settings for, under everything that the record leaves open.
func (c *Comparison) clearlyBetter(p, now *Prediction) bool {
	if p.failureOpen {
		return false
	}
	if p.OOMRuns() > 0 {
		return now.OOMRuns() > 0 && c.conditional(p)
	}
	if now.OOMRuns() > 0 {
		return true
	}
	reserved, open := p.PeakReservedRange()
	present, _ := now.PeakReservedRange()
	return p.Retries <= now.Retries && !open && reserved.High+max(reserved.High/worthwhile, leastSaved) < present.Low
}

// MayBeBetter is the first of the ranked settings that may reserve clearly less than the present
// ones, under which no request fails, or may not: the record leaves it open. It is nil if there are
// none, or if settings are advised.
func (c *Comparison) MayBeBetter() *Prediction {
	now := c.Current()
	if now == nil || now.OOMRuns() > 0 || c.Advised() != nil {
		return nil
	}
	present, _ := now.PeakReservedRange()
	for _, p := range c.Ranked() {
		reserved, _ := p.PeakReservedRange()
		if c.eligible(p) && p.OOMRuns() == 0 && reserved.Low+max(reserved.Low/worthwhile, leastSaved) < present.Low {
			return p
		}
	}
	return nil
}

// eligible reports whether settings could be advised if they were better.
func (c *Comparison) eligible(p *Prediction) bool {
	impossible := p.Settings.Config.ExpandableSegments && c.Workload.Marks.NoExpandable != ""
	return p.Err == nil && p.Release == "" && (p == c.Current() || !impossible) && c.hasEffect(p)
}

// conditional reports whether settings have no OOM under a limit that the recorded run may
// have had, though one under a smaller limit.
func (c *Comparison) conditional(p *Prediction) bool {
	return p.OOMRuns() < len(p.Runs) && !c.Given && !c.Workload.Limit.Known() && p.fits > 0
}

// worthwhile: less than one part in as many of the reserved memory is no reason to
// change settings.
const worthwhile = 50

// leastSaved: fewer bytes are no reason to change settings of a run in which nothing fails.
const leastSaved = 64 * spec.MiB

// NumSettings is how many settings the value of PYTORCH_ALLOC_CONF has, and the memory
// fraction.
func (p *Prediction) NumSettings() int {
	n := 0
	if p.Settings.Text != "" {
		n = 1 + strings.Count(p.Settings.Text, ",")
	}
	if p.Fraction > 0 {
		n++
	}
	return n
}

// Advised is the prediction of the settings to change to, nil if the present ones are to
// stay.
func (c *Comparison) Advised() *Prediction {
	best, now := c.Recommended(), c.Current()
	if best == nil || best == now || best.FirstOOM != nil && best.OOMRuns() == len(best.Runs) || !c.Verification.Exact() || c.Workload.Unrecorded.PoolFailures > 0 {
		return nil
	}
	return best
}

// AsksForLimit reports whether the limit of the record is not known, and the outcome under
// the present or the recommended settings depends on it.
func (c *Comparison) AsksForLimit() bool {
	if c.Given || c.Workload.Unrecorded.OOMs == 0 || c.Workload.Limit.Known() || c.Workload.Limit.Kind == history.DeviceLimit {
		return false
	}
	matters := func(p *Prediction) bool {
		if p == nil || p.Err != nil {
			return false
		}
		decides, _ := p.limitDecides()
		return decides
	}
	return matters(c.Current()) || matters(c.Recommended())
}
