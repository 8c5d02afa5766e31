package induction

import (
	"fmt"
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/spec"
)

// An invariant of states.
type invariant = explore.Invariant[*model.State]

// The goals, and the lemmas that they need. names are those of package bounded; the others
// are in ofInduction.
var (
	goals  = []string{"LiveBlocksDisjoint", "NoReuseWhileInUse"}
	lemmas = []string{
		"BlocksTileSegments", "SizesAndAlignment", "RequestsFit",
		"AllocatedBlocksWereGivenOut", "UsesWereTouched", "SegmentsWereGranted",
		"HeldBlocksAreAwaited", "EventsNameHeldBlocks", "EventsInOrder", "WorkIsAwaited", "WorkIsOnOthersMemory",
		"AllocatedBlocksAreClear",
	}
)

// ofInduction has the lemmas that package bounded has no predicates of, since its
// invariants imply them in all states that can be reached.
var ofInduction = map[string]func(*model.State) bool{
	"UsesWereTouched":      usesWereTouched,
	"SegmentsWereGranted":  segmentsWereGranted,
	"EventsNameHeldBlocks": eventsNameHeldBlocks,
	"WorkIsOnOthersMemory": workIsOnOthersMemory,

	"AllocatedBlocksAreClear": allocatedBlocksAreClear,
}

// conjunction has the invariants by name.
func conjunction(check *bounded.Check) (list []invariant, err error) {
	for _, name := range slices.Concat(goals, lemmas) {
		if holds := ofInduction[name]; holds != nil {
			list = append(list, invariant{Name: name, Holds: holds})
			continue
		}
		i := slices.IndexFunc(check.Options.Invariants, func(p invariant) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no invariant %s", name)
		}
		list = append(list, check.Options.Invariants[i])
	}
	return list, nil
}

// broken is the name of the first invariant that a state breaks; "" if there is none.
func broken(list []invariant, s *model.State) string {
	for i := range list {
		if !list[i].Holds(s) {
			return list[i].Name
		}
	}
	return ""
}

// except is the list without one invariant, and that invariant.
func except(list []invariant, name string) (rest []invariant, one invariant) {
	for _, i := range list {
		if i.Name == name {
			one = i
		} else {
			rest = append(rest, i)
		}
	}
	return rest, one
}

// usesWereTouched: the stream uses of allocated blocks are the streams that the program
// uses their memory on.
func usesWereTouched(s *model.State) bool {
	return slices.Equal(s.Truth.Touches, touches(s.Segments))
}

// touches is what the program must have done for the stream uses to be there.
func touches(segments []model.Segment) (list []model.Touch) {
	for _, g := range segments {
		for _, b := range g.Blocks {
			if b.State != spec.ActiveAllocated {
				continue
			}
			for _, id := range b.StreamUses {
				list = append(list, model.Touch{Ptr: b.Address, Stream: id})
			}
		}
	}
	return list
}

// segmentsWereGranted: the segments are the memory that the driver granted, each to the
// segment's stream.
func segmentsWereGranted(s *model.State) bool {
	return slices.Equal(s.Truth.Granted, grants(s.Segments))
}

// grants is what the driver must have granted for plain segments to be there.
func grants(segments []model.Segment) (list []model.Grant) {
	for _, g := range segments {
		list = append(list, model.Grant{Memory: spec.Range{Ptr: g.Address, Bytes: g.Size}, Stream: g.Stream})
	}
	return list
}

// held is what the program must hold for the allocated blocks to be there.
func held(segments []model.Segment) (list []model.Held) {
	for _, g := range segments {
		for _, b := range g.Blocks {
			if b.State == spec.ActiveAllocated {
				list = append(list, model.Held{Ptr: b.Address, Bytes: b.RequestedSize, Stream: g.Stream})
			}
		}
	}
	return list
}

// eventsNameHeldBlocks: each event is one of a block that waits for it.
func eventsNameHeldBlocks(s *model.State) bool {
	return !slices.ContainsFunc(s.Events, func(e model.Event) bool {
		return !slices.Contains(pending(s.Segments), e.Block)
	})
}

// workIsOnOthersMemory: no pending work of a stream uses memory that was granted to the
// stream itself. Such work is in order, and the model has no record of it.
func workIsOnOthersMemory(s *model.State) bool {
	for _, x := range s.Streams {
		for _, g := range s.Truth.Granted {
			if g.Stream == x.ID.Stream && slices.ContainsFunc(x.Work, g.Memory.Overlaps) {
				return false
			}
		}
	}
	return true
}

// allocatedBlocksAreClear: no pending work uses an allocated block, nor the part of it that
// the program did not request.
func allocatedBlocksAreClear(s *model.State) bool {
	for _, x := range s.Streams {
		for _, g := range s.Segments {
			for _, b := range g.Blocks {
				memory := spec.Range{Ptr: b.Address, Bytes: b.Size}
				if b.State == spec.ActiveAllocated && slices.ContainsFunc(x.Work, memory.Overlaps) {
					return false
				}
			}
		}
	}
	return true
}

// pending lists the addresses of the blocks that wait for events.
func pending(segments []model.Segment) (list []spec.Ptr) {
	for _, g := range segments {
		for _, b := range g.Blocks {
			if b.State == spec.ActivePendingFree {
				list = append(list, b.Address)
			}
		}
	}
	return list
}
