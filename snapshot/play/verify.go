package play

import (
	"slices"

	"gaugeblock/internal/memlimit"
	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
)

// Before anything is predicted the recorded run is reproduced: the requests are made
// again under the recorded settings, the driver returns the recorded addresses of
// segments, and it refuses what was refused. The history must come out again entry by
// entry: every allocation at its address, every out-of-memory error, every segment that
// was allocated or freed. At the end the segments must be those of the snapshot. That
// checks how the requests were found, what is assumed of the limit, and the allocator.

// Verification is how much of the recorded run is reproduced.
type Verification struct {
	Reading     history.Reading // of the limit, under which most is reproduced
	Allocations int             // of the recorded run
	SameAddress int             // those with the recorded address
	Entries     int             // entries that are reproduced, before the first one that is not
	Differences []Difference    // what is not reproduced; none: the whole record is
}

// Exact reports whether the whole record is reproduced.
func (v *Verification) Exact() bool { return len(v.Differences) == 0 }

// Difference is something that a replay does not reproduce.
type Difference struct {
	Kind               DifferenceKind
	Entry              int // of the record
	Count              int // of the entries that are missing
	Recorded, Replayed spec.TraceEntry
	Segments           [2]*spec.Segment // of the record and of the replay
	Numbers            [2]int           // of segments, of the record and of the replay
	Err                error
}

// DifferenceKind is the kind of a Difference.
type DifferenceKind string

// The kinds of differences.
const (
	NotRepeated    DifferenceKind = "the requests cannot be repeated"
	EntryAfterEnd  DifferenceKind = "an entry after the last recorded one"
	OtherEntry     DifferenceKind = "another entry"
	OtherStream    DifferenceKind = "another stream"
	OtherAddress   DifferenceKind = "another address"
	EntriesMissing DifferenceKind = "entries are missing"
	SegmentNumber  DifferenceKind = "another number of segments"
	OtherSegment   DifferenceKind = "another segment"
	SegmentFigures DifferenceKind = "a segment and its blocks contradict each other"
)

// verifier compares a run with the recorded one, entry by entry.
type verifier struct {
	Verification
	w         *history.Workload
	request   *history.Request // the present one
	next      int              // entry of the record that is to come
	completed map[int]bool
	offsets   map[expandableKey]spec.Ptr
	live      map[expandableKey]int      // active allocations
	keys      map[spec.Ptr]expandableKey // of these
	recorded  map[spec.Ptr]spec.Ptr      // addresses of allocations to the recorded ones
	stopped   bool                       // after the first difference of entries
	differs   int                        // the first entry of the record that is not reproduced, -1: all are
	direction int                        // of the first difference: 1, the record frees more; -1, less
}

// expandableKey tells expandable segments apart. Their addresses are not reproduced: all
// blocks of one have the same offset from the recorded addresses. Segments of private
// pools that cannot be told apart otherwise are in different regions.
type expandableKey struct {
	stream spec.Stream
	pool   uint8
	kind   spec.PoolKind
	region spec.Ptr
}

const regionBytes = 8 << 30

// Verify reproduces the recorded run of a workload.
func Verify(w *history.Workload) Verification {
	verification, _ := RunAsRecorded(w, w.Readings()[0], nil)
	return verification
}

// RunAsRecorded also returns the outcome. If the verification is exact, that is the
// outcome of the recorded run. The limits under which it is reproduced are looked for,
// beginning with those of the given reading if the recorded run can have had them.
func RunAsRecorded(w *history.Workload, given history.Reading, memory *memlimit.Budget) (Verification, Outcome) {
	var best *verifier
	var outcome Outcome
	try := func(r history.Reading, asRefused bool) bool {
		v, o := reproduce(w, r, asRefused, memory)
		if best == nil || better(v, best) {
			best, outcome = v, o
		}
		return best.Exact()
	}
	b := w.Limit
	switch collects := w.Settings.Config.GarbageCollectionThreshold > 0; {
	case !b.Refused():
		try(history.Reading{EmptyCache: true}, false)
		return best.Verification, outcome
	case collects && b.Allows(given.Fraction) && given.Fraction > 0 && try(given, false):
		return best.Verification, outcome
	case collects && b.Kind != history.DeviceLimit && try(bisectLimit(w, memory), false):
		return best.Verification, outcome
	}
	readings := w.Readings()
	if b.Allows(given.Bytes()) {
		readings = append([]history.Reading{given}, readings...)
	}
	for _, r := range readings {
		if try(r, false) {
			return best.Verification, outcome
		}
	}
	try(history.Reading{Limits: history.Limits{Device: b.Least}}, true) // other processes' memory on the device moved the limit
	return best.Verification, outcome
}

