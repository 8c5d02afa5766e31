package history

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
	// Inferred: only free memory of the device tells that it was a memory fraction. A driver
	// that refuses although memory is free looks the same.
	Inferred   bool
	OfFraction [2]uint64   // the bounds of a memory fraction, if it may have been one
	OfDevice   [2]uint64   // those of a full device
	ByGarbage  bool        // only garbage collection tells that it was a memory fraction
	Doubtful   UpperBounds // if all doubtful frees were those of refused requests
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
	Drift      bool // see compare.withDrift
}

// readingSteps is how many limits between the bounds are tried, both bounds included.
const ReadingSteps = 4

// Readings are all readings of a recorded limit, the likeliest first.
func (w *Workload) Readings() []Reading {
	b := w.Limit
	if !b.Refused() {
		return []Reading{{EmptyCache: true}}
	}
	// If the doubtful frees were those of refused requests the limit was below these.
	refused := w.limitsBetween(b.Doubtful)
	if w.DoubtfulGarbage {
		return append(refused, Reading{EmptyCache: true})
	}
	switch doubtful := w.Unrecorded.DoubtfulFrees; {
	case doubtful == 0:
		return refused
	case w.LikelyEmptied():
		return append([]Reading{{EmptyCache: true}}, refused...)
	case doubtful == w.Unrecorded.Refusals: // each of them may have been a call
		return append(refused, Reading{EmptyCache: true})
	}
	for _, r := range w.limitsBetween(UpperBounds{}) {
		refused = append(refused, Reading{Limits: r.Limits, EmptyCache: true})
	}
	return refused
}

// GivenReadings are the readings if limits are given. What the record leaves open of
// empty_cache is read both ways, unless the limit may have been that of the recorded run.
func (w *Workload) GivenReadings(l Limits) []Reading {
	emptied := !w.Limit.Refused() || w.LikelyEmptied()
	if w.Limit.Refused() && l.Bytes() > 0 && w.Limit.Allows(l.Bytes()) {
		emptied = false
	}
	list := []Reading{{Limits: l, EmptyCache: emptied}}
	if w.Unrecorded.DoubtfulFrees > 0 && !w.Limit.Allows(l.Bytes()) {
		list = append(list, Reading{Limits: l, EmptyCache: !emptied})
	}
	return list
}

// limitsBetween are limits between the bounds of the recorded one, and at most so large.
func (w *Workload) limitsBetween(most UpperBounds) []Reading {
	b := w.Limit
	var list []Reading
	add := func(least, below, most uint64, limits func(bytes uint64) Limits) {
		if most > 0 {
			below = min(below, most)
		}
		for i := range uint64(ReadingSteps) {
			if i > 0 && least >= below {
				break
			}
			list = append(list, Reading{Limits: limits(least + (below-min(least, below))*i/(ReadingSteps-1))})
		}
	}
	fraction := [2]uint64{b.Least, b.Most}
	if b.Kind == UnknownLimit && b.OfFraction[0] <= b.OfFraction[1] {
		fraction = b.OfFraction
	}
	if b.Kind == FractionLimit || b.Kind == UnknownLimit {
		add(fraction[0], fraction[1], most.Fraction, func(bytes uint64) Limits { return Limits{Fraction: bytes} })
	}
	if b.Kind == DeviceLimit || b.Kind == UnknownLimit || b.Inferred {
		add(b.Least, b.Most, most.Device, func(bytes uint64) Limits { return Limits{Device: bytes} })
	}
	return list
}

// LikelyEmptied: cached segments were freed a single time, no request failed, nothing else
// tells that there was a limit, and if there was one the run stayed well below it
// afterwards. A run that a limit makes free its cache mostly comes close to it again.
func (w *Workload) LikelyEmptied() bool {
	const near = 8 // one part in eight
	b := w.Limit
	return w.Unrecorded.DoubtfulFrees == 1 && w.Unrecorded.Refusals == 1 && b.Kind == UnknownLimit && b.Most-b.Least > b.Most/near
}
