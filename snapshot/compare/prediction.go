package compare

import (
	"math"
	"slices"

	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
)

// Prediction is what is predicted of a workload under one value of the settings. What it
// says beside the outcome follows from its runs.
type Prediction struct {
	Settings history.Settings
	// Fraction is a memory fraction, in bytes, that is to be set beside the settings,
	// and was not set in the recorded run; 0 for none.
	Fraction uint64
	Release  string // of PyTorch, if it is not the record's
	Recorded bool   // the settings and the limit are those of the recorded run
	Asked    bool   // otherwise it is there for the verdict only
	// Outcome is that of the recorded run, or of a run with the addresses of the
	// measured driver and everything else as recorded.
	play.Outcome
	Reasons       []InexactReason // none: the statistics are exact
	Runs          []CountedRun    // one for each of the assumptions
	SmallestLimit *Range          // without an OOM; nil if it was not searched for, or not found
	Err           error           // why the requests cannot be repeated under the settings; then there are no runs
	between       Range           // what it may reserve otherwise: the least from another start, and while streams use freed memory
	upTo          uint64          // a limit, up to which it may reserve more than in the runs; 0: none
	failureOpen   bool            // whether a request fails cannot be told
	asRecorded    bool            // the figures are those of the record
	passes        bool            // a request that failed in the recorded run does not fail
	fits          uint64          // the smallest limit without an OOM, where limitDecides
}

// CountedRun is a run of a prediction.
type CountedRun struct {
	play.Outcome
	assumptions string // their name; "" for the recorded run
	limit       uint64
	reserved    Range  // peak reserved, as far as the record goes
	upTo        uint64 // what the program may reserve after that; 0: the record goes to the end
}

// unbounded is CountedRun.upTo where there is no limit.
const unbounded = math.MaxUint64

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

// includeAll includes both ends of a range.
func (r *Range) includeAll(o Range) {
	if o.some {
		r.include(o.Low)
		r.include(o.High)
	}
}

// Exact reports whether the statistics are certain, provided that the program makes the
// same requests.
func (p *Prediction) Exact() bool { return len(p.Reasons) == 0 }

// Told reports whether the range of peak reserved is known.
func (p *Prediction) Told() bool {
	if p.asRecorded && p.PeakReserved < p.PeakAllocated { // the record contradicts itself
		return false
	}
	return p.Err == nil && !slices.Contains(p.Reasons, Collectives) && (p.asRecorded || !slices.Contains(p.Reasons, RecordMismatch))
}

// Fails reports whether the program runs out of memory. It is not known if runs under
// different assumptions disagree, a limit is reached from an unknown start, or the program goes
// on where the recorded run failed.
func (p *Prediction) Fails() (fails, known bool) {
	n := p.OOMRuns()
	return n > 0, p.Err == nil && !p.failureOpen && !p.passes && (n == 0 || n == len(p.Runs))
}

// OpenFailure reports whether it cannot be told if the recorded requests fail, though all runs agree.
func (p *Prediction) OpenFailure() bool {
	n := p.OOMRuns()
	return p.Err == nil && p.failureOpen && (n == 0 || n == len(p.Runs))
}

// OOMRuns is how many of the runs have an OOM.
func (p *Prediction) OOMRuns() int {
	n := 0
	for i := range p.Runs {
		if p.Runs[i].FirstOOM != nil {
			n++
		}
	}
	return n
}

// PeakReservedRange is the range of peak reserved over all runs, and whether its upper end is open:
// the program may request more than is recorded. It is open, too, if it is a limit that is more than
// a quarter above the lower end: then it tells no more than the limit.
func (p *Prediction) PeakReservedRange() (r Range, open bool) {
	if !p.Told() {
		return Range{some: true}, true
	}
	most := p.upTo
	r.includeAll(p.between)
	for i := range p.Runs {
		r.includeAll(p.Runs[i].reserved)
		most = max(most, p.Runs[i].upTo)
	}
	if most == unbounded {
		return r, true
	}
	r.include(max(most, r.High))
	return r, most > 0 && r.High-r.Low > r.Low/4
}

// UpToLimit reports whether an open range of peak reserved ends at the limit.
func (p *Prediction) UpToLimit() bool {
	_, open := p.PeakReservedRange()
	return open && p.Told() && !slices.ContainsFunc(p.Runs, func(r CountedRun) bool { return r.upTo == unbounded })
}

// reachesLimit: some run does.
func (p *Prediction) reachesLimit() bool {
	for i := range p.Runs {
		if p.Runs[i].ReachesLimit() {
			return true
		}
	}
	return false
}

// limitDecides: the record leaves open what the limit was, and that decides whether a
// request fails. fitting is the run with the smallest limit that is enough; nil: none is.
func (p *Prediction) limitDecides() (decides bool, fitting *CountedRun) {
	first := -1
	for i := range p.Runs {
		run := &p.Runs[i]
		if run.assumptions != play.MeasuredDriver.Name {
			continue
		}
		if first < 0 {
			first = i
		}
		decides = decides || (run.FirstOOM == nil) != (p.Runs[first].FirstOOM == nil)
		if run.FirstOOM == nil && (fitting == nil || run.limit < fitting.limit) {
			fitting = run
		}
	}
	return decides, fitting
}

// DependsOnLimit reports whether the limit, which the record leaves open, decides whether a
// request fails, and the smallest one without a failure is known.
func (p *Prediction) DependsOnLimit() bool {
	decides, _ := p.limitDecides()
	return decides && p.fits > 0
}

// Fits is the smallest limit without a failure, where DependsOnLimit.
func (p *Prediction) Fits() uint64 { return p.fits }

// Figures are the statistics that a person is shown of a prediction. Where the record
// leaves open what the limit was, and some of the possible limits are enough, they are
// those of the smallest that is. The range of peak reserved is that of all limits. The terminal,
// the page and JSON show these.
type Figures struct {
	play.Statistics
	Reserved Range // peak reserved
	Open     bool  // Reserved is that as far as the record goes, and the rest is not known
}

// Figures are those of the row of the prediction.
func (p *Prediction) Figures() Figures {
	f := Figures{Statistics: p.Statistics}
	f.Reserved, f.Open = p.PeakReservedRange()
	if _, fitting := p.limitDecides(); p.DependsOnLimit() && fitting != nil {
		f.Statistics = fitting.Statistics
	}
	return f
}
