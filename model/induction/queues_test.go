package induction

import (
	"gaugeblock/model"
	"gaugeblock/model/bounded"
	"gaugeblock/spec"
)

// eachQueue yields the states that have these segments: all events and all pending work.
// The parts of the conjunction prune early what they forbid.
func (u *Universe) eachQueue(segments []model.Segment, yield func(*model.State)) {
	blocks := pending(segments)
	usable := u.usable(segments, blocks)
	u.eachLength(nil, usable, func(lengths []int) {
		u.eachEvents(nil, blocks, lengths, 0, func(events []model.Event) {
			s := u.state(segments)
			s.Events = events
			if broken(u.ofEvents, u.withWork(s, blanks(lengths))) == "" {
				u.eachWork(s, usable, blanks(lengths), 0, 0, yield)
			}
		})
	})
}

// usable lists, for each stream, the memory that its work can use with whatever events: as
// if each block that waits had an event in each stream, behind all work.
func (u *Universe) usable(segments []model.Segment, blocks []spec.Ptr) (usable [][]spec.Range) {
	s := u.state(segments)
	lengths := make([]int, len(u.bounds.Streams))
	for _, stream := range u.bounds.Streams {
		for _, b := range blocks {
			s.Events = append(s.Events, model.Event{Stream: spec.DeviceStream{Stream: stream}, Block: b, After: 1})
		}
	}
	for stream := range lengths {
		var list []spec.Range
		for _, r := range u.ranges {
			if u.allows(s, lengths, stream, 0, r) {
				list = append(list, r)
			}
		}
		usable = append(usable, list)
	}
	return usable
}

// allows reports whether a piece of work may use memory, whatever the other pieces use. An
// empty range stands for a piece that is not known.
func (u *Universe) allows(s *model.State, lengths []int, stream, piece int, memory spec.Range) bool {
	work := blanks(lengths)
	if len(work[stream]) <= piece {
		work[stream] = make([]spec.Range, piece+1)
	}
	work[stream][piece] = memory
	return broken(u.ofWork, u.withWork(s, work)) == ""
}

// eachLength yields how many pieces of work each stream has: none, if there is no memory
// that they can use.
func (u *Universe) eachLength(before []int, usable [][]spec.Range, yield func([]int)) {
	stream := len(before)
	if stream == len(usable) {
		yield(before)
		return
	}
	for n := range u.Work + 1 {
		if n == 0 || len(usable[stream]) > 0 {
			u.eachLength(append(before[:stream:stream], n), usable, yield)
		}
	}
}

// eachEvents yields the events of the streams from the one with an index on: any blocks
// that wait, in any order, behind any work.
func (u *Universe) eachEvents(before []model.Event, blocks []spec.Ptr, lengths []int, stream int, yield func([]model.Event)) {
	if stream == len(lengths) {
		yield(before)
		return
	}
	id := spec.DeviceStream{Stream: u.bounds.Streams[stream]}
	var extend func(before []model.Event, n int)
	extend = func(before []model.Event, n int) {
		u.eachEvents(before, blocks, lengths, stream+1, yield)
		if n == u.Events {
			return
		}
		for _, b := range blocks {
			for after := range lengths[stream] + 1 {
				e := model.Event{Stream: id, Block: b, After: after}
				if last := len(before) - 1; n > 0 && before[last].After > after {
					continue // EventsInOrder
				}
				extend(append(before[:len(before):len(before)], e), n+1)
			}
		}
	}
	extend(before, 0)
}

// eachWork yields the states with all pieces of work from one on.
func (u *Universe) eachWork(s *model.State, usable, work [][]spec.Range, stream, piece int, yield func(*model.State)) {
	switch {
	case stream == len(work):
		yield(u.withWork(s, work))
		return
	case piece == len(work[stream]):
		u.eachWork(s, usable, work, stream+1, 0, yield)
		return
	}
	for _, r := range usable[stream] {
		if u.allows(s, lengths(work), stream, piece, r) {
			work[stream][piece] = r
			u.eachWork(s, usable, work, stream, piece+1, yield)
		}
	}
	work[stream][piece] = spec.Range{}
}

func lengths(work [][]spec.Range) (lengths []int) {
	for _, queue := range work {
		lengths = append(lengths, len(queue))
	}
	return lengths
}

func blanks(lengths []int) (work [][]spec.Range) {
	for _, n := range lengths {
		work = append(work, make([]spec.Range, n))
	}
	return work
}

// withWork is a state with other work.
func (u *Universe) withWork(s *model.State, work [][]spec.Range) *model.State {
	next := *s
	next.Streams = nil
	for i, queue := range work {
		x := model.Stream{ID: spec.DeviceStream{Stream: u.bounds.Streams[i]}}
		x.Work = append(x.Work, queue...)
		next.Streams = append(next.Streams, x)
	}
	return &next
}

// allRanges lists the memory that work can use.
func (u *Universe) allRanges() (list []spec.Range) {
	end := bounded.AddressBase + spec.Ptr(u.addresses())
	for at := bounded.AddressBase; at < end; at++ {
		for size := uint64(1); size <= u.bounds.Memory && at+spec.Ptr(size) <= end; size++ {
			list = append(list, spec.Range{Ptr: at, Bytes: size})
		}
	}
	return list
}
