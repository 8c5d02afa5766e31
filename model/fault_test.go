package model_test

import (
	"fmt"
	"slices"
	"testing"

	"gaugeblock/model"
	"gaugeblock/spec"
)

// small is a device of 8 units of memory with segments of 2 and 4.
func small() model.State {
	g := spec.Geometry{
		MinBlock: 1, SmallSize: 1, SmallBuffer: 2, MinLargeAlloc: 3, LargeBuffer: 4, RoundLarge: 2,
		DivisionsStart: 1, MaxRequest: spec.EiB, MiB: 1,
	}
	return model.New(0, 8, spec.DefaultConfig(g), g)
}

// TestInterrupted: an operation that is interrupted at its nth driver call has made those
// before, and done what they were for.
func TestInterrupted(t *testing.T) {
	s := small()
	from := model.DriverResults{LowestFrom: 1 << 16}
	var blocks []spec.Ptr
	for _, bytes := range []uint64{1, 2} {
		next, r := s.Malloc(1, bytes, from)
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		s, blocks = next, append(blocks, r.Ptr)
	}
	used, _ := s.RecordStream(blocks[0], spec.DeviceStream{Stream: 2})
	free := func(s model.State) { s.Free(blocks[0]) }
	if next, calls := used.Interrupted(1, free); !slices.Equal(calls, []string{"RecordEvent"}) || !next.Equal(used) {
		t.Errorf("a free without an event: %v, %v", calls, next)
	}
	if _, calls := used.Interrupted(2, free); calls != nil {
		t.Errorf("the free makes one call, not %v", calls)
	}
	for _, p := range blocks {
		s, _ = s.Free(p)
	}
	emptyCache := func(s model.State) { s.EmptyCache() }
	for n, segments := range []int{2, 1} { // the large one is released first
		next, calls := s.Interrupted(n+1, emptyCache)
		if len(next.Segments) != segments || len(calls) != n+1 || next.Segments[0].PoolKind != spec.SmallPool {
			t.Errorf("call %d: %v, %v", n+1, calls, next)
		}
	}
	if _, calls := s.Interrupted(3, emptyCache); calls != nil {
		t.Errorf("the release makes two calls, not %v", calls)
	}
}

// callsOf are all driver calls of an operation.
func callsOf(s model.State, operation func(model.State)) (all []string) {
	for n := 1; ; n++ {
		_, calls := s.Interrupted(n, operation)
		if calls == nil {
			return all
		}
		all = calls
	}
}

// TestCallsOfExpandableSegments: the driver calls of a malloc that maps pages.
func TestCallsOfExpandableSegments(t *testing.T) {
	s, r := small().Configure("expandable_segments:True")
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	calls := callsOf(s, func(s model.State) { s.Malloc(1, 2, model.DriverResults{LowestFrom: 1 << 16}) })
	if !slices.Equal(calls, []string{"ReserveAddress", "MapPage"}) {
		t.Errorf("a malloc calls %v", calls)
	}
}

// TestCallsOfEmptyPool: only the events of the pool are waited for.
func TestCallsOfEmptyPool(t *testing.T) {
	from := model.DriverResults{LowestFrom: 1 << 16}
	pool := spec.PoolID{User: 1}
	s := small()
	used := func(s model.State) model.State {
		s, r := s.Malloc(1, 2, from)
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		s, _ = s.RecordStream(r.Ptr, spec.DeviceStream{Stream: 2})
		return s.Busy(spec.DeviceStream{Stream: 2})
	}
	s = used(s)
	s, _ = s.BeginAllocateAllToPool(pool)
	s = used(s)
	s, _ = s.EndAllocateToPool(pool)
	for _, g := range slices.Clone(s.Segments) {
		s, _ = s.Free(g.Address)
	}
	s, _ = s.ReleasePool(pool)
	if calls := callsOf(s, func(s model.State) { s.EmptyPool(pool) }); !slices.Equal(calls, []string{"SynchronizeEvent", "Free"}) {
		t.Errorf("with %d events, the calls are %v", len(s.Events), calls)
	}
}

// TestInterruptedIsOver: the state after an interrupted operation no longer records driver calls. (Else all that follow
// would be kept.)
func TestInterruptedIsOver(t *testing.T) {
	s, r := small().Malloc(1, 1, model.DriverResults{LowestFrom: 1 << 16})
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	s, _ = s.Free(r.Ptr)
	next, _ := s.Interrupted(1, func(s model.State) { s.EmptyCache() })
	s.Counters = next.Counters
	if have, want := fmt.Sprintf("%#v", next), fmt.Sprintf("%#v", s); have != want {
		t.Errorf("it is\n%s\nnot\n%s", have, want)
	}
}
