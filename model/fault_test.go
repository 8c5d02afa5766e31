package model_test

import (
	"fmt"
	"slices"
	"testing"

	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// small is a device of 8 units of memory with segments of 2 and 4.
func small() model.State {
	g := spec.Geometry{
		MinBlock: 1, SmallSize: 1, SmallBuffer: 2, MinLargeAlloc: 3, LargeBuffer: 4, RoundLarge: 2,
		DivisionsStart: 1, MaxRequest: spec.EiB, MiB: 1,
	}
	return model.New(0, 8, spec.DefaultConfig(g), g, upstream.Rules{})
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
	free := func(s model.State) model.State { return freed(s, blocks[0]) }
	if calls := used.Calls(free); !slices.Equal(calls.Names(), []string{"RecordEvent"}) || !calls.Made[0].Failed.Equal(used) {
		t.Errorf("a free without an event: %v", calls)
	}
	oversize, _ := small().Configure("max_split_size_mb:4")
	oversize, r := oversize.Malloc(1, 4, from)
	oversize, _ = oversize.RecordStream(r.Ptr, spec.DeviceStream{Stream: 2})
	oversizeFree := oversize.Calls(func(s model.State) model.State { return freed(s, r.Ptr) })
	if next := oversizeFree.Made[0].Failed; r.Err != nil || !next.Equal(oversize) || next.Counters.OversizeAllocations != 1 {
		t.Errorf("a free of an oversize block without an event: %v, %v, %d oversize allocations", r.Err, next, next.Counters.OversizeAllocations)
	}
	for _, p := range blocks {
		s, _ = s.Free(p)
	}
	emptyCache := model.State.EmptyCache
	calls := s.Calls(emptyCache).Made
	if len(calls) != 2 {
		t.Fatalf("the release makes two calls, not %v", calls)
	}
	for n, segments := range []int{2, 1} { // the large one is released first
		if next := calls[n].Failed; len(next.Segments) != segments || next.Segments[0].PoolKind != spec.SmallPool {
			t.Errorf("call %d: %v", n+1, next)
		}
	}
}

// callsOf are the names of the driver calls of an operation.
func callsOf(s model.State, operation func(model.State) model.State) []string {
	return s.Calls(operation).Names()
}

// freed is the state after a free.
func freed(s model.State, ptr spec.Ptr) model.State {
	next, _ := s.Free(ptr)
	return next
}

// allocated is the state after a malloc.
func allocated(s model.State, stream spec.Stream, bytes uint64, results model.DriverResults) model.State {
	next, _ := s.Malloc(stream, bytes, results)
	return next
}

// TestCallsOfExpandableSegments: the driver calls of a malloc that maps pages.
func TestCallsOfExpandableSegments(t *testing.T) {
	s, r := small().Configure("expandable_segments:True")
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	calls := callsOf(s, func(s model.State) model.State { return allocated(s, 1, 2, model.DriverResults{LowestFrom: 1 << 16}) })
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
	if calls := callsOf(s, func(s model.State) model.State { return s.EmptyPool(pool) }); !slices.Equal(calls, []string{"SynchronizeEvent", "Free"}) {
		t.Errorf("with %d events, the calls are %v", len(s.Events), calls)
	}
}

// TestInterruptedIsOver: the state after an interrupted operation no longer records driver calls.
// (Else all that follow would be kept.)
func TestInterruptedIsOver(t *testing.T) {
	s, r := small().Malloc(1, 1, model.DriverResults{LowestFrom: 1 << 16})
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	s, _ = s.Free(r.Ptr)
	next := s.Calls(model.State.EmptyCache).Made[0].Failed
	s.Counters = next.Counters
	if have, want := fmt.Sprintf("%#v", next), fmt.Sprintf("%#v", s); have != want {
		t.Errorf("it is\n%s\nnot\n%s", have, want)
	}
}

// TestRefusals: a malloc for which the driver has no memory goes on, as often as the driver may be
// asked again, and can fail at each of the calls that it makes then.
func TestRefusals(t *testing.T) {
	s := small()
	var cached spec.Ptr
	for _, bytes := range []uint64{4, 4} { // one segment stays cached, one allocated
		next, r := s.Malloc(1, bytes, model.DriverResults{LowestFrom: 1 << 16})
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		s, cached = next, r.Ptr
	}
	s, _ = s.Free(cached)
	malloc := func(refusals int) func(model.State) model.State {
		return func(s model.State) model.State {
			return allocated(s, 2, 2, model.DriverResults{LowestFrom: 1 << 16, Refusals: refusals})
		}
	}
	for refusals, want := range []int{0, 1, 2, 2} { // the last attempt is the second driver call
		if got := s.Calls(malloc(refusals)).Refused; len(got) != want {
			t.Errorf("of %d refusals the malloc meets %v, want %d", refusals, got, want)
		}
	}
	unasked := s.Calls(func(s model.State) model.State { return allocated(s, 1, 4, model.DriverResults{Refusals: 1}) })
	if len(unasked.Refused) != 0 {
		t.Errorf("a malloc that the driver is not asked for meets refusals: %v", unasked)
	}
	calls := s.Calls(malloc(1))
	if names := calls.Names(); !slices.Equal(names, []string{"Malloc", "Free", "Malloc"}) || calls.Refused[0] != 1 {
		t.Fatalf("the calls are %v, refused after %v", names, calls.Refused)
	}
	for n, cached := range []int{2, 2, 1} {
		if next := calls.Made[n].Failed; len(next.Segments) != cached || len(next.PendingMallocs) > 0 {
			t.Errorf("when call %d (%s) fails: %v", n+1, calls.Made[n].Name, next)
		}
	}
	if twice := s.Calls(malloc(2)); !slices.Equal(twice.Names(), calls.Names()) || !slices.Equal(twice.Refused, []int{1, 3}) {
		t.Errorf("with two refusals: %v, refused after %v", twice.Names(), twice.Refused)
	}
}

// TestInterruptedUnmap: pages whose unmapping fails are counted as mapped, and what was unmapped
// before as unmapped.
func TestInterruptedUnmap(t *testing.T) {
	s, r := small().Configure("expandable_segments:True")
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	s, r = s.Malloc(1, 6, model.DriverResults{LowestFrom: 1 << 16})
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	s, _ = s.Free(r.Ptr)
	emptyCache := model.State.EmptyCache
	calls := s.Calls(emptyCache)
	if want := []string{"CaptureStatus", "SynchronizeStream", "UnmapPage", "UnmapPage", "FreeAddress"}; !slices.Equal(calls.Names(), want) {
		t.Fatalf("the calls are %v, want %v", calls.Names(), want)
	}
	for n, reserved := range map[int]uint64{2: 8, 3: 8, 4: 4, 5: 0} {
		next := calls.Made[n-1].Failed
		freed := next.Counters.NumDeviceFree - s.Counters.NumDeviceFree
		if wantFreed := min(int64(n)/4, 1); freed != wantFreed || next.Reserved() != reserved {
			t.Errorf("%s fails as call %d: %d bytes are reserved, want %d; %d releases are counted, want %d",
				calls.Made[n-1].Name, n, next.Reserved(), reserved, freed, wantFreed)
		}
	}
}

// TestUnmap: the whole pages in a free block of an expandable segment are returned to the driver,
// when the work in the segment's stream is over; none are while the stream is captured.
func TestUnmap(t *testing.T) {
	from := model.DriverResults{LowestFrom: 1 << 16}
	empty, _ := small().Configure("expandable_segments:True")
	empty.RelaxedCaptures = true
	own := spec.DeviceStream{Stream: 1}
	s, r := empty.Malloc(own.Stream, 6, from) // two pages of 4
	if r.Err != nil || len(s.Truth.Granted) == 0 {
		t.Fatal(r.Err, s.Truth.Granted)
	}
	emptyCache := model.State.EmptyCache

	free, _ := s.Free(r.Ptr)
	released := free.EmptyCache()
	if len(released.Segments) > 0 || len(released.Truth.Granted) > 0 {
		t.Errorf("a free block: %v, and granted %v", released, released.Truth.Granted)
	}
	busy := free.Busy(own)
	if next := busy.EmptyCache(); !next.Equal(busy.Drain(own).EmptyCache()) {
		t.Errorf("in a busy stream: %v", next)
	}

	captured := free
	captured.Truth = captured.Truth.BeginCapture(model.PoolRouting{Pool: spec.PoolID{Capture: 1}, Stream: own.Stream})
	if calls := callsOf(captured, emptyCache); !slices.Equal(calls, []string{"CaptureStatus"}) {
		t.Errorf("in a captured stream: %v", calls)
	}
	if next := captured.EmptyCache(); next.Reserved() != 8 || len(next.Truth.Illegal) > 0 {
		t.Errorf("in a captured stream: %v, and was forbidden %v", next, next.Truth.Illegal)
	}

	// A block of 3 at the beginning, and the rest of the first page free: one page of the two.
	part, _ := free.Malloc(own.Stream, 3, from)
	if next := part.EmptyCache(); next.Reserved() != 4 || len(next.Segments) != 1 || len(next.Truth.Granted) != 1 {
		t.Errorf("with a block in the first page: %v, and granted %v", next, next.Truth.Granted)
	}
	// Nothing but the rest of a page: it is not waited for.
	whole, _ := free.Malloc(own.Stream, 7, from)
	if calls := callsOf(whole, emptyCache); !slices.Equal(calls, []string{"CaptureStatus"}) {
		t.Errorf("with a rest of a page: %v", calls)
	}

	// A pool whose last pages were unmapped is gone.
	pool := spec.PoolID{User: 1}
	p, _ := empty.BeginAllocateAllToPool(pool)
	p, r = p.Malloc(own.Stream, 6, from)
	p, _ = p.EndAllocateToPool(pool)
	p, _ = p.Free(r.Ptr)
	p, _ = p.ReleasePool(pool)
	if next := p.EmptyCache(); len(next.Segments) > 0 || len(next.Pools) > 0 {
		t.Errorf("%d pools are left, and %v", len(next.Pools), next)
	}
}
