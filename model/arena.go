package model

import (
	"gaugeblock/model/slab"
	"gaugeblock/spec"
)

// An Arena is memory for states that are needed for a short time, such as the successors
// of a state while their keys are computed. A state in an arena has its slices there, and
// so have the states that follow from it. The rules of the allocator do not depend on it:
// copy (state.go) is the only action that uses it. An Arena is for one goroutine.
type Arena struct {
	states slab.Slab[State]

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
}

// In is a copy of the state in an arena.
func (s State) In(a *Arena) *State {
	s.arena = a
	return s.copy().Keep()
}

// Keep is a pointer to the state, in the arena if the state's slices are there.
func (s State) Keep() *State {
	if s.arena == nil {
		kept := s
		return &kept
	}
	kept := &s.arena.states.Take(1)[0]
	*kept = s
	return kept
}
