package fakegpu

import "gaugeblock/spec"

// outcomes are what a recorded driver did for an allocator during one operation, in
// order. The driver's refusals were not recorded: a request failed if it is not
// there.
//
// A recorded mapping stands for several calls: CreatePage for each of its pages,
// then MapPage for each. The entry is over when all of it is mapped. Pages that
// were created for a mapping which then failed for lack of another page are
// released again, which takes their part in the entry back.
type outcomes struct {
	entries []spec.TraceEntry // segment_alloc, segment_free, segment_map, segment_unmap
	created uint64            // bytes of pages created for entries[0], a segment_map
	done    uint64            // bytes of entries[0] that are mapped, or unmapped
}

func newOutcomes(entries []spec.TraceEntry) *outcomes {
	o := &outcomes{}
	for _, e := range entries {
		switch e.Action {
		case spec.ActionSegmentAlloc, spec.ActionSegmentFree, spec.ActionSegmentMap, spec.ActionSegmentUnmap:
			o.entries = append(o.entries, e)
		}
	}
	return o
}

func (o *outcomes) next() { o.entries, o.created, o.done = o.entries[1:], 0, 0 }

// at reports whether outcomes are recorded and the next is of a kind.
func (o *outcomes) at(action spec.Action) bool {
	return o != nil && len(o.entries) > 0 && o.entries[0].Action == action
}

// The Script's side of it. Each is called for a driver call on the script's
// device, whether or not outcomes are recorded.

// mallocOutcome says whether the recorded driver's Malloc of this size succeeded;
// recorded is false when that does not count.
func (s *Script) mallocOutcome(bytes uint64) (succeeded, recorded bool) {
	o := s.outcomes
	if !o.at(spec.ActionSegmentAlloc) || o.entries[0].Size != bytes {
		return false, o != nil
	}
	o.next()
	return true, true
}

// createPageOutcome says whether the recorded driver's CreatePage succeeded.
func (s *Script) createPageOutcome(bytes uint64) (succeeded, recorded bool) {
	o := s.outcomes
	if !o.at(spec.ActionSegmentMap) || o.created+bytes > o.entries[0].Size {
		return false, o != nil
	}
	o.created += bytes
	return true, true
}

// pageDropped: a page was released without having been mapped.
func (s *Script) pageDropped(bytes uint64) {
	if o := s.outcomes; o.at(spec.ActionSegmentMap) && o.created >= bytes {
		o.created -= bytes
	}
}

// pageMapped: a page was mapped.
func (s *Script) pageMapped(r spec.Range) { s.partDone(spec.ActionSegmentMap, r) }

// pageUnmapped: a page was unmapped.
func (s *Script) pageUnmapped(r spec.Range) { s.partDone(spec.ActionSegmentUnmap, r) }

// pieceFreed: Free was called.
func (s *Script) pieceFreed(r spec.Range) { s.partDone(spec.ActionSegmentFree, r) }

// partDone moves on in the next entry if a call is a part of it.
func (s *Script) partDone(action spec.Action, r spec.Range) {
	o := s.outcomes
	if !o.at(action) || !(spec.Range{Ptr: o.entries[0].Addr, Bytes: o.entries[0].Size}).Contains(r) {
		return
	}
	o.done += r.Bytes
	if o.done == o.entries[0].Size {
		o.next()
	}
}
