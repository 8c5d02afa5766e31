package induction

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/spec"
)

// Without returns a counterexample to induction without one of the lemmas: a step from a
// state that breaks this lemma and satisfies all others and the goals, to a state that does
// not. It is nil if there is none among the states tried: those that differ in one thing
// from a state of the universe.
func (u *Universe) Without(lemma string) (found *Step) {
	rest, left := except(u.all, lemma)
	try := func(s *model.State) {
		if found == nil && !left.Holds(s) && broken(rest, s) == "" {
			_, found = u.stepsFrom(s, rest)
		}
	}
	for _, segments := range u.layouts() {
		u.eachQueue(segments, func(s *model.State) {
			if found == nil {
				changes[lemma](u, s, try)
			}
		})
		if found != nil {
			break
		}
	}
	return found
}

// changes has, for each lemma, states that differ from a state in one thing.
var changes = map[string]func(u *Universe, s *model.State, try func(*model.State)){
	"BlocksTileSegments":          (*Universe).changeBlockSizes,
	"SizesAndAlignment":           (*Universe).changeSegmentKinds,
	"RequestsFit":                 (*Universe).changeRequests,
	"AllocatedBlocksWereGivenOut": (*Universe).changeHeld,
	"UsesWereTouched":             (*Universe).forgetUses,
	"SegmentsWereGranted":         (*Universe).changeGrants,
	"HeldBlocksAreAwaited":        (*Universe).forgetEvents,
	"EventsNameHeldBlocks":        (*Universe).addEvents,
	"EventsInOrder":               (*Universe).changeEvents,
	"WorkIsAwaited":               (*Universe).changeWork,
	"WorkIsOnOthersMemory":        (*Universe).changeWork,
	"AllocatedBlocksAreClear":     (*Universe).changeWork,
}

// changedBlock is a state with a change of one block. What the program holds and does
// follows the change.
func (u *Universe) changedBlock(s *model.State, segment, block int, change func(b *model.Block)) *model.State {
	segments := slices.Clone(s.Segments)
	blocks := slices.Clone(segments[segment].Blocks)
	change(&blocks[block])
	segments[segment].Blocks = blocks
	next := u.state(segments)
	next.Events, next.Streams = s.Events, s.Streams
	return next
}

func eachBlock(s *model.State, visit func(segment, block int, b model.Block)) {
	for i, g := range s.Segments {
		for j, b := range g.Blocks {
			visit(i, j, b)
		}
	}
}

func (u *Universe) changeBlockSizes(s *model.State, try func(*model.State)) {
	eachBlock(s, func(i, j int, b model.Block) {
		for size := uint64(1); size <= u.bounds.Memory; size++ {
			try(u.changedBlock(s, i, j, func(b *model.Block) { b.Size = size }))
		}
	})
}

func (u *Universe) changeSegmentKinds(s *model.State, try func(*model.State)) {
	for i, g := range s.Segments {
		segments := slices.Clone(s.Segments)
		segments[i].PoolKind = 1 - g.PoolKind
		next := u.state(segments)
		next.Events, next.Streams = s.Events, s.Streams
		try(next)
	}
}

func (u *Universe) changeRequests(s *model.State, try func(*model.State)) {
	eachBlock(s, func(i, j int, b model.Block) {
		if b.State != spec.ActiveAllocated {
			return
		}
		for _, bytes := range u.bounds.Sizes {
			try(u.changedBlock(s, i, j, func(b *model.Block) { b.RequestedSize = bytes }))
		}
	})
}

// changeHeld lets the program hold nothing of what it holds, or a free block.
func (u *Universe) changeHeld(s *model.State, try func(*model.State)) {
	for i := range s.Truth.Held {
		next := u.changedTruth(s, func(t *model.Truth) { t.Held = slices.Delete(slices.Clone(t.Held), i, i+1) })
		try(next)
	}
	eachBlock(s, func(i, _ int, b model.Block) {
		if b.State != spec.ActiveAllocated {
			next := *s
			next.Truth = next.Truth.Hold(model.Held{Ptr: b.Address, Bytes: b.Size, Stream: s.Segments[i].Stream})
			try(&next)
		}
	})
}

func (u *Universe) changedTruth(s *model.State, change func(t *model.Truth)) *model.State {
	next := *s
	change(&next.Truth)
	return &next
}

// forgetUses keeps what the program did.
func (u *Universe) forgetUses(s *model.State, try func(*model.State)) {
	eachBlock(s, func(i, j int, b model.Block) {
		if len(b.StreamUses) > 0 {
			next := u.changedBlock(s, i, j, func(b *model.Block) { b.StreamUses = nil })
			next.Truth = s.Truth
			try(next)
		}
	})
}

func (u *Universe) changeGrants(s *model.State, try func(*model.State)) {
	for i := range s.Truth.Granted {
		for _, stream := range u.bounds.Streams {
			try(u.changedTruth(s, func(t *model.Truth) {
				t.Granted = slices.Clone(t.Granted)
				t.Granted[i].Stream = stream
			}))
		}
		try(u.changedTruth(s, func(t *model.Truth) { t.Granted = slices.Delete(slices.Clone(t.Granted), i, i+1) }))
	}
}

func (u *Universe) forgetEvents(s *model.State, try func(*model.State)) {
	for i := range s.Events {
		next := *s
		next.Events = slices.Delete(slices.Clone(s.Events), i, i+1)
		try(&next)
	}
}

// addEvents adds an event of any address, which need not be one of a block. The model has
// no step for such an event while there is no segment.
func (u *Universe) addEvents(s *model.State, try func(*model.State)) {
	if len(s.Segments) == 0 {
		return
	}
	for _, r := range u.ranges {
		next := *s
		id := spec.DeviceStream{Stream: u.bounds.Streams[0]}
		next.Events = slices.Insert(slices.Clone(s.Events), 0, model.Event{Stream: id, Block: r.Ptr})
		try(&next)
	}
}

// changeEvents changes what an event is behind. The model has no step for an event behind
// work that was not launched.
func (u *Universe) changeEvents(s *model.State, try func(*model.State)) {
	for i, e := range s.Events {
		for after := range len(s.StreamOf(e.Stream).Work) + 1 {
			next := *s
			next.Events = slices.Clone(s.Events)
			next.Events[i].After = after
			try(&next)
		}
	}
}

func (u *Universe) changeWork(s *model.State, try func(*model.State)) {
	for i, x := range s.Streams {
		for j := range x.Work {
			for _, r := range u.ranges {
				next := *s
				next.Streams = slices.Clone(s.Streams)
				next.Streams[i].Work = slices.Clone(x.Work)
				next.Streams[i].Work[j] = r
				try(&next)
			}
		}
	}
}
