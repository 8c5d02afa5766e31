package tla

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/internal/allrows"
	"gaugeblock/model"
	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/spec"
)

// A property that cannot fail shows nothing. Here every property that a configuration
// counts as checked is made to fail: an invariant by a change of a reachable state, a
// property of steps by a change of the state that a step leads to, a liveness property by
// leaving out fairness.

// changes has the change for each property of states and steps. It reports whether it
// could be made.
var changes = map[string]func(s *bounded.State) bool{
	"BlocksTileSegments": func(s *bounded.State) bool {
		return eachBlock(s, func(_ *model.Segment, b *model.Block) bool { b.Size++; return true })
	},
	"LiveBlocksDisjoint": func(s *bounded.State) bool {
		return eachHeld(s, func(h model.Held) { s.Truth = s.Truth.Hold(h) })
	},
	"NoMergeableNeighbours": splitAll,
	"SizesAndAlignment": func(s *bounded.State) bool {
		return eachBlock(s, func(g *model.Segment, _ *model.Block) bool { g.Size++; return true })
	},
	"RequestsFit": func(s *bounded.State) bool {
		return eachAllocated(s, func(b *model.Block) { b.RequestedSize = b.Size + 1 })
	},
	"ActiveBlocksAreMapped": func(s *bounded.State) bool {
		return eachHeld(s, func(h model.Held) { returnMemory(s) })
	},
	"HeldBlocksAreAwaited": func(s *bounded.State) bool {
		return eachAllocated(s, func(b *model.Block) { b.State, b.StreamUses = spec.ActivePendingFree, nil })
	},
	"NoReuseWhileInUse": func(s *bounded.State) bool {
		return eachHeld(s, func(h model.Held) { addWork(s, h) })
	},
	"WorkIsAwaited": func(s *bounded.State) bool {
		return eachHeld(s, func(h model.Held) {
			addWork(s, h)
			eachAllocated(s, func(b *model.Block) { b.State = spec.Inactive })
		})
	},
	"EventsInOrder": func(s *bounded.State) bool {
		for i := range s.Events {
			s.Events[i].After += 10
		}
		return len(s.Events) > 0
	},
	"AllocatedBlocksWereGivenOut": func(s *bounded.State) bool {
		return eachHeld(s, func(h model.Held) { s.Truth = s.Truth.GiveBack(h.Ptr) })
	},
	"AccountingAddsUp": func(s *bounded.State) bool {
		return eachHeld(s, func(h model.Held) { s.Truth = s.Truth.GiveBack(h.Ptr) })
	},
	"RemaindersCanServe": func(s *bounded.State) bool {
		return eachBlock(s, func(g *model.Segment, b *model.Block) bool { b.Size = 1; return g.PoolKind == spec.LargePool })
	},
	"OversizeSegmentsAreWhole": func(s *bounded.State) bool {
		for i := range s.Segments {
			s.Segments[i].Blocks = append(s.Segments[i].Blocks, model.Block{Size: 1})
		}
		return len(s.Segments) > 0
	},
	"NoNeedlessReturn":       returnMemory,
	"SegmentsFitRequests":    grantMore,
	"PagesKeepToLimit":       grantMore,
	"PagesAreUsed":           grantMore,
	"LargestAreReturned":     returnSmallest,
	"EmptyRangesAreReleased": returnMemory,
	"AllIsReturnedAtLast":    grantMore,
	"DriverServes":           grantMore,
	"JustEnoughIsReturned":   func(s *bounded.State) bool { return returnMemory(s) && grantMore(s) },
	"FailuresSayTheTruth":    func(s *bounded.State) bool { return loseMalloc(s) && grantMore(s) },
	"MallocWaitsNoLonger":    completeAll,
	"MemoryHolds":            grantMore,
	"RangesHaveRoom":         func(s *bounded.State) bool { return eachSegment(s, func(g *model.Segment) { g.Size++ }) },
	"OversizeMakesRoom":      loseMalloc,
	"EndCompletesDeferred": func(s *bounded.State) bool {
		return eachBlock(s, func(_ *model.Segment, b *model.Block) bool { b.State, b.StreamUses = spec.Inactive, nil; return true })
	},
	"LowestRangeGrows": moveHeld,
	"NoSplitBlocksAreWhole": func(s *bounded.State) bool {
		return eachBlock(s, func(_ *model.Segment, b *model.Block) bool { b.Size--; return len(s.Pools) > 0 })
	},
	"OrderIsKept": func(s *bounded.State) bool {
		return eachBlock(s, func(g *model.Segment, b *model.Block) bool {
			g.Made, b.Made = -g.Made, -b.Made
			return len(s.Segments) > 1
		})
	},
	"GrantIsUsed":            moveHeld,
	"CheckpointsAreKept":     func(s *bounded.State) bool { s.Checkpoints = nil; return true },
	"SettingsAreKept":        func(s *bounded.State) bool { s.Config.MaxSplitSize++; return true },
	"NewBlocksFitRequests":   func(s *bounded.State) bool { return eachAllocated(s, func(b *model.Block) { b.Size += 10 }) },
	"GarbageIsCollected":     grantMore,
	"NoNeedlessCollection":   returnMemory,
	"OldestAreCollected":     func(s *bounded.State) bool { return returnMemory(s) && grantMore(s) },
	"YoungAreKept":           returnMemory,
	"AgesCountSearches":      func(s *bounded.State) bool { s.GetFreeBlocksCallCount[spec.LargePool] += 3; return true },
	"CallbacksAreAskedFirst": grantMore,
	"CallbacksAreNeeded": func(s *bounded.State) bool {
		s.PendingMallocs = append(s.PendingMallocs, model.PendingMalloc{})
		return true
	},
	"WhatIsFreedServes": loseMalloc,
	"CountersFollowHistory": func(s *bounded.State) bool {
		s.Counters.NumOOMs++
		return true
	},
	"UsesAreTouches": func(s *bounded.State) bool {
		return eachHeld(s, func(h model.Held) { s.Truth = s.Truth.Touch(h.Ptr, spec.DeviceStream{Stream: 9}) })
	},
	"GraphUsesAreNotAwaited": func(s *bounded.State) bool {
		return eachBlock(s, func(_ *model.Segment, b *model.Block) bool {
			for stream := range spec.Stream(4) {
				s.Events = append(s.Events, model.Event{Block: b.Address, Stream: spec.DeviceStream{Stream: stream}})
			}
			return true
		})
	},
	"UnusedPoolsAreReleased": func(s *bounded.State) bool {
		for i := range s.Pools {
			s.Pools[i].UseCount = 0
		}
		return eachBlock(s, func(g *model.Segment, b *model.Block) bool {
			b.State, b.Unmapped = spec.Inactive, false
			b.Address, b.Size = g.Address, g.Size
			return len(s.Pools) > 0
		})
	},
	"OverflowPoolsInOrder": holdOfPool9,
	"RequestsAreRouted":    holdOfPool9,
	"PagesAreCounted": func(s *bounded.State) bool {
		for i := range s.Pools {
			s.Pools[i].DriverSegments++
		}
		return len(s.Pools) > 0
	},
	"CheckpointsCanBeTaken": func(s *bounded.State) bool {
		s.Truth.Granted = slices.Concat(s.Truth.Granted, s.Truth.Granted)
		return len(s.Truth.Granted) > 0
	},
	"CheckpointsCanBeRestored": returnMemory,
	"NothingIsLost":            returnMemory,
	"NothingIsLostOnTheWay":    returnMemory,
	"PoolsAreIsolated": func(s *bounded.State) bool {
		return eachBlock(s, func(g *model.Segment, _ *model.Block) bool {
			g.Pool.Capture++
			return len(s.Truth.Held) > 0
		})
	},
	"RoutingsAreCaptures": func(s *bounded.State) bool {
		captured := len(s.Routings) > 0
		s.Routings = nil
		return captured
	},
	"DriverCallsAreLegal": func(s *bounded.State) bool {
		s.Truth = s.Truth.Call(model.QueryEvent, true)
		return true
	},
	"NoForbiddenFrees": func(s *bounded.State) bool {
		s.Truth = s.Truth.Call(model.FreeMemory, true)
		return true
	},
	"NoForbiddenQueries": func(s *bounded.State) bool {
		s.Truth = s.Truth.Call(model.QueryEvent, true)
		return true
	},
	"MallocsAreServed":   loseMalloc,
	"OverflowPoolsServe": loseMalloc,
	"AnyBlockIsGood":     forbidSegments,
	"LivePoolsServe":     holdOfPool9,
	"LimitHolds": func(s *bounded.State) bool {
		s.Truth = s.Truth.Grant(spec.Range{Ptr: 1, Bytes: s.Memory}, 1)
		return true
	},
	"PromptlyReclaimed": completeAll,
	"CacheServes":       grantMore,
	"NoNeedlessWait":    completeAll,

	"EmptyCacheWaitsNoLonger": completeAll,
	"EmptyCacheLeavesNothingWaiting": func(s *bounded.State) bool {
		return eachBlock(s, func(_ *model.Segment, b *model.Block) bool { b.State = spec.ActivePendingFree; return true })
	},
	"BlocksFitRequests": func(s *bounded.State) bool {
		return eachAllocated(s, func(b *model.Block) { b.Size += 10 })
	},
	"BestFitServes": func(s *bounded.State) bool { // each free block is held
		free := s.Truth
		eachBlock(s, func(g *model.Segment, b *model.Block) bool {
			if b.IsFree() {
				free = free.Hold(model.Held{Ptr: b.Address, Bytes: 1, Stream: g.Stream, Pool: g.Pool})
			}
			return true
		})
		s.Truth = free
		return true
	},
	"UnusedPoolsAreErased": func(s *bounded.State) bool {
		s.Pools = append(s.Pools, model.Pool{ID: bounded.PoolID(7)})
		return true
	},
	"ExpandableSegmentsGrow": func(s *bounded.State) bool {
		if len(s.Segments) > 0 {
			another := s.Segments[0]
			another.Address++
			s.Segments = append(s.Segments, another)
		}
		return len(s.Segments) > 0
	},
	"EmptyCacheReleasesAll": func(s *bounded.State) bool {
		// as in a capture
		s.Routings = append(s.Routings, model.PoolRouting{Pool: bounded.PoolID(1), Stream: 1})
		return true
	},
	"PoolsOwnTheirBlocks": func(s *bounded.State) bool {
		owned := len(s.Pools) > 0
		s.Pools = nil
		return owned
	},
	"DriverSegmentsAreCounted": func(s *bounded.State) bool {
		if len(s.Pools) > 0 {
			s.Pools[0].DriverSegments++
		}
		return len(s.Pools) > 0
	},
	"CapturedPoolsAreKnown": func(s *bounded.State) bool {
		return eachBlock(s, func(g *model.Segment, _ *model.Block) bool {
			for i := range s.Pools {
				s.Pools[i].Captured = false
			}
			return !g.Pool.IsDefault()
		})
	},
	"OverflowsOnOutOfMemory": func(s *bounded.State) bool {
		s.Truth = s.Truth.Hold(model.Held{Ptr: 1, Bytes: 1, Stream: 1, Pool: bounded.PoolID(1)})
		return true
	},
	"CapturedMemoryIsKept": dropSegments,
	"UsesAreCounted": func(s *bounded.State) bool {
		for i := range s.Pools {
			s.Pools[i].UseCount = 7
		}
		return len(s.Pools) > 0
	},
	"CheckpointRestoresWhatItSaved": dropSegments,

	"EmptyPoolReleasesAll":   func(s *bounded.State) bool { s.Pools = append(s.Pools, model.Pool{ID: bounded.PoolID(1)}); return true },
	"EmptyPoolReturnsItsOwn": returnMemory,
	"EmptyPoolWaitsNoLonger": completeAll,
	"EmptyPoolResolves": func(s *bounded.State) bool {
		return eachBlock(s, func(_ *model.Segment, b *model.Block) bool {
			b.State, b.StreamUses = spec.ActivePendingFree, []spec.DeviceStream{{Stream: 1}}
			return true
		})
	},
}

