package whatif

import (
	"gaugeblock/model"
	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// The allocator frees segments for two reasons: a segment could not be allocated for a
// request, or the program called empty_cache. The history does not record which. It
// follows from the next entries. After a failed cudaMalloc comes the segment that the
// request needed, or an oom entry. And if no more memory would have been reserved than at
// another time, cudaMalloc had not failed.
//
// With garbage_collection_threshold the allocator also frees old segments, and with
// max_split_size it releases oversize blocks. There all frees are taken to be its own.
//
// The requests that failed and those that did not also bound the limit in force.

// segmentFrees is what a history shows of freed segments.
type segmentFrees struct {
	emptied map[int]bool // indexes of entries before which the program called empty_cache
	limit   LimitBounds
}

// LimitBounds bound the limit on reserved memory that was in force, in bytes. It is at
// least Least, which was reserved. It is at most Most: more was refused; 0 if nothing was.
// If the limit is known, because the device itself was full or the limit was recorded,
// the two are equal.
type LimitBounds struct{ Least, Most uint64 }

// Known reports whether the limit is known.
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

// segmentFreeReader reads a history from its start.
type segmentFreeReader struct {
	segmentFrees
	garbageCollects bool   // segments are freed although no request was refused
	releasesUnasked bool   // the allocator frees segments by itself
	peak            uint64 // of reserved bytes
	reserved        uint64
	first           int    // entry of the present sequence of frees, -1 outside of one
	before          uint64 // reserved bytes when it began
}

func inferSegmentFrees(trace []snapshot.TraceEntry, start []spec.Segment, cfg spec.Config) segmentFrees {
	atStart, peak := reservedBytes(trace, start)
	f := segmentFreeReader{
		segmentFrees: segmentFrees{map[int]bool{}, LimitBounds{Least: peak}}, peak: peak,
		releasesUnasked: cfg.GarbageCollectionThreshold > 0 || cfg.MaxSplitSize != spec.Unlimited,
		garbageCollects: cfg.GarbageCollectionThreshold > 0,
		reserved:        atStart, first: -1,
	}
	for i := range trace {
		f.entry(i, &trace[i], &cfg)
	}
	f.endSequence(false)
	return f.segmentFrees
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
		segment := model.SegmentSize(e.Size, *cfg, spec.DefaultGeometry())
		f.refused(f.reserved + segment)
		if free := uint64(e.Addr); free > 0 && free < segment {
			full := f.reserved + free
			f.limit = LimitBounds{max(full, f.peak), max(full, f.peak)}
		}
		f.endSequence(true)
	case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
		needed := f.releasesUnasked || f.before+e.Size > f.peak
		if f.first >= 0 && needed && !f.garbageCollects {
			f.refused(f.before + e.Size)
		}
		f.endSequence(needed)
		f.reserved += e.Size
	default:
		f.endSequence(false)
	}
}

// endSequence ends a sequence of frees, if there is one.
func (f *segmentFreeReader) endSequence(needed bool) {
	if f.first >= 0 && !needed {
		f.emptied[f.first] = true
	}
	f.first = -1
}

// refused takes in that the limit is below so many reserved bytes.
func (f *segmentFreeReader) refused(bytes uint64) {
	if !f.limit.Known() && (!f.limit.Refused() || bytes-1 < f.limit.Most) {
		f.limit.Most = bytes - 1
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
