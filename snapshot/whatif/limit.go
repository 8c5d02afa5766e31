package whatif

// What refuses memory. There are two limits. A memory fraction
// (set_per_process_memory_fraction) is compared with the reserved memory before the driver
// is called, and only under one is garbage collected. A full device refuses the call
// itself, and the memory of other processes moves the bound.

// Limits bound the memory that a run can reserve, in bytes. Each of them is 0 for none.
type Limits struct {
	Fraction uint64 // what a memory fraction allows
	Device   uint64 // what the driver has for the process
}

// Bytes is the smaller of the limits, 0 if there is none.
func (l Limits) Bytes() uint64 {
	if l.Fraction == 0 || l.Device > 0 && l.Device < l.Fraction {
		return l.Device
	}
	return l.Fraction
}

// LimitKind says what refused memory in the recorded run.
type LimitKind string

// The kinds of limits.
const (
	NoLimit       LimitKind = "none"     // nothing was refused
	FractionLimit LimitKind = "fraction" // a memory fraction
	DeviceLimit   LimitKind = "device"   // the device was full
	UnknownLimit  LimitKind = "unknown"  // the record does not tell which of these
)

// LimitBounds bound the limit on reserved memory that was in force, in bytes. It is at
// least Least, which was reserved. It is at most Most: more was refused; 0 if nothing was.
// If the limit is known, because the device itself was full or the limit was recorded,
// the two are equal.
type LimitBounds struct {
	Kind        LimitKind
	Least, Most uint64
	// Moved: at one time the driver refused memory that it had granted before, so other
	// processes' memory on the device grew.
	Moved bool
}

// Known reports whether the limit is known, to the byte.
func (b LimitBounds) Known() bool { return b.Least == b.Most }

// Refused reports whether a request was refused by the limit.
func (b LimitBounds) Refused() bool { return b.Most > 0 }

// Allows reports whether a limit (0 for none) may have been the one in force.
func (b LimitBounds) Allows(limit uint64) bool {
	if limit == 0 {
		return !b.Refused()
	}
	return b.Least <= limit && (!b.Refused() || limit <= b.Most)
}

// Reading is one way to read what a history leaves open about the limit.
type Reading struct {
	Limits
	// EmptyCache: frees of segments of which the history does not tell the reason were
	// calls of empty_cache. Otherwise the limit was the reason.
	EmptyCache bool
}

// readingSteps is how many limits between the bounds are tried, both bounds included.
const readingSteps = 4

// readings are all readings of a recorded limit, the likeliest first.
func (w *Workload) readings() []Reading {
	b := w.Limit
	var limits []uint64
	if b.Refused() {
		limits = append(limits, b.Least)
		for i := uint64(1); i < readingSteps && !b.Known(); i++ {
			limits = append(limits, b.Least+(b.Most-b.Least)*i/(readingSteps-1))
		}
	}
	var list []Reading
	if b.Kind == FractionLimit || b.Kind == UnknownLimit {
		for _, bytes := range limits {
			list = append(list, Reading{Limits: Limits{Fraction: bytes}})
		}
	}
	if b.Kind == DeviceLimit || b.Kind == UnknownLimit {
		for _, bytes := range limits {
			list = append(list, Reading{Limits: Limits{Device: bytes}})
		}
	}
	switch {
	case len(list) == 0:
		return []Reading{{EmptyCache: true}}
	case w.Unrecorded.DoubtfulFrees == 0:
		return list
	case w.likelyEmptied():
		return append([]Reading{{EmptyCache: true}}, list...)
	}
	if w.Unrecorded.Refusals == w.Unrecorded.DoubtfulFrees { // each of them may have been a call
		list = append(list, Reading{EmptyCache: true})
	}
	return list
}

// likelyEmptied: cached segments were freed a single time, no request failed, nothing else
// tells that there was a limit, and if there was one the run stayed well below it
// afterwards. A run that a limit makes free its cache mostly comes close to it again.
func (w *Workload) likelyEmptied() bool {
	const near = 8 // one part in so many
	b := w.Limit
	return w.Unrecorded.DoubtfulFrees == 1 && w.Unrecorded.Refusals == 1 && b.Kind == UnknownLimit && b.Most-b.Least > b.Most/near
}
