package model

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
)

// Streams and events. The work in a stream runs in order. Work that completes at once
// is not in the model. Launch adds a piece of work that is pending until Complete
// (the oldest piece of a stream) or Drain (all of them). Busy is a Launch that uses no
// memory.
//
// When a block with stream uses is freed, an event is recorded in each of these
// streams. The event is complete when all work that was launched into its stream
// before it is complete.

// A Stream is the work of a stream.
type Stream struct {
	ID        spec.DeviceStream
	Completed int          // how many pieces of work are complete
	Work      []spec.Range // the memory that each pending piece uses, oldest piece first
}

// launched is how many pieces of work were ever launched.
func (x Stream) launched() int { return x.Completed + len(x.Work) }

// completeTo completes the oldest pieces until a number of them are complete.
func (x *Stream) completeTo(pieces int) {
	if n := pieces - x.Completed; n > 0 {
		x.Completed, x.Work = pieces, x.Work[n:]
	}
}

func (x Stream) equal(y Stream) bool {
	return x.ID == y.ID && x.Completed == y.Completed && slices.Equal(x.Work, y.Work)
}

// Busy launches a piece of work that uses no memory.
func (s State) Busy(id spec.DeviceStream) State { return s.Launch(id, spec.Range{}) }

// Launch launches a piece of work that uses memory.
func (s State) Launch(id spec.DeviceStream, memory spec.Range) State {
	s = s.copy()
	stream := s.stream(id)
	stream.Work = append(stream.Work, memory)
	return s
}

// Complete completes the oldest pending piece of work of a stream.
func (s State) Complete(id spec.DeviceStream) State {
	s = s.copy()
	stream := s.stream(id)
	stream.completeTo(min(stream.Completed+1, stream.launched()))
	return s
}

// Drain completes all work of a stream.
func (s State) Drain(id spec.DeviceStream) State {
	s = s.copy()
	s.drain(id)
	return s
}

// drain completes the work of a stream, if any was ever launched.
func (s *State) drain(id spec.DeviceStream) {
	for i := range s.Streams {
		if x := &s.Streams[i]; x.ID == id {
			x.completeTo(x.launched())
		}
	}
}

// stream finds a stream, and adds it if it is not there.
func (s *State) stream(id spec.DeviceStream) *Stream {
	at, known := slices.BinarySearchFunc(s.Streams, id, func(x Stream, id spec.DeviceStream) int {
		return compareStreams(x.ID, id)
	})
	if !known {
		s.Streams = slices.Insert(s.Streams, at, Stream{ID: id})
	}
	return &s.Streams[at]
}

// compareStreams orders streams by handle, then device.
func compareStreams(a, b spec.DeviceStream) int {
	return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Device, b.Device))
}

// StreamOf is the work of a stream, which is not added if it is not there.
func (s *State) StreamOf(id spec.DeviceStream) Stream {
	for _, x := range s.Streams {
		if x.ID == id {
			return x
		}
	}
	return Stream{ID: id}
}

// isCompleted reports whether all work before an event is complete.
func (s *State) isCompleted(e Event) bool { return e.After <= s.StreamOf(e.Stream).Completed }

// recordEvents is the driver calls of insertEvents, which come before all that it changes.
func (s *State) recordEvents(uses []spec.DeviceStream) {
	for range uses {
		s.driverCall(callRecordEvent)
	}
}

// insertEvents queues an event in each stream that uses a freed block.
func (s *State) insertEvents(b *Block) {
	s.aboutEvents(RecordEvent, len(b.StreamUses))
	for _, id := range b.StreamUses {
		s.Events = append(s.Events, Event{Stream: id, Block: b.Address, After: s.StreamOf(id).launched()})
	}
	slices.SortStableFunc(s.Events, func(x, y Event) int { return compareStreams(x.Stream, y.Stream) })
	b.StreamUses = nil
	b.State = spec.ActivePendingFree
}

// ProcessEvents is the first step of a malloc: blocks whose events are all complete
// become inactive.
func (s State) ProcessEvents() State {
	s = s.copy()
	s.processEvents()
	s.renumber()
	return s
}

// SynchronizeAndFreeEvents is the first step of EmptyCache: it waits for all events.
func (s State) SynchronizeAndFreeEvents() State {
	s = s.copy()
	s.insertEventsDeferredUntilNoCapture()
	s.synchronizeAndFreeEvents()
	s.renumber()
	return s
}

// freeCompleted removes the completed events, and frees the blocks that have no other
// event. The events of a stream are tested in order, up to the first that is not
// complete.
func (s *State) freeCompleted() {
	if s.freeForbidden() {
		return // a capture that forbids to free memory forbids to query events
	}
	s.aboutEvents(QueryEvent, len(s.Events))
	for i := 0; i < len(s.Events); {
		e := s.Events[i]
		s.driverCall(callQueryEvent)
		if s.isCompleted(e) {
			s.completeEvent(i)
			continue
		}
		for i < len(s.Events) && s.Events[i].Stream == e.Stream {
			i++
		}
	}
}

// synchronizeAndFreeEvents waits for every event and frees the blocks. Only the work
// before an event completes.
func (s *State) synchronizeAndFreeEvents() {
	s.Counters.NumSyncAllStreams++
	s.aboutEvents(WaitEvent, len(s.Events))
	for len(s.Events) > 0 {
		e := s.Events[0]
		s.driverCall(callSynchronizeEvent)
		s.stream(e.Stream).completeTo(e.After)
		s.completeEvent(0)
	}
}

// completeEvent removes an event, and frees its block if it was the block's last.
func (s *State) completeEvent(i int) {
	address := s.Events[i].Block
	s.Events = slices.Delete(s.Events, i, i+1)
	if slices.ContainsFunc(s.Events, func(e Event) bool { return e.Block == address }) {
		return
	}
	p, _ := s.find(func(_ *Segment, b *Block) bool { return b.Address == address })
	s.freeBlock(p)
}

// Rename replaces the handles of all streams. to must be injective.
func (s State) Rename(to func(spec.Stream) spec.Stream) State {
	s = s.copy()
	for i := range s.Segments {
		g := &s.Segments[i]
		g.Stream = to(g.Stream)
		for j := range g.Blocks {
			uses := g.Blocks[j].StreamUses
			for k := range uses {
				uses[k].Stream = to(uses[k].Stream)
			}
			slices.SortFunc(uses, compareStreams)
		}
	}
	for i := range s.Streams {
		s.Streams[i].ID.Stream = to(s.Streams[i].ID.Stream)
	}
	slices.SortFunc(s.Streams, func(x, y Stream) int { return compareStreams(x.ID, y.ID) })
	for i := range s.Events {
		s.Events[i].Stream.Stream = to(s.Events[i].Stream.Stream)
	}
	slices.SortStableFunc(s.Events, func(x, y Event) int { return compareStreams(x.Stream, y.Stream) })
	for i := range s.PendingMallocs {
		s.PendingMallocs[i].Stream = to(s.PendingMallocs[i].Stream)
	}
	for i := range s.Routings {
		s.Routings[i].Stream = to(s.Routings[i].Stream)
	}
	for i := range s.GraphStreamUses {
		s.GraphStreamUses[i].Stream.Stream = to(s.GraphStreamUses[i].Stream.Stream)
	}
	s.Truth = s.Truth.rename(to)
	return s
}
