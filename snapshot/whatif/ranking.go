package whatif

import (
	"cmp"
	"slices"
	"strings"
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
			cmp.Compare(a.OOMRuns*b.Runs, b.OOMRuns*a.Runs),
			-cmp.Compare(a.oomRequest(), b.oomRequest()),
			cmp.Compare(a.Retries, b.Retries),
			cmp.Compare(a.PeakReserved, b.PeakReserved),
			cmp.Compare(a.Fraction, b.Fraction),
		)
	})
	return ranked
}

// oomRequest is the number of the request with the first OOM, 0 if there is none.
func (p *Prediction) oomRequest() int {
	if p.FirstOOM == nil {
		return 0
	}
	return p.FirstOOM.Number
}

// current is the prediction for the settings of the recorded run, or else for the default
// ones; nil if there is neither.
func (c *Comparison) current() *Prediction {
	for _, settings := range []string{c.Workload.recordedSettings(), ""} {
		for i := range c.Predictions {
			if p := &c.Predictions[i]; sameSettings(p.Settings, settings) && p.Fraction == 0 {
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
	now := c.current()
	var best *Prediction
	for _, p := range c.Ranked() {
		if p.Err != nil || !c.hasEffect(p) || now != nil && p != now && !c.clearlyBetter(p, now) {
			continue
		}
		switch {
		case best == nil:
			best = p
		case asGood(p, best) && p.numSettings() < best.numSettings():
			best = p
		}
	}
	return best
}

// asGood reports whether a prediction that is ranked lower is as good all the same.
func asGood(p, best *Prediction) bool {
	return p.OOMRuns*best.Runs == best.OOMRuns*p.Runs && p.oomRequest() == best.oomRequest() &&
		p.Retries <= best.Retries && p.PeakReserved <= best.PeakReserved+best.PeakReserved/worthwhile
}

// hasEffect reports whether the settings are more than a longer name for others: part of
// them may need a memory fraction that is not set.
func (c *Comparison) hasEffect(p *Prediction) bool {
	fraction := p.Fraction > 0
	for _, r := range c.readings {
		fraction = fraction || r.Fraction > 0 && c.Workload.Limit.Kind != UnknownLimit
	}
	return fraction || !needsFraction(p.Settings) || p.Recorded || p == c.current()
}

// clearlyBetter reports whether a prediction is enough of an improvement to change
// settings for, under everything that the record leaves open.
func (c *Comparison) clearlyBetter(p, now *Prediction) bool {
	if p.OOMRuns > 0 {
		return now.OOMRuns > 0 && c.conditional(p)
	}
	if now.OOMRuns > 0 {
		return true
	}
	overlaps := p.OpenEnd || p.PeakReservedRange.High+p.PeakReservedRange.High/worthwhile >= now.PeakReservedRange.Low
	return p.Retries <= now.Retries && !overlaps
}

// conditional reports whether settings have no OOM under a limit that the recorded run may
// have had, though one under a smaller limit.
func (c *Comparison) conditional(p *Prediction) bool {
	return p.OOMRuns < p.Runs && !c.given && !c.Workload.Limit.Known() && p.fits > 0
}

// worthwhile: less than one part in so many of the reserved memory is no reason to
// change settings.
const worthwhile = 50

// numSettings is how many settings the value of PYTORCH_ALLOC_CONF has, and the memory
// fraction.
func (p *Prediction) numSettings() int {
	n := 0
	if p.Settings != "" {
		n = 1 + strings.Count(p.Settings, ",")
	}
	if p.Fraction > 0 {
		n++
	}
	return n
}