// loseMalloc lets the program hold one piece of memory less.
func loseMalloc(s *bounded.State) bool {
	n := len(s.Truth.Held)
	s.Truth.Held = s.Truth.Held[:max(0, n-1)]
	return n > 0
}

// holdOfPool9 lets the program hold memory of a pool that there is not.
func holdOfPool9(s *bounded.State) bool {
	s.Truth = s.Truth.Hold(model.Held{Ptr: 1, Bytes: 1, Stream: 1, Pool: bounded.PoolID(9)})
	return true
}

// moveHeld moves what the program holds.
func moveHeld(s *bounded.State) bool {
	s.Truth.Held = slices.Clone(s.Truth.Held)
	for i := range s.Truth.Held {
		s.Truth.Held[i].Ptr++
	}
	return len(s.Truth.Held) > 0
}

// eachSegment calls change for each segment, and reports whether there is one.
func eachSegment(s *bounded.State, change func(g *model.Segment)) bool {
	for i := range s.Segments {
		change(&s.Segments[i])
	}
	return len(s.Segments) > 0
}

// returnSmallest returns the smallest memory.
func returnSmallest(s *bounded.State) bool {
	all := s.Truth.Granted
	if len(all) == 0 {
		return false
	}
	least := slices.MinFunc(all, func(a, b model.Grant) int { return int(a.Memory.Bytes) - int(b.Memory.Bytes) })
	s.Truth = s.Truth.Return(least.Memory)
	return true
}