// better reports whether more of the record is reproduced.
func better(a, b *verifier) bool {
	if a.Exact() != b.Exact() {
		return a.Exact()
	}
	return a.Entries > b.Entries
}

// reproduce makes the recorded run under a reading of the limit, or with a driver that
// refuses what was refused.
func reproduce(w *history.Workload, r history.Reading, asRefused bool, memory *memlimit.Budget) (*verifier, Outcome) {
	v := &verifier{w: w, differs: -1, completed: map[int]bool{}, offsets: map[expandableKey]spec.Ptr{},
		live: map[expandableKey]int{}, keys: map[spec.Ptr]expandableKey{}, recorded: map[spec.Ptr]spec.Ptr{}}
	v.Reading = r
	o := RunOptions{Settings: w.Settings, Reading: r, Assumptions: MeasuredDriver, verifier: v, asRefused: asRefused, Memory: memory}
	if asRefused {
		o.Reading = history.Reading{EmptyCache: r.EmptyCache}
	}
	outcome, err := run(w, o, v.finish)
	if err != nil { // a segment was allocated where the history has another entry
		v.differ(Difference{Kind: NotRepeated, Err: err})
	}
	for i := range w.Requests {
		if w.Requests[i].Kind == history.Malloc {
			v.Allocations++
		}
	}
	return v, outcome
}

// bisectLimit looks for a memory fraction under which the record is reproduced. Under
// garbage collection a run differs from the record early if the limit is wrong: with too
// small a limit it frees a segment that the record keeps, with too large a one the reverse.
func bisectLimit(w *history.Workload, memory *memlimit.Budget) history.Reading {
	low, high := w.Limit.Least, w.Limit.Most
	if w.Limit.Kind != history.FractionLimit {
		low, high = w.Limit.OfFraction[0], w.Limit.OfFraction[1]
	}
	for low < high {
		middle := low + (high-low)/2
		v, _ := reproduce(w, history.Reading{Limits: history.Limits{Fraction: middle}}, false, memory)
		switch {
		case v.Exact():
			return v.Reading
		case v.direction > 0:
			high = middle
		default:
			low = middle + 1
		}
	}
	return history.Reading{Limits: history.Limits{Fraction: low}}
}

// recordedSegments lists the addresses of the segment_alloc entries.
func recordedSegments(w *history.Workload) []spec.Ptr {
	var addresses []spec.Ptr
	for i := range w.Trace {
		if e := &w.Trace[i]; e.Action == spec.ActionSegmentAlloc {
			addresses = append(addresses, e.Addr)
		}
	}
	return addresses
}

// maxDifferences is how many differences are listed.
const maxDifferences = 5

func (v *verifier) differ(d Difference) {
	if len(v.Differences) < maxDifferences {
		v.Differences = append(v.Differences, d)
	}
}

// entry compares an entry of the run with the one of the record that is to come.
func (v *verifier) entry(h spec.HistoryEntry) {
	e := h.TraceEntry
	if e.Action == spec.ActionAlloc && v.request.Kind == history.Malloc {
		v.address(&e)
	}
	if key, known := v.keys[e.Addr]; known && e.Action == spec.ActionFreeCompleted {
		v.live[key]--
		delete(v.keys, e.Addr)
	}
	if e.Action == spec.ActionFreeRequested && v.request.Initial {
		return // the block was freed before the history begins
	}
	if v.stopped || e.Action == spec.ActionSnapshot || slices.Contains(v.w.Unrecorded.Skipped, e.Action) {
		return
	}
	at := v.nextEntry(&e)
	if at >= len(v.w.Trace) {
		v.differ(Difference{Kind: EntryAfterEnd, Entry: at, Replayed: e})
		v.stopped = true
		return
	}
	want := &v.w.Trace[at]
	sameSize := want.Size == e.Size || e.Action == spec.ActionFreeRequested || e.Action == spec.ActionFreeCompleted // of an initial block it is not that of the request
	if want.Action == e.Action && sameSize && want.Stream == e.Stream && v.sameAddress(&e, want.Addr) {
		v.Entries++
		return
	}
	v.stopped, v.differs = true, at
	switch {
	case frees(want.Action) && !frees(e.Action):
		v.direction = 1
	case frees(e.Action) && !frees(want.Action):
		v.direction = -1
	}
	d := Difference{Kind: OtherEntry, Entry: at, Recorded: want.TraceEntry, Replayed: e}
	switch {
	case want.Action != e.Action || !sameSize:
	case want.Stream != e.Stream:
		d.Kind = OtherStream
	default:
		d.Kind = OtherAddress
	}
	v.differ(d)
}

