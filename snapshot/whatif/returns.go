package whatif

import (
	"gaugeblock/model"
	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// Segments go back to the driver for two reasons: a request could not be served
// otherwise, or the program emptied the cache. A trace does not say which. What
// follows does: after a refusal comes the segment that the request needed, or an oom
// entry. And where the driver was asked for no more than it gave at another time, it
// had not refused.
//
// Where old segments are collected (garbage_collection_threshold) or oversize ones
// released (max_split_size), returns are taken to be the allocator's own.
//
// What was refused and what was granted also bounds the limit that was in force.

// returns is what a trace shows of them.
type returns struct {
	emptied map[int]bool // indexes of entries before which the program emptied the cache
	limit   LimitBounds
}

// LimitBounds is what a record shows of the limit on what may be held, in bytes. It
// is at least Least, since that was held, and at most Most, beyond which something
// was refused; 0 if nothing was. If it is known, because the device itself was full or
// the limit was recorded, the two are equal.
type LimitBounds struct{ Least, Most uint64 }

// Known reports whether there is no question.
func (b LimitBounds) Known() bool { return b.Least == b.Most }

// Refused reports whether the run met its limit.
func (b LimitBounds) Refused() bool { return b.Most > 0 }

// Allows reports whether a limit (0 for none) may have been the one in force.
func (b LimitBounds) Allows(limit uint64) bool {
	if limit == 0 {
		return !b.Refused()
	}
	return b.Least <= limit && (!b.Refused() || limit <= b.Most)
}

// returnFinder goes through a trace.
type returnFinder struct {
	returns
	collects bool   // it does so without having been refused anything
	own      bool   // the allocator returns segments of its own accord
	most     uint64 // bytes held at any time
	reserved uint64
	first    int    // entry of the present run of returns, -1 outside
	before   uint64 // what was held when it began
}

func findReturns(trace []snapshot.Entry, start []spec.Segment, cfg spec.Config) returns {
	atStart, most := mostReserved(trace, start)
	f := returnFinder{
		returns: returns{map[int]bool{}, LimitBounds{Least: most}}, most: most,
		own:      cfg.GarbageCollectionThreshold > 0 || cfg.MaxSplitSize != spec.Unlimited,
		collects: cfg.GarbageCollectionThreshold > 0,
		reserved: atStart, first: -1,
	}
	for i := range trace {
		f.entry(i, &trace[i], &cfg)
	}
	f.endRun(false)
	return f.returns
}

func (f *returnFinder) entry(i int, e *snapshot.Entry, cfg *spec.Config) {
	switch e.Action {
	case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
		if f.first < 0 {
			f.first, f.before = i, f.reserved
		}
		f.reserved -= min(e.Size, f.reserved)
	case spec.ActionFreeCompleted, spec.ActionSnapshot: // events that were waited for
	case spec.ActionOOM:
		segment := model.SegmentSize(e.Size, *cfg, spec.DefaultGeometry())
		f.refused(f.reserved + segment)
		if free := uint64(e.Addr); free > 0 && free < segment {
			full := f.reserved + free
			f.limit = LimitBounds{max(full, f.most), max(full, f.most)}
		}
		f.endRun(true)
	case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
		needed := f.own || f.before+e.Size > f.most
		if f.first >= 0 && needed && !f.collects {
			f.refused(f.before + e.Size)
		}
		f.endRun(needed)
		f.reserved += e.Size
	default:
		f.endRun(false)
	}
}

// endRun ends a run of returns, if there is one.
func (f *returnFinder) endRun(needed bool) {
	if f.first >= 0 && !needed {
		f.emptied[f.first] = true
	}
	f.first = -1
}

// refused notes that so many bytes would have been too many.
func (f *returnFinder) refused(bytes uint64) {
	if !f.limit.Known() && (!f.limit.Refused() || bytes-1 < f.limit.Most) {
		f.limit.Most = bytes - 1
	}
}

// mostReserved is how much was held from the driver at the start, and at most.
func mostReserved(trace []snapshot.Entry, start []spec.Segment) (atStart, most uint64) {
	for i := range start {
		atStart += start[i].TotalSize
	}
	now := atStart
	most = now
	for i := range trace {
		switch e := &trace[i]; e.Action {
		case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
			now += e.Size
			most = max(most, now)
		case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
			now -= min(e.Size, now)
		}
	}
	return atStart, most
}