// grantMore lets the driver have granted much memory more.
func grantMore(s *bounded.State) bool {
	s.Truth = s.Truth.Grant(spec.Range{Ptr: 1, Bytes: 200}, 1)
	return true
}

// splitAll makes two free blocks of each segment.
func splitAll(s *bounded.State) bool {
	for i := range s.Segments {
		g := &s.Segments[i]
		half := g.Size / 2
		low := model.Block{Address: g.Address, Size: half, State: spec.Inactive}
		high := model.Block{Address: g.Address + spec.Ptr(half), Size: g.Size - half, State: spec.Inactive}
		g.Blocks = []model.Block{low, high}
	}
	return len(s.Segments) > 0
}

// completeAll completes all work.
func completeAll(s *bounded.State) bool {
	for i := range s.Streams {
		s.Streams[i].Work = nil
	}
	return true
}

// eachHeld calls change for each piece of memory that the program holds, and reports whether
// there is one.
func eachHeld(s *bounded.State, change func(h model.Held)) bool {
	held := s.Truth.Held
	for _, h := range held {
		change(h)
	}
	return len(held) > 0
}

// addWork adds pending work of another stream that uses held memory.
func addWork(s *bounded.State, h model.Held) {
	other := spec.DeviceStream{Stream: h.Stream + 1}
	s.Streams = append(s.Streams, model.Stream{ID: other, Work: []spec.Range{s.MemoryOf(h)}})
}

