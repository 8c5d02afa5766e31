package whatif

import "gaugeblock/spec"

// The figures of a prediction that a person is shown. Where the record leaves open what the
// limit was, and some of the possible limits are enough, they are those of the limits that
// are enough: the column "out of memory" has the smallest one.

// Figures are the statistics of a row of the table.
type Figures struct {
	Statistics
	reserved Range // peak reserved
	open     bool  // reserved is that as far as the record goes, and the rest is not known
}

// Unallocated is the share of PeakReserved that PeakAllocated leaves, 0 to 1.
func (f Figures) Unallocated() float64 { return unallocated(&f.Statistics) }

// Reserved is the range of peak reserved in bytes, and whether it may be more.
func (f Figures) Reserved() (low, high uint64, open bool) {
	return f.reserved.Low, f.reserved.High, f.open
}

// DependsOnLimit reports whether the limit, which the record leaves open, decides whether a
// request fails, and the smallest one without a failure is known.
func (p *Prediction) DependsOnLimit() bool { return p.limitDecides && p.fits > 0 }

// Figures are those of the row of the prediction.
func (p *Prediction) Figures() Figures { return p.figures() }

func (p *Prediction) figures() Figures {
	f := Figures{Statistics: p.Statistics, reserved: p.PeakReservedRange, open: p.OpenEnd}
	known := p.recordedRange
	if p.DependsOnLimit() && p.fitting != nil {
		f.Statistics, known = p.fitting.Statistics, p.fittingRange
		f.reserved.Low = max(f.reserved.Low, known.Low)
	}
	// The limit as the upper end tells nothing if it is far above what is recorded.
	if p.unknownEnd && known.some && (f.open || f.reserved.High > known.High+known.High/muchMore) {
		f.reserved, f.open = known, true
	}
	return f
}

// muchMore: one part in so many.
const muchMore = 4

// ReservedInWords is the peak reserved, as in the table.
func (p *Prediction) ReservedInWords() string {
	f := p.figures()
	if f.open {
		return spec.FormatSize(f.reserved.Low) + " or more"
	}
	return f.reserved.text()
}
