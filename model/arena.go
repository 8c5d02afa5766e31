package model

import (
	"gaugeblock/model/slab"
	"gaugeblock/spec"
)

// An Arena is memory for states that are needed for a short time, such as the successors
// of a state while their keys are computed. A state in an arena has its slices there, and
// so have the states that follow from it. The rules of the allocator do not depend on it: copies
// of states, and lists that an action needs, are made there. An Arena is for one goroutine.
type Arena struct {
	states slab.Slab[State]
	truths slab.Slab[Truth]
	places slab.Slab[place] // of lists that no state has

	// Notes are what the owner of the arena knows about states in it. No action uses them.
	Notes any

	Segments        slab.Slab[Segment]
	Blocks          slab.Slab[Block]
	StreamUses      slab.Slab[spec.DeviceStream]
	Events          slab.Slab[Event]
	Streams         slab.Slab[Stream]
	Work            slab.Slab[spec.Range]
	PendingMallocs  slab.Slab[PendingMalloc]
	Pools           slab.Slab[Pool]
	Routings        slab.Slab[PoolRouting]
	GraphStreamUses slab.Slab[GraphStreamUse]
	Checkpoints     slab.Slab[Checkpoint]
	SavedBlocks     slab.Slab[SavedBlock]
	Held            slab.Slab[Held]
	Touches         slab.Slab[Touch]
	Grants          slab.Slab[Grant]
	DriverCalls     slab.Slab[DriverCall]
}

// heap is the Arena of states that are in none. It is never reset: it has no memory.
var heap Arena

// memory is where a state's copies are made.
func (s *State) memory() *Arena {
	if s.arena == nil {
		return &heap
	}
	return s.arena
}

// Reset ends the use of all states in the arena: the next states overwrite them.
func (a *Arena) Reset() {
	a.states.Reset()
	a.Segments.Reset()
	a.Blocks.Reset()
	a.StreamUses.Reset()
	a.Events.Reset()
	a.Streams.Reset()
	a.Work.Reset()
	a.PendingMallocs.Reset()
	a.Pools.Reset()
	a.Routings.Reset()
	a.GraphStreamUses.Reset()
	a.Checkpoints.Reset()
	a.SavedBlocks.Reset()
	a.truths.Reset()
	a.places.Reset()
	a.Held.Reset()
	a.Touches.Reset()
	a.Grants.Reset()
	a.DriverCalls.Reset()
}

// In is a copy of the state in an arena.
func (s State) In(a *Arena) *State {
	s.arena = a
	return s.Copy()
}

// Copy is a copy, in the state's arena. Actions in place can change it (MallocInPlace, ...).
func (s *State) Copy() *State {
	next := &s.memory().states.Take(1)[0]
	s.copyTo(next)
	return next
}

// Keep is a pointer to the state, in the arena if the state's slices are there.
func (s *State) Keep() *State {
	kept := &s.memory().states.Take(1)[0]
	*kept = *s
	return kept
}

// Notes are those of the state's arena; nil if it is in none.
func (s *State) Notes() any { return s.memory().Notes }

// NewTruth is a pointer to a truth in the arena.
func (a *Arena) NewTruth(t Truth) *Truth {
	kept := &a.truths.Take(1)[0]
	*kept = t
	return kept
}