// returnMemory returns all memory to the driver behind the allocator's back.
func returnMemory(s *bounded.State) bool {
	granted := s.Truth.Granted
	for _, g := range granted {
		s.Truth = s.Truth.Return(g.Memory)
	}
	return len(granted) > 0
}

// forbidSegments makes every malloc fail that needs a segment.
func forbidSegments(s *bounded.State) bool {
	s.Limited, s.Limit = true, 0
	return true
}

func dropSegments(s *bounded.State) bool {
	s.Segments = nil
	return true
}

// eachBlock calls change for each block, and reports whether one call did something.
func eachBlock(s *bounded.State, change func(g *model.Segment, b *model.Block) bool) (changed bool) {
	for i := range s.Segments {
		for j := range s.Segments[i].Blocks {
			changed = change(&s.Segments[i], &s.Segments[i].Blocks[j]) || changed
		}
	}
	return changed
}

func eachAllocated(s *bounded.State, change func(b *model.Block)) bool {
	return eachBlock(s, func(_ *model.Segment, b *model.Block) bool {
		if b.State == spec.ActiveAllocated {
			change(b)
			return true
		}
		return false
	})
}

// needRoom are properties that some configurations have no room to break: there are never free
// blocks of two sizes, or blocks that wait, or deferred frees; or the allocator takes nothing for a capture that is none.
// They are broken in others.
var needRoom = map[string]bool{
	"BestFitServes": false, "CacheServes": false, "LimitHolds": false, "NoNeedlessWait": false, "PromptlyReclaimed": false, "ExpandableSegmentsGrow": false,
	"OverflowPoolsServe": false, "OverflowPoolsInOrder": false, "RemaindersCanServe": false, "JustEnoughIsReturned": false,
	"OversizeSegmentsAreWhole": false, "GraphUsesAreNotAwaited": false,
	"EmptyCacheWaitsNoLonger": false, "LargestAreReturned": false, "EmptyRangesAreReleased": false,
	"CapturedMemoryIsKept": false, "EmptyCacheReleasesAll": false, "UnusedPoolsAreErased": false,
	"MallocWaitsNoLonger": false, "EndCompletesDeferred": false,
	"UnusedPoolsAreReleased": false, "EmptyCacheLeavesNothingWaiting": false,
}

