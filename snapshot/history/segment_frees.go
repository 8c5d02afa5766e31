package history

import (
	"cmp"
	"math"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// The allocator frees segments for two reasons: a segment could not be allocated for a
// request, or the program called empty_cache. The call stack of the entry tells which, if
// there is one: it is that of empty_cache, or that of the request. Without one it
// follows from the next entries. After a failed cudaMalloc comes the segment that the
// request needed, or an oom entry. And if no more memory would have been reserved than at
// another time, cudaMalloc had not failed. Where both are possible the frees are doubtful.
//
// With garbage_collection_threshold the allocator also frees old segments, if there is a
// memory fraction. There all frees are taken to be its own.
//
// The requests that failed and those that did not also bound the limit in force. An oom
// entry has the free memory of the device: if that was enough, a memory fraction refused
// the request, and if not, the device was full.

// segmentFrees is what a history shows of freed segments.
type segmentFrees struct {
	// emptied are the indexes of entries before which the program called empty_cache.
	// The value is true if the frees may also have been those of a refused request.
	emptied  map[int]bool
	limit    LimitBounds
	refusals []refusal
	doubtful int // of the refusals
	// retriesOpen: frees may have been garbage collection or those of a refused request.
	retriesOpen bool
	peak        uint64 // of reserved bytes
}

// refusal is a request for which the driver, or a memory fraction, had no memory at first.
type refusal struct {
	entry   int    // index of its alloc or oom entry
	allowed uint64 // a memory fraction, in bytes, that refuses it at first
}

// segmentFreeReader reads a history from its start.
type segmentFreeReader struct {
	segmentFrees
	trace          []snapshot.TraceEntry
	known          map[int]bool                 // of entries: whether the program emptied the cache; from a trace
	allocatedBy    map[spec.Ptr]snapshot.Frames // of segments
	settings       Settings
	collected      bool    // that happened, so there was a memory fraction
	threshold      float64 // of garbage collection: segments are freed although no request was refused; 0: none
	reserved       uint64
	active         uint64      // requested bytes that are in use
	first          int         // entry of the present sequence of frees, -1 outside of one
	before         uint64      // reserved bytes when it began
	leastFraction  uint64      // what a memory fraction is known to allow
	sure, doubt    UpperBounds // of the refusals that are certain, and of the others
	fraction, full bool        // a memory fraction, or a full device, refused a request
	mostOfDevice   uint64      // the largest and the smallest room of a full device
	leastOfDevice  uint64
}

// inferSegmentFrees reads a history. known has the entries of which a trace records
// whether the program called empty_cache; nil for a snapshot.
func inferSegmentFrees(trace []snapshot.TraceEntry, start []spec.Segment, recorded Settings, known map[int]bool) segmentFrees {
	atStart, peak := ReservedBytes(trace, start)
	f := segmentFreeReader{
		segmentFrees: segmentFrees{emptied: map[int]bool{}, limit: LimitBounds{Least: peak}, peak: peak}, trace: trace, known: known,
		allocatedBy: map[spec.Ptr]snapshot.Frames{},
		settings:    recorded, threshold: recorded.Config.GarbageCollectionThreshold,
		reserved: atStart, first: -1,
	}
	for i := range start {
		f.active += start[i].RequestedSize
	}
	f.findFloor()
	for i := range trace {
		f.entry(i, &trace[i])
	}
	f.endSequence(len(trace), 0)
	f.concludeKind()
	return f.segmentFrees
}

func (f *segmentFreeReader) collectsGarbage() bool { return f.threshold > 0 }

func framesOf(e *snapshot.TraceEntry) snapshot.Frames {
	if e.Context == nil {
		return nil
	}
	return e.Context.Frames
}

func (f *segmentFreeReader) entry(i int, e *snapshot.TraceEntry) {
	switch e.Action {
	case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
		if f.first < 0 {
			f.first, f.before = i, f.reserved
		}
		f.reserved -= min(e.Size, f.reserved)
	case spec.ActionFreeCompleted: // the allocator waited for events
		f.active -= min(e.Size, f.active)
	case spec.ActionSnapshot:
	case spec.ActionOOM:
		f.endSequence(i, 0)
		f.outOfMemory(i, e)
	case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
		f.endSequence(i, e.Size)
		f.reserved += e.Size
		f.allocatedBy[e.Addr] = framesOf(e)
	case spec.ActionAlloc:
		f.active += e.Size
		f.endSequence(i, 0)
	default:
		f.endSequence(i, 0)
	}
}

// outOfMemory takes in an oom entry. The request needed a new segment. In an expandable
// segment it needed pages for what the free memory before them does not have.
func (f *segmentFreeReader) outOfMemory(i int, e *snapshot.TraceEntry) {
	free := uint64(e.Addr)
	segment := f.settings.SegmentSize(e.Size)
	most, least := segment, segment
	if cfg := &f.settings.Config; cfg.ExpandableSegments {
		page := cfg.LargeSegmentSize
		if e.Size <= spec.DefaultGeometry().SmallSize {
			page = spec.DefaultGeometry().SmallBuffer
		}
		most = roundUp(most, page)
		before := f.reserved - min(f.reserved, f.active)
		least = max(page, roundUp(e.Size-min(e.Size, before), page))
	}
	switch {
	case free >= most:
		f.fraction = true
	case free < least:
		room := max(f.reserved+free, 1) // 0 would be no limit
		if !f.full {
			f.leastOfDevice = room
		}
		f.full = true
		f.leastOfDevice, f.mostOfDevice = min(f.leastOfDevice, room), max(f.mostOfDevice, room)
	}
	f.sure.below(f.reserved+most, f.reserved+segment)
	f.refusals = append(f.refusals, refusal{i, f.reserved + segment - 1})
}

// endSequence ends a sequence of frees, if there is one, before the entry i, which
// allocates a segment of that size if it is not 0.
func (f *segmentFreeReader) endSequence(i int, segment uint64) {
	if f.first < 0 {
		return
	}
	first := f.first
	f.first = -1
	emptied, certain := f.reason(first, i, segment)
	if emptied {
		f.emptied[first] = !certain
		return
	}
	if i < len(f.trace) && f.trace[i].Action == spec.ActionOOM { // which is a refusal itself
		if !certain {
			f.emptied[first] = true
		}
		return
	}
	least, wanted := f.before+segment, f.before+segment
	if segment > 0 {
		bytes, _ := f.wanted(i)
		wanted = f.before + bytes
	}
	atOnce := wanted
	if f.collectsGarbage() {
		garbage := uint64(math.Ceil(float64(f.before) / f.threshold)) // it is collected under smaller limits
		if !f.mayBeRefused(i, segment) {
			f.collected = true
			if !certain {
				f.emptied[first] = true
			}
			f.sure.below(garbage, garbage)
			return
		}
		least, wanted = max(least, garbage), max(wanted, garbage)
		f.retriesOpen = true
	}
	f.refusals = append(f.refusals, refusal{f.nextRequest(i), atOnce - 1})
	if certain {
		f.sure.below(max(least, wanted), wanted)
		return
	}
	f.doubt.below(max(least, wanted), wanted)
	f.doubtful++
	f.emptied[first] = true
}

// reason says why segments were freed, from entry first up to entry i: because the
// program called empty_cache, or because a request was refused; and whether that is
// certain. A request has one call stack in all of its entries. The stack of empty_cache is
// recorded only with context="all"; else the entry has the stack of the segment's allocation.
func (f *segmentFreeReader) reason(first, i int, segment uint64) (emptied, certain bool) {
	if emptied, known := f.known[first]; known {
		return emptied, true
	}
	stack := framesOf(&f.trace[first])
	oom := i < len(f.trace) && f.trace[i].Action == spec.ActionOOM
	switch {
	case stack.Calls("empty_cache", "emptyCache", "_cuda_emptyCache"):
		return true, true
	case !oom && segment == 0:
		return true, true
	case !oom && !f.mayBeRefused(i, segment) && (!f.collectsGarbage() || f.freesSmall(first, i)): // garbage is large
		return true, true
	}
	next := f.nextRequest(i)
	if next >= len(f.trace) || len(framesOf(&f.trace[next])) == 0 {
		return false, false
	}
	ofRequest := sameFrames(stack, framesOf(&f.trace[next]))
	return !ofRequest, !ofRequest || !f.stacksOfSegments(first, i)
}

// findFloor finds the most that a memory fraction is known to allow: what was granted under
// it. A memory fraction is compared with the size of a segment, also where it is pages that
// are mapped, so reserved memory can exceed it by less than a page.
func (f *segmentFreeReader) findFloor() {
	reserved := f.reserved
	f.leastFraction = reserved
	if f.settings.Config.ExpandableSegments {
		f.leastFraction -= min(reserved, f.settings.Config.LargeSegmentSize)
	}
	for i := range f.trace {
		switch e := &f.trace[i]; e.Action {
		case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
			if wanted, known := f.wanted(i); known {
				f.leastFraction = max(f.leastFraction, reserved+wanted)
			}
			reserved += e.Size
		case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
			reserved -= min(e.Size, reserved)
		}
	}
}

// wanted is the size of the segment that a memory fraction is compared with before the
// entry, which allocates one or maps pages. It is known of the first pages of a request.
func (f *segmentFreeReader) wanted(i int) (bytes uint64, known bool) {
	e := &f.trace[i]
	if e.Action == spec.ActionSegmentAlloc {
		return e.Size, true
	}
	next := f.nextRequest(i)
	if next >= len(f.trace) || f.trace[next].Action != spec.ActionAlloc || i > 0 && f.trace[i-1].Action == spec.ActionSegmentMap {
		return e.Size, false
	}
	return f.settings.SegmentSize(f.trace[next].Size), true
}

// mayBeRefused reports whether a request may have been refused before segments were freed,
// from entry first up to entry i, which allocates a segment of that size or maps pages.
func (f *segmentFreeReader) mayBeRefused(i int, segment uint64) bool {
	if segment == 0 {
		return false
	}
	wanted, _ := f.wanted(i)
	return f.before+segment > f.peak || f.before+wanted > f.leastFraction
}

// stacksOfSegments reports whether freed segments have the call stacks of their own
// allocation.
func (f *segmentFreeReader) stacksOfSegments(first, end int) bool {
	for i := first; i < min(end, len(f.trace)); i++ {
		e := &f.trace[i]
		if e.Action == spec.ActionSegmentFree && !sameFrames(framesOf(e), f.allocatedBy[e.Addr]) {
			return false
		}
	}
	return true
}

// freesSmall reports whether a segment of a small pool, or a page, is among those freed.
func (f *segmentFreeReader) freesSmall(first, end int) bool {
	for i := first; i < end; i++ {
		if e := &f.trace[i]; e.Action == spec.ActionSegmentUnmap || e.Action == spec.ActionSegmentFree && e.SegmentPoolKind() == spec.SmallPool {
			return true
		}
	}
	return false
}

func sameFrames(a, b snapshot.Frames) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if *a[i] != *b[i] {
			return false
		}
	}
	return true
}

