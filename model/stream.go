package model

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
)

// Streams and events. Work in a stream runs in order. Most of it completes at once
// and leaves no trace here; what is noted is work that does not: a hold in the stream
// (Busy), which may stand for work that uses memory (Launch). What is given to the
// stream behind it does not complete before it. Complete lets the oldest go, Drain
// all.
//
// A block that other streams used when it was freed waits for an event in each of
// them. An event stands behind all holds that are in its stream at that time.

// A Stream is how far a stream has come.
type Stream struct {
	ID        spec.DeviceStream
	Completed int          // holds that are over
	Work      []spec.Range // those that are not, in order, with the memory that they use
}

// holds is how many were ever put into the stream.
func (x *Stream) launched() int { return x.Completed + len(x.Work) }

// pass lets the oldest holds go until so many have been.
func (x *Stream) completeTo(holds int) {
	if n := holds - x.Completed; n > 0 {
		x.Completed, x.Work = holds, x.Work[n:]
	}
}

func (x Stream) equal(y Stream) bool {
	return x.ID == y.ID && x.Completed == y.Completed && slices.Equal(x.Work, y.Work)
}

// Busy holds up a stream from here on.
func (s State) Busy(id spec.DeviceStream) State { return s.Launch(id, spec.Range{}) }

// Launch puts work into a stream that uses memory and takes its time.
func (s State) Launch(id spec.DeviceStream, memory spec.Range) State {
	s = s.copy()
	stream := s.stream(id)
	stream.Work = append(stream.Work, memory)
	return s
}

// Complete lets the oldest work in a stream complete that has not.
func (s State) Complete(id spec.DeviceStream) State {
	s = s.copy()
	stream := s.stream(id)
	stream.completeTo(min(stream.Completed+1, stream.launched()))
	return s
}

// Drain lets everything in a stream complete.
func (s State) Drain(id spec.DeviceStream) State {
	s = s.copy()
	stream := s.stream(id)
	stream.completeTo(stream.launched())
	return s
}

// stream finds a stream, and notes it if it was not known.
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

// passed reports whether all work before an event has completed.
func (s *State) isCompleted(e Event) bool {
	i := slices.IndexFunc(s.Streams, func(x Stream) bool { return x.ID == e.Stream })
	return i < 0 || e.After <= s.Streams[i].Completed
}

// recordEvents makes a block wait for the present end of each stream that used
// it. A new event stands behind the others of its stream.
func (s *State) insertEvents(b *Block) {
	for _, id := range b.StreamUses {
		e := Event{Stream: id, Block: b.Address}
		if i := slices.IndexFunc(s.Streams, func(x Stream) bool { return x.ID == id }); i >= 0 {
			e.After = s.Streams[i].launched()
		}
		at := 0
		for at < len(s.Events) && compareStreams(s.Events[at].Stream, id) <= 0 {
			at++
		}
		s.Events = slices.Insert(s.Events, at, e)
	}
	b.StreamUses = nil
	b.State = spec.ActivePendingFree
}

// Reclaim is what a malloc begins with: blocks that wait for nothing more become free.
func (s State) ProcessEvents() State {
	s = s.copy()
	s.processEvents()
	return s
}

// Synchronize is what emptying the cache begins with: all events are waited for.
func (s State) SynchronizeAndFreeEvents() State {
	s = s.copy()
	s.processDeferredFrees()
	s.synchronizeAndFreeEvents()
	return s
}

// processEvents frees the blocks whose events have all been passed. Of each stream
// the events are looked at in order, up to the first that has not been passed.
func (s *State) freeCompleted() {
	for i := 0; i < len(s.Events); {
		e := s.Events[i]
		if s.isCompleted(e) {
			s.completeEvent(i)
			continue
		}
		for i < len(s.Events) && s.Events[i].Stream == e.Stream {
			i++
		}
	}
}

// waitForEvents waits until every event has been passed, and frees the blocks.
// Streams catch up only as far as that needs.
func (s *State) synchronizeAndFreeEvents() {
	s.Counters.NumSyncAllStreams++
	for len(s.Events) > 0 {
		e := s.Events[0]
		s.stream(e.Stream).completeTo(e.After)
		s.completeEvent(0)
	}
}

// complete strikes an event out, and frees its block if it was the block's last.
func (s *State) completeEvent(i int) {
	address := s.Events[i].Block
	s.Events = slices.Delete(s.Events, i, i+1)
	if slices.ContainsFunc(s.Events, func(e Event) bool { return e.Block == address }) {
		return
	}
	p, _ := s.find(func(_ *Segment, b *Block) bool { return b.Address == address })
	s.freeBlock(p)
}

// Rename gives the streams of a device other names, each another one.
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
	return s
}