// TestCheckedPropertiesCanFail: see above.
func TestCheckedPropertiesCanFail(t *testing.T) {
	defer func() {
		for name, isBroken := range needRoom {
			if !isBroken && allrows.Asked() {
				t.Errorf("%s is broken in no configuration", name)
			}
		}
	}()
	for i, c := range configurations(t) {
		if c.Mirror == "" || c.Expect != "ok" || allrows.Without(i, 3) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			check := open(t, c)
			check.CheckAlways()
			broken := breakAll(t, check)
			for _, p := range check.Options.LeadsTo {
				p.Fair = nil
				r := explore.Explore(check.Module, explore.Options[*bounded.State]{LeadsTo: []explore.LeadsTo[*bounded.State]{p}})
				if r.Violation != nil {
					broken[p.Name] = true
				}
			}
			for _, name := range check.Options.Checked() {
				if _, needsRoom := needRoom[name]; needsRoom {
					needRoom[name] = needRoom[name] || broken[name]
				} else if !broken[name] {
					t.Errorf("%s counts as checked, and no change breaks it", name)
				}
			}
		})
	}
}

// breakAll walks through the first states, and reports which properties of states and
// steps a change breaks.
func breakAll(t *testing.T, check *bounded.Check) map[string]bool {
	const mostStates = 4000
	broken := map[string]bool{}
	changed := func(name string, s *bounded.State) (*bounded.State, bool) {
		if changes[name] == nil {
			t.Fatalf("no change is known that breaks %s", name)
		}
		next := s.Rename(func(stream spec.Stream) spec.Stream { return stream }) // a deep copy
		return &next, changes[name](&next)
	}
	m := check.Module
	queue, seen := m.Initial(), map[string]bool{}
	for n := 0; n < len(queue) && n < mostStates; n++ {
		s := queue[n]
		for _, p := range check.Options.Invariants {
			if p.ByConstruction == "" && !broken[p.Name] {
				next, ok := changed(p.Name, s)
				broken[p.Name] = ok && p.Holds(s) && !p.Holds(next)
			}
		}
		m.Next(s, func(label int, to *bounded.State) {
			for _, p := range check.Options.Steps {
				if !broken[p.Name] {
					next, ok := changed(p.Name, to)
					broken[p.Name] = ok && p.Holds(s, label, to) && !p.Holds(s, label, next)
				}
			}
			if key := string(m.Key(nil, to)); !seen[key] {
				seen[key] = true
				queue = append(queue, to)
			}
		})
	}
	return broken
}

// TestByConstruction: which invariants cannot fail depends on the configuration.
func TestByConstruction(t *testing.T) {
	computed := []string{"FreeListsHoldFreeBlocks"}
	oneStream := []string{"EventsInOrder", "HeldBlocksAreAwaited", "NoReuseWhileInUse", "WorkIsAwaited"}
	want := map[string][]string{
		"core_tiny":           slices.Concat(computed, []string{"TypeOK", "DriverCallsAreLegal"}),
		"pools_tiny":          slices.Concat(computed, []string{"PoolTypeOK"}),
		"checkpoint_tiny":     slices.Concat(computed, oneStream, []string{"PoolTypeOK"}),
		"expandable_tiny":     slices.Concat(computed, oneStream, []string{"TypeOK", "DriverCallsAreLegal"}),
		"two_step_tiny":       slices.Concat(computed, oneStream, []string{"TypeOK", "DriverCallsAreLegal"}),
		"two_step_live":       slices.Concat(oneStream, []string{"DriverCallsAreLegal"}),
		"pools_weak_twice":    nil,
		"expandable_recorded": slices.Concat(computed, []string{"DriverCallsAreLegal"}),
	}
	for _, c := range configurations(t) {
		names, listed := want[c.Name]
		if !listed {
			continue
		}
		check := open(t, c)
		if c.Expect == "ok" {
			check.CheckAlways()
		}
		var got []string
		for _, i := range check.Options.ByConstruction() {
			got = append(got, i.Name)
		}
		slices.Sort(got)
		slices.Sort(names)
		if d := cmp.Diff(names, got); d != "" {
			t.Errorf("%s: by construction (- as listed, + as found):\n%s", c.Name, d)
		}
	}
}
