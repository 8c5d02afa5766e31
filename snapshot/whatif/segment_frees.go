package whatif

import (
	"math"

	"gaugeblock/model"
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
	doubtful int    // of the refusals
	peak     uint64 // of reserved bytes
}

// refusal is a request for which the driver, or a memory fraction, had no memory at first.
type refusal struct {
	entry int    // index of its alloc or oom entry
	room  uint64 // bytes that could be reserved at that time: what was, afterwards
}

// segmentFreeReader reads a history from its start.
type segmentFreeReader struct {
	segmentFrees
	trace           []snapshot.TraceEntry
	known           map[int]bool                 // of entries: whether the program emptied the cache; from a trace
	hasFrames       bool                         // of requests
	allocatedBy     map[spec.Ptr]snapshot.Frames // of segments
	garbageCollects bool                         // segments are freed although no request was refused
	collected       bool                         // that happened, so there was a memory fraction
	threshold       float64                      // of garbage collection
	reserved        uint64
	first           int    // entry of the present sequence of frees, -1 outside of one
	before          uint64 // reserved bytes when it began
	fraction, full  bool   // a memory fraction, or a full device, refused a request
	mostOfDevice    uint64 // the largest and the smallest room of a full device
	leastOfDevice   uint64
}

// inferSegmentFrees reads a history. known has the entries of which a trace records
// whether the program called empty_cache; nil for a snapshot.
func inferSegmentFrees(trace []snapshot.TraceEntry, start []spec.Segment, cfg spec.Config, known map[int]bool) segmentFrees {
	atStart, peak := reservedBytes(trace, start)
	f := segmentFreeReader{
		segmentFrees: segmentFrees{emptied: map[int]bool{}, limit: LimitBounds{Least: peak}, peak: peak}, trace: trace, known: known,
		allocatedBy:     map[spec.Ptr]snapshot.Frames{},
		garbageCollects: cfg.GarbageCollectionThreshold > 0, threshold: cfg.GarbageCollectionThreshold,
		reserved: atStart, first: -1,
	}
	for i := range trace {
		f.hasFrames = f.hasFrames || trace[i].Action == spec.ActionAlloc && len(framesOf(&trace[i])) > 0
	}
	for i := range trace {
		f.entry(i, &trace[i], &cfg)
	}
	f.endSequence(len(trace), 0)
	f.concludeKind()
	return f.segmentFrees
}

func framesOf(e *snapshot.TraceEntry) snapshot.Frames {
	if e.Context == nil {
		return nil
	}
	return e.Context.Frames
}

func (f *segmentFreeReader) entry(i int, e *snapshot.TraceEntry, cfg *spec.Config) {
	switch e.Action {
	case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
		if f.first < 0 {
			f.first, f.before = i, f.reserved
		}
		f.reserved -= min(e.Size, f.reserved)
	case spec.ActionFreeCompleted, spec.ActionSnapshot: // the allocator waited for events
	case spec.ActionOOM:
		f.endSequence(i, 0)
		f.outOfMemory(i, e, model.SegmentSize(e.Size, *cfg, spec.DefaultGeometry()))
	case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
		f.endSequence(i, e.Size)
		f.reserved += e.Size
		f.allocatedBy[e.Addr] = framesOf(e)
	default:
		f.endSequence(i, 0)
	}
}

// outOfMemory takes in an oom entry, whose request needed a segment of so many bytes.
func (f *segmentFreeReader) outOfMemory(i int, e *snapshot.TraceEntry, segment uint64) {
	free := uint64(e.Addr)
	if free >= segment {
		f.fraction = true
	} else {
		room := f.reserved + free
		if !f.full {
			f.leastOfDevice = room
		}
		f.full = true
		f.leastOfDevice, f.mostOfDevice = min(f.leastOfDevice, room), max(f.mostOfDevice, room)
	}
	f.refused(f.reserved + segment)
	f.refusals = append(f.refusals, refusal{i, f.reserved + min(free, segment-1)})
}

// endSequence ends a sequence of frees, if there is one, before the entry i, which
// allocates a segment of so many bytes if it is not 0.
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
	if i < len(f.trace) && f.trace[i].Action == spec.ActionOOM {
		return // which is a refusal itself
	}
	if f.garbageCollects {
		if f.before+segment <= f.peak { // nothing was refused, so these are garbage
			f.collected = true
			f.refused(uint64(math.Ceil(float64(f.before) / f.threshold)))
		}
		return
	}
	f.refused(f.before + segment)
	f.refusals = append(f.refusals, refusal{f.nextRequest(i), f.reserved + segment})
	if !certain {
		f.doubtful++
		f.emptied[first] = true
	}
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
	case f.garbageCollects:
		return false, true
	case !oom && (segment == 0 || f.before+segment <= f.peak):
		return true, true
	}
	next := f.nextRequest(i)
	if !f.hasFrames || next >= len(f.trace) || len(framesOf(&f.trace[next])) == 0 {
		return false, oom
	}
	ofRequest := sameFrames(stack, framesOf(&f.trace[next]))
	return !ofRequest, oom || !ofRequest || !f.stacksOfSegments(first, i)
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

func sameFrames(a, b snapshot.Frames) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
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

// refused takes in that the limit is below so many reserved bytes.
func (f *segmentFreeReader) refused(bytes uint64) {
	if !f.limit.Refused() || bytes-1 < f.limit.Most {
		f.limit.Most = bytes - 1
	}
}

// concludeKind says which limit it was.
func (f *segmentFreeReader) concludeKind() {
	b := &f.limit
	switch {
	case f.fraction, f.collected:
		b.Kind = FractionLimit
	case f.full:
		b.Kind = DeviceLimit
		b.Least, b.Most = f.leastOfDevice, f.mostOfDevice
		b.Moved = f.peak > f.leastOfDevice || f.leastOfDevice < f.mostOfDevice
	case b.Refused():
		b.Kind = UnknownLimit
	default:
		b.Kind = NoLimit
	}
	if b.Refused() && b.Most < b.Least { // what was granted once was refused later
		b.Moved = true
		b.Least, b.Most = b.Most, b.Least
		if b.Kind == UnknownLimit {
			b.Kind = DeviceLimit
		}
	}
}

// reservedBytes are the bytes reserved at the start, and their peak.
func reservedBytes(trace []snapshot.TraceEntry, start []spec.Segment) (atStart, peak uint64) {
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
