package run

import "fmt"

// What is assumed of counts by which a program allocates, if they rest on values that are not known.
const (
	AssumeLeast = "least" // nothing is counted: the peak is a lower bound
	AssumeMost  = "most"  // everything is
)

// assumedLine says which bound the peak is if sizes rest on what is not known.
func (r *Result) assumedLine(a *Answer) string {
	if _, sizes := a.decided(); sizes == 0 {
		return ""
	}
	if r.Assume == AssumeMost {
		return "counts that are not known are taken as all there is: an upper bound"
	}
	return "counts that are not known are taken as 0: a lower bound (--assume most: the upper)"
}

// HasUnknownSizes reports whether a process allocated by counts that are not known.
func (r *Result) HasUnknownSizes() bool {
	for i := range r.Processes {
		if _, sizes := r.Processes[i].decided(); sizes > 0 {
			return true
		}
	}
	return false
}

// Counted says between which figures the peak is: r is a run in which what is not known counts as
// nothing, and most one in which it counts as all there is.
func (r *Record) Counted(most *Result) string {
	s := most.Summarize()
	r.Most = &s
	if s.PeakReserved == r.Summary.PeakReserved && (s.OutOfMemory == nil) == (r.Summary.OutOfMemory == nil) {
		return "the peak does not depend on the counts that are not known"
	}
	text := fmt.Sprintf("the peak depends on counts that are not known: reserved %s if they are 0, %s if they are as large as they can be",
		size(r.Summary.PeakReserved), size(s.PeakReserved))
	if s.OutOfMemory != nil && r.Summary.OutOfMemory == nil {
		text += ", where it runs out of memory"
	}
	return text
}