// nextRequest is the index of the first alloc or oom entry from i on.
func (f *segmentFreeReader) nextRequest(i int) int {
	for ; i < len(f.trace); i++ {
		if a := f.trace[i].Action; a == spec.ActionAlloc || a == spec.ActionOOM {
			return i
		}
	}
	return i
}

// UpperBounds are what a limit is at most, in bytes; 0 if there is no bound.
type UpperBounds struct{ Device, Fraction uint64 }

// below takes in that a full device, or a memory fraction, is below a number of reserved bytes.
func (u *UpperBounds) below(device, fraction uint64) {
	lower := func(to *uint64, bytes uint64) {
		if *to == 0 || bytes-1 < *to {
			*to = bytes - 1
		}
	}
	lower(&u.Device, device)
	lower(&u.Fraction, fraction)
}

// concludeKind says which limit it was, and its bounds.
func (f *segmentFreeReader) concludeKind() {
	b := &f.limit
	b.OfFraction = [2]uint64{f.leastFraction, cmp.Or(f.sure.Fraction, f.doubt.Fraction)}
	b.Doubtful = f.doubt
	b.Least, b.Most = f.peak, cmp.Or(f.sure.Device, f.doubt.Device)
	b.OfDevice, b.ByGarbage = [2]uint64{b.Least, b.Most}, f.collected && !f.fraction
	if f.full {
		b.OfDevice = [2]uint64{f.leastOfDevice, f.mostOfDevice}
	}
	switch {
	case f.fraction, f.collected:
		b.Kind, b.Inferred = FractionLimit, !f.collected
		b.Least, b.Most = b.OfFraction[0], b.OfFraction[1]
	case f.full:
		b.Kind = DeviceLimit
		b.Least, b.Most = f.leastOfDevice, f.mostOfDevice
		b.Moved = f.peak > f.leastOfDevice || f.leastOfDevice < f.mostOfDevice
	case b.Refused():
		b.Kind = UnknownLimit
	default:
		b.Kind = NoLimit
	}
	f.dropDoubt()
	if !b.Refused() || b.Most >= b.Least {
		return
	}
	// What was granted once was refused later: by a full device that other processes use
	// too, unless it was a memory fraction, or no refusal at all.
	switch {
	case b.Kind == UnknownLimit && b.OfFraction[0] <= b.OfFraction[1]:
		b.Least, b.Most = b.OfFraction[0], b.OfFraction[1]
	case b.Kind == UnknownLimit && f.sure.Device == 0:
		b.Least, b.Most = b.Most, b.Least
	default:
		b.Moved = true
		b.Least, b.Most = b.Most, b.Least
		if b.Kind == UnknownLimit {
			b.Kind = DeviceLimit
		}
	}
}

