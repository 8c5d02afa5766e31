package whatif

import (
	"cmp"
	"slices"
	"strings"
)

// Ranked lists the predictions, the best first. Those with no OOM in any run come before
// those with an OOM in some. Then fewer retries come first, then less reserved memory. Of
// those with an OOM the one whose first OOM is at the latest request comes first. Equals
// keep the order of Options.Settings, in which simple settings come first.
func (c *Comparison) Ranked() []*Prediction {
	ranked := make([]*Prediction, len(c.Predictions))
	for i := range c.Predictions {
		ranked[i] = &c.Predictions[i]
	}
	slices.SortStableFunc(ranked, func(a, b *Prediction) int {
		return cmp.Or(
			cmp.Compare(a.OOMRuns*b.Runs, b.OOMRuns*a.Runs),
			-cmp.Compare(a.oomRequest(), b.oomRequest()),
			cmp.Compare(a.Retries, b.Retries),
			cmp.Compare(a.PeakReserved, b.PeakReserved),
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

// Recommended is the best prediction, or one of fewer settings that is as good and
// reserves at most a fiftieth more.
func (c *Comparison) Recommended() *Prediction {
	ranked := c.Ranked()
	best := ranked[0]
	recommended := best
	for _, p := range ranked {
		asGood := p.OOMRuns*recommended.Runs == recommended.OOMRuns*p.Runs && p.oomRequest() == recommended.oomRequest() &&
			p.Retries <= recommended.Retries && p.PeakReserved <= best.PeakReserved+best.PeakReserved/worthwhile
		if asGood && p.numSettings() < recommended.numSettings() {
			recommended = p
		}
	}
	return recommended
}

// worthwhile: less than one part in so many of the reserved memory is no reason to
// change settings.
const worthwhile = 50

// numSettings is how many settings the value of PYTORCH_ALLOC_CONF has.
func (p *Prediction) numSettings() int {
	if p.Settings == "" {
		return 0
	}
	return 1 + strings.Count(p.Settings, ",")
}
