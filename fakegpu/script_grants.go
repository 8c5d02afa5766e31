package fakegpu

import (
	"fmt"

	"gaugeblock/spec"
)

// grants are the requests that a recorded driver granted during one operation, in
// order. The driver's refusals were not recorded: a request was refused if it is
// not there.
//
// A recorded mapping stands for several calls: CreatePage for each of its pages,
// then MapPage for each. The event is over when all of it is mapped. Pages that
// were created for a mapping which then failed for lack of another page are
// released again, which takes their part in the event back.
type grants struct {
	events  []spec.TraceEntry // segment_alloc, segment_free, segment_map, segment_unmap
	created uint64            // bytes of pages created for events[0], a segment_map
	done    uint64            // bytes of events[0] that are mapped, or unmapped
}

func newGrants(events []spec.TraceEntry) *grants {
	g := &grants{}
	for _, e := range events {
		switch e.Action {
		case spec.ActionSegmentAlloc, spec.ActionSegmentFree, spec.ActionSegmentMap, spec.ActionSegmentUnmap:
			g.events = append(g.events, e)
		}
	}
	return g
}

func (g *grants) finished() bool { return len(g.events) == 0 }

func (g *grants) next() { g.events, g.created, g.done = g.events[1:], 0, 0 }

// at reports whether the next event is of a kind.
func (g *grants) at(action spec.Action) bool {
	return len(g.events) > 0 && g.events[0].Action == action
}

// describe names the next event.
func (g *grants) describe() string {
	if g.finished() {
		return "end of the operation"
	}
	e := g.events[0]
	return fmt.Sprintf("%v of %d bytes at %v", e.Action, e.Size, e.Addr)
}

// The Script's side of it. Each is called for a driver call on the script's
// device, whether or not grants are set.

// grantsPiece says what the recorded driver would have said to a Malloc; decided
// is false when that does not count.
func (s *Script) grantsPiece(bytes uint64) (granted, decided bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.grants
	if g == nil {
		return false, false
	}
	if !g.at(spec.ActionSegmentAlloc) || g.events[0].Size != bytes {
		return false, true
	}
	g.next()
	return true, true
}

// grantsPage says what the recorded driver would have said to a CreatePage.
func (s *Script) grantsPage(bytes uint64) (granted, decided bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.grants
	if g == nil {
		return false, false
	}
	if !g.at(spec.ActionSegmentMap) || g.created+bytes > g.events[0].Size {
		return false, true
	}
	g.created += bytes
	return true, true
}

// pageDropped hears of a page that was released without having been mapped.
func (s *Script) pageDropped(bytes uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.grants; g != nil && g.at(spec.ActionSegmentMap) && g.created >= bytes {
		g.created -= bytes
	}
}

// pageMapped hears of a page that was mapped.
func (s *Script) pageMapped(r spec.Range) { s.partDone(spec.ActionSegmentMap, "MapPage", r) }

// pageUnmapped hears of a page that was unmapped.
func (s *Script) pageUnmapped(r spec.Range) { s.partDone(spec.ActionSegmentUnmap, "UnmapPage", r) }

// pieceFreed hears of a Free.
func (s *Script) pieceFreed(r spec.Range) { s.partDone(spec.ActionSegmentFree, "Free", r) }

// partDone moves on in an event that a call must be a part of.
func (s *Script) partDone(action spec.Action, call string, r spec.Range) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.grants
	if g == nil {
		return
	}
	if !g.at(action) || !(spec.Range{Ptr: g.events[0].Addr, Bytes: g.events[0].Size}).Contains(r) {
		s.note("%s of %d bytes at %v: recorded is %s", call, r.Bytes, r.Ptr, g.describe())
		return
	}
	g.done += r.Bytes
	if g.done == g.events[0].Size {
		g.next()
	}
}