func frees(a spec.Action) bool { return a == spec.ActionSegmentFree || a == spec.ActionSegmentUnmap }

// nextEntry finds the entry of the record to compare with, and goes past it. Frees of
// memory with stream uses complete in no certain order, so a free_completed is looked for
// among those that are adjacent.
func (v *verifier) nextEntry(e *spec.TraceEntry) int {
	trace := v.w.Trace
	for v.next < len(trace) && (trace[v.next].Action == spec.ActionSnapshot || v.completed[v.next]) {
		delete(v.completed, v.next)
		v.next++
	}
	if e.Action == spec.ActionFreeCompleted {
		for i := v.next; i < len(trace) && trace[i].Action == spec.ActionFreeCompleted; i++ {
			if !v.completed[i] && v.sameAddress(e, trace[i].Addr) {
				if i > v.next {
					v.completed[i] = true
					return i
				}
				break
			}
		}
	}
	v.next++
	return v.next - 1
}

// sameAddress compares the address of an entry with the recorded one. Those of expandable
// segments are not reproduced, and that of an oom entry is the free memory of the device.
func (v *verifier) sameAddress(e *spec.TraceEntry, recorded spec.Ptr) bool {
	switch e.Action {
	case spec.ActionOOM, spec.ActionSegmentMap, spec.ActionSegmentUnmap:
		return true
	case spec.ActionAlloc, spec.ActionFreeRequested, spec.ActionFreeCompleted:
		if known, ok := v.recorded[e.Addr]; ok {
			return known == recorded
		}
	}
	return e.Addr == recorded || v.w.UsesExpandable()
}

// address compares the address of an allocation with the recorded one.
func (v *verifier) address(e *spec.TraceEntry) {
	q := v.request
	offset := spec.Ptr(0)
	recorded := v.w.Trace[q.Entry].Addr
	if v.w.UsesExpandable() {
		g := spec.DefaultGeometry()
		kind := g.PoolKind(v.w.Settings.RoundedSize(q.Bytes))
		key := expandableKey{q.Stream, q.Pool, kind, recorded / regionBytes}
		if v.live[key] == 0 { // a segment that was unmapped as a whole is reserved anew
			v.offsets[key] = recorded - e.Addr
		}
		offset = v.offsets[key]
		v.live[key]++
		v.keys[e.Addr] = key
	}
	v.recorded[e.Addr] = e.Addr + offset
	if e.Addr+offset == recorded {
		v.SameAddress++
	}
}

// finish compares the state at the end of the run with the segments of the snapshot.
func (v *verifier) finish(r *runner) {
	trace := v.w.Trace
	for v.next < len(trace) && (trace[v.next].Action == spec.ActionSnapshot || v.completed[v.next]) {
		v.next++
	}
	if left := len(trace) - v.next; left > 0 && !v.stopped {
		v.differ(Difference{Kind: EntriesMissing, Entry: v.next, Count: left, Recorded: trace[v.next].TraceEntry})
	}
	if v.w.FinalSegments == nil || !v.Exact() {
		return
	}
	state, err := r.alloc.Snapshot()
	if err != nil {
		v.differ(Difference{Kind: NotRepeated, Err: err})
		return
	}
	if d := differentSegments(v.w.FinalSegments, state.Segments, v.w.Complete()); d != nil {
		v.differ(*d)
	}
}