// dropDoubt takes doubtful frees for those of refused requests if it is certain that there
// was a limit, the requests came close to it, and the program never called empty_cache
// otherwise.
func (f *segmentFreeReader) dropDoubt() {
	b := &f.limit
	bound := f.doubt.Device
	if b.Kind == FractionLimit {
		bound = f.doubt.Fraction
	}
	const near = 8 // one part in eight
	if b.Kind != FractionLimit && b.Kind != DeviceLimit || b.Moved || f.doubtful == 0 || bound < b.Least || bound-b.Least > b.Least/near {
		return
	}
	for _, doubtful := range f.emptied {
		if !doubtful {
			return
		}
	}
	f.doubtful = 0
	if b.Kind == FractionLimit {
		b.Most = min(b.Most, bound)
		b.OfFraction[1] = b.Most
	}
}

// ReservedBytes are the bytes reserved at the start, and their peak.
func ReservedBytes(trace []snapshot.TraceEntry, start []spec.Segment) (atStart, peak uint64) {
	for i := range start {
		atStart += start[i].TotalSize
	}
	now := atStart
	peak = now
	for i := range trace {
		switch e := &trace[i]; e.Action {
		case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
			now += e.Size
			peak = max(peak, now)
		case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
			now -= min(e.Size, now)
		}
	}
	return atStart, peak
}

// AllocatedPeak is the peak of the allocated memory by the entries themselves, in bytes, each request
// as large as the settings round it. The record does not have how much larger a block is.
func AllocatedPeak(trace []snapshot.TraceEntry, start []spec.Segment, s Settings) (peak uint64) {
	now, sizes := uint64(0), map[spec.Ptr]uint64{}
	add := func(at spec.Ptr, bytes uint64) {
		now, sizes[at] = now+bytes-sizes[at], bytes
		peak = max(peak, now)
	}
	for i := range start {
		for _, b := range start[i].Blocks {
			if b.State == spec.ActiveAllocated {
				add(b.Address, b.Size)
			}
		}
	}
	for i := range trace {
		switch e := &trace[i]; e.Action {
		case spec.ActionAlloc:
			add(e.Addr, s.RoundedSize(e.Size))
		case spec.ActionFreeRequested:
			now -= sizes[e.Addr]
			delete(sizes, e.Addr)
		}
	}
	return peak
}
