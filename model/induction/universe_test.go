package induction

import (
	"fmt"
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/bounded"
	"gaugeblock/model/tlc"
	"gaugeblock/spec"
)

// A Universe is all states of the core at small bounds. The constants are those of a
// configuration; Work and Events bound the queues of a state, which in states that can be
// reached are bounded by themselves.
type Universe struct {
	Work   int // pieces of pending work of a stream, at most
	Events int // outstanding events of a stream, at most

	module  *bounded.CachingAllocator
	bounds  bounded.Bounds
	initial *model.State
	all     []invariant // the conjunction
	ranges  []spec.Range

	// The parts of the conjunction that prune the enumeration: those about segments and
	// blocks, those about events, those about each piece of work.
	ofLayout, ofEvents, ofWork []invariant
}

// NewUniverse is the universe of a configuration of the core.
func NewUniverse(config *tlc.Config, work, events int) (*Universe, error) {
	check, err := bounded.NewCheck("core", config)
	if err != nil {
		return nil, err
	}
	check.CheckAlways()
	u := &Universe{Work: work, Events: events, module: check.Module.(*bounded.CachingAllocator)}
	if u.bounds = u.module.Bounds; u.bounds.Config.ExpandableSegments {
		return nil, fmt.Errorf("%s: the induction is about plain segments", config.File)
	}
	if u.all, err = conjunction(check); err != nil {
		return nil, err
	}
	u.initial = u.module.Initial()[0]
	u.ranges = u.allRanges()
	of := func(names ...string) []invariant {
		return slices.DeleteFunc(slices.Clone(u.all), func(i invariant) bool { return !slices.Contains(names, i.Name) })
	}
	u.ofLayout = of("BlocksTileSegments", "SizesAndAlignment", "RequestsFit", "LiveBlocksDisjoint")
	u.ofEvents = of("HeldBlocksAreAwaited", "EventsNameHeldBlocks", "EventsInOrder")
	u.ofWork = of("WorkIsAwaited", "WorkIsOnOthersMemory", "AllocatedBlocksAreClear", "NoReuseWhileInUse")
	return u, nil
}

// addresses is how many addresses there are: enough for each state to have room for
// another segment.
func (u *Universe) addresses() uint64 { return 2 * u.bounds.Memory }

// state is a state with these segments and without events and work. The program and the
// device did what the lemmas about them say.
func (u *Universe) state(segments []model.Segment) *model.State {
	s := *u.initial
	s.Segments = segments
	s.Truth = model.Truth{Held: held(segments), Touches: touches(segments), Granted: grants(segments)}
	return &s
}
