package alloc_test

import (
	"errors"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestGarbageToTheByte: garbage collection goes on while one byte too much is reserved.
func TestGarbageToTheByte(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, spec.GiB)})
	a := newAllocator(t, gpu, "garbage_collection_threshold:0.5")
	stream, err := gpu.CreateStream(0)
	must(t, err)
	must(t, a.SetMemoryFraction(0, float64(120*spec.MiB-2)/float64(spec.GiB))) // the threshold is 60 MiB - 1
	var cached []spec.Ptr
	for range 3 {
		cached = append(cached, mustMalloc(t, a, 0, 20*spec.MiB))
	}
	search := func(times int) { // in the same block pool, on another stream
		for range times {
			must(t, a.Free(mustMallocOn(t, a, 0, stream, 20*spec.MiB)))
		}
	}
	must(t, a.Free(cached[0]))
	search(20)
	held := mustMallocOn(t, a, 0, stream, 20*spec.MiB)
	must(t, a.Free(cached[1]))
	must(t, a.Free(held))
	held = mustMallocOn(t, a, 0, stream, 20*spec.MiB)
	must(t, a.Free(cached[2]))
	mustMalloc(t, a, 0, 24*spec.MiB)
	if n := current(t, a, 0, "num_device_free"); n != 2 {
		t.Errorf("%d segments were returned, want 2: 20 MiB and one byte are too much", n)
	}
	must(t, a.Free(held))
}

// TestEmptyPoolFails: that the events of a pool cannot be waited for is the error of EmptyPool.
func TestEmptyPoolFails(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Waits: fakegpu.WaitsDrain})
	a := newAllocator(t, gpu, "")
	stream, err := gpu.CreateStream(0)
	must(t, err)
	pool := spec.PoolID{User: 1}
	must(t, a.BeginAllocateToPool(0, pool, spec.ForThread(0)))
	p := mustMalloc(t, a, 0, 512)
	must(t, a.EndAllocateToPool(0, pool))
	must(t, a.RecordStream(p, 0, stream))
	must(t, a.Free(p))
	must(t, a.ReleasePool(0, pool))
	failure := errors.New("the wait fails")
	must(t, gpu.FailCall("SynchronizeEvent", 1, failure))
	if err := a.EmptyPool(pool); !errors.Is(err, failure) {
		t.Errorf("the error is %v", err)
	}
	must(t, a.EmptyPool(pool))
	wantNoLeaks(t, a, gpu)
}

// panicOf is the value that f panics with.
func panicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// TestTrackerPanicsBeforeUnlock: a tracker that panics before the mutex is released for a callback
// leaves no reference to the pool, which is erased when it has been released.
func TestTrackerPanicsBeforeUnlock(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "graph_capture_record_stream_reuse:True")
	first, second := newStream(t, gpu, 0), newStream(t, gpu, 0)
	wait := func(by, on spec.Stream) { // what is captured on by runs after what is captured on on so far
		event, err := gpu.CreateEvent(0)
		must(t, err)
		must(t, gpu.RecordEvent(event, 0, on))
		must(t, gpu.WaitEvent(0, by, event))
		must(t, gpu.Launch(spec.Launch{Stream: by}))
	}
	pool := spec.PoolID{User: 1}
	must(t, gpu.BeginCapture(0, first, spec.CaptureGlobal))
	must(t, a.BeginAllocateToPool(0, pool, spec.ForThread(0)))
	p := mustMallocOn(t, a, 0, first, 20*mib)
	must(t, gpu.Launch(spec.Launch{Stream: first}))
	wait(second, first)
	must(t, a.RecordStream(p, 0, second))
	must(t, a.Free(p)) // deferred
	wait(first, second)
	must(t, a.OnNeedMemory(func() bool { return false }))
	panics := true
	must(t, a.OnTrace(func(e spec.HistoryEntry) {
		if panics && e.Action == spec.ActionFreeCompleted {
			panic(errPanic)
		}
	}))
	if value := panicOf(func() { _, _ = a.Malloc(spec.Request{Stream: first, Bytes: 60 * mib}) }); value != errPanic {
		t.Fatalf("the panic is %v", value)
	}
	panics = false
	must(t, a.EndAllocateToPool(0, pool))
	_, err := gpu.EndCapture(0, first)
	must(t, err)
	must(t, a.ReleasePool(0, pool))
	must(t, a.EmptyCache())
	if n, err := a.PoolUseCount(0, pool); err == nil {
		t.Errorf("the pool has not been erased, its use count is %d", n)
	}
}

// TestReleaseAfterReservePanics: pages of another process for which there are no addresses are
// released, and the driver panics: each is released once later.
func TestReleaseAfterReservePanics(t *testing.T) {
	machine := fakegpu.NewMachine(fakegpu.Config{})
	owner, gpu := machine.NewProcess(), machine.NewProcess()
	a := newAllocator(t, owner, "expandable_segments:True")
	b := newAllocator(t, &panickingDriver{GPU: gpu, hit: func(string) {}}, "")
	h := share(t, a, mustMalloc(t, a, 0, 60*mib))
	must(t, gpu.FailCall("ReserveAddress", 1, fakegpu.UnknownError("ReserveAddress")))
	must(t, gpu.FailCall("ReleasePage", 2, errPanic))
	if value := panicOf(func() { _, _ = b.OpenHandle(0, h.Handle) }); value != errPanic {
		t.Fatalf("the panic is %v", value)
	}
	must(t, b.EmptyCache())
	wantNoLeaks(t, b, gpu)
}

// TestFreeFailsInCapture: with graph_capture_record_stream_reuse a free asks the driver about the
// streams of the block. If that fails nothing has changed.
func TestFreeFailsInCapture(t *testing.T) {
	for nth := 1; nth <= 2; nth++ {
		gpu := fakegpu.New(fakegpu.Config{})
		a := newAllocator(t, gpu, "graph_capture_record_stream_reuse:True")
		first, second := newStream(t, gpu, 0), newStream(t, gpu, 0)
		pool := spec.PoolID{User: 1}
		must(t, a.BeginAllocateToPool(0, pool, spec.ForThread(0)))
		p := mustMallocOn(t, a, 0, first, 20*mib)
		must(t, gpu.BeginCapture(0, first, spec.CaptureGlobal))
		must(t, a.RecordStream(p, 0, second))
		failure := errors.New("failure")
		must(t, gpu.FailCall("CaptureStatus", nth, failure))
		before, err := a.Stats(0)
		must(t, err)
		if err := a.Free(p); !errors.Is(err, failure) {
			t.Fatalf("call %d fails: %v", nth, err)
		}
		if after, err := a.Stats(0); err != nil || after != before {
			t.Errorf("call %d fails, and the statistics are %+v, not %+v: %v", nth, after, before, err)
		}
		must(t, a.Free(p))
	}
}

// TestPoolsThatAreWhole: after SetNoSplit requests get blocks that are not split.
func TestPoolsThatAreWhole(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "")
	pool := spec.PoolID{User: 1}
	must(t, a.BeginAllocateToPool(0, pool, spec.ForThread(0)))
	must(t, a.SetNoSplit(0, pool))
	mustMalloc(t, a, 0, 512)
	must(t, a.EndAllocateToPool(0, pool))
	s, err := a.SnapshotPool(pool)
	must(t, err)
	if len(s.Segments) != 1 || len(s.Segments[0].Blocks) != 1 {
		t.Errorf("%+v", s.Segments)
	}
}

// TestReleasedPoolGetsNoMemory: that a pool was released is the error, whatever else is wrong with
// a request to make it.
func TestReleasedPoolGetsNoMemory(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	pool := spec.PoolID{User: 1}
	must(t, a.BeginAllocateToPool(0, pool, spec.ForThread(0)))
	mustMalloc(t, a, 0, 512)
	must(t, a.EndAllocateToPool(0, pool))
	must(t, a.ReleasePool(0, pool))
	wantError[*spec.InvalidStateError](t, a.CreatePool(0, pool, spec.PoolOptions{Memory: &ownMemory{}}), "was released")
}

// TestTrackerPanicsBetweenEvents: entries are delivered when an event has completed a free, before
// the next event is looked at.
func TestTrackerPanicsBetweenEvents(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "")
	p, q := mustMalloc(t, a, 0, 512), mustMalloc(t, a, 0, 512)
	for _, ptr := range []spec.Ptr{p, q} {
		must(t, a.RecordStream(ptr, 0, newStream(t, gpu, 0)))
		must(t, a.Free(ptr))
	}
	panics := true
	must(t, a.OnTrace(func(e spec.HistoryEntry) {
		if panics && e.Action == spec.ActionFreeCompleted {
			panic(errPanic)
		}
	}))
	if value := panicOf(func() { _, _ = a.Malloc(spec.Request{Bytes: 512}) }); value != errPanic {
		t.Fatalf("the panic is %v", value)
	}
	panics = false
	if n := current(t, a, 0, "active.all.current"); n != 1 {
		t.Errorf("%d blocks are active, want the second one", n)
	}
}

// contextOf records a history whose contexts count from 1.
func contextOf(t *testing.T, a *alloc.Allocator) {
	t.Helper()
	n := 0
	must(t, a.RecordHistory(spec.HistoryOptions{Enabled: true, Level: spec.ContextAll, Context: func() any { n++; return n }}))
}

// TestContextsOfBlocks: a block that is allocated without a context has none, and a segment whose
// first pages are mapped again keeps its own.
func TestContextsOfBlocks(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	contextOf(t, a)
	must(t, a.Free(mustMalloc(t, a, 0, 20*mib)))
	must(t, a.RecordHistory(spec.HistoryOptions{}))
	mustMalloc(t, a, 0, 20*mib)
	s, err := a.Snapshot()
	must(t, err)
	if context := s.Segments[0].Blocks[0].Context; context != nil {
		t.Errorf("the context of a block that was allocated without one is %v", context)
	}

	a = newAllocator(t, fakegpu.New(fakegpu.Config{}), "expandable_segments:True")
	contextOf(t, a)
	first := mustMalloc(t, a, 0, 20*mib)
	mustMalloc(t, a, 0, 20*mib)
	s, err = a.Snapshot()
	must(t, err)
	before := s.Segments[0].Context
	must(t, a.Free(first))
	must(t, a.EmptyCache())
	if again := mustMalloc(t, a, 0, 20*mib); again != first {
		t.Fatalf("%v is not mapped again, but %v", first, again)
	}
	s, err = a.Snapshot()
	must(t, err)
	if context := s.Segments[0].Context; context != before || before == nil {
		t.Errorf("the context of the segment was %v, and is %v", before, context)
	}
}

// TestContextOfSegmentMadeWithout: a segment that was made without a context gets that of the first
// pages that are mapped with one.
func TestContextOfSegmentMadeWithout(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "expandable_segments:True")
	first, second := mustMalloc(t, a, 0, 20*mib), mustMalloc(t, a, 0, 20*mib)
	mustMalloc(t, a, 0, 20*mib)
	context := func() any {
		s, err := a.Snapshot()
		must(t, err)
		return s.Segments[0].Context
	}
	again := func(p spec.Ptr) {
		must(t, a.Free(p))
		must(t, a.EmptyCache())
		if q := mustMalloc(t, a, 0, 20*mib); q != p {
			t.Fatalf("%v is not mapped again, but %v", p, q)
		}
	}
	contextOf(t, a)
	if again(second); context() != nil {
		t.Errorf("the context of pages in the middle is that of the segment: %v", context())
	}
	if again(first); context() == nil {
		t.Error("the segment has no context")
	}
}

// TestMappedBesideFree: pages that are mapped merge with the free block behind them.
func TestMappedBesideFree(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "expandable_segments:True")
	var p [4]spec.Ptr
	for i := range p {
		p[i] = mustMalloc(t, a, 0, 20*mib)
	}
	must(t, a.Free(p[1]))
	must(t, a.EmptyCache())
	must(t, a.Free(p[2]))
	large := mustMalloc(t, a, 0, 40*mib)
	if large != p[1] {
		t.Errorf("40 MiB are at %v, want %v", large, p[1])
	}
	for _, q := range []spec.Ptr{large, p[0], p[3]} {
		must(t, a.Free(q))
	}
	wantNoLeaks(t, a, gpu)
}

// TestGarbageOfExpandableSegments: they are not collected.
func TestGarbageOfExpandableSegments(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "expandable_segments:True,garbage_collection_threshold:0.00001")
	must(t, a.SetMemoryFraction(0, 0.5))
	must(t, a.Free(mustMalloc(t, a, 0, 20*mib)))
	mustMallocOn(t, a, 0, newStream(t, gpu, 0), 20*mib)
	if n := current(t, a, 0, "reserved_bytes.all.current"); n != 40*mib {
		t.Errorf("%d bytes are reserved", n)
	}
}

// TestMappedInParts: a request maps pages that merge with the free block behind them, and fails at
// the next pages. What has been mapped and merged is one block, which serves a request of its size
// from the cache.
func TestMappedInParts(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "expandable_segments:True")
	var p [5]spec.Ptr
	for i := range p {
		p[i] = mustMalloc(t, a, 0, 20*mib)
	}
	must(t, a.Free(p[1]))
	must(t, a.Free(p[3]))
	must(t, a.EmptyCache())
	must(t, a.Free(p[2]))
	must(t, gpu.FailCall("MapPage", 2, fakegpu.UnknownError("MapPage")))
	if q, err := a.Malloc(spec.Request{Bytes: 60 * mib}); err == nil {
		t.Fatalf("60 MiB are at %v", q)
	}
	must(t, a.OnNeedMemory(func() bool {
		t.Error("memory is needed")
		return false
	}))
	if q := mustMalloc(t, a, 0, 40*mib); q != p[1] {
		t.Errorf("40 MiB are at %v, want %v", q, p[1])
	}
}

// fewerBytes is a driver that says that a device has less memory than it gives.
type fewerBytes struct{ *fakegpu.GPU }

func (d fewerBytes) Properties(dev spec.Device) (spec.DeviceProperties, error) {
	p, err := d.GPU.Properties(dev)
	p.TotalMemory = 20 * mib
	return p, err
}

// TestGarbageOfWholeExpandableSegment: the collection of garbage ends if there is nothing else than
// a free expandable segment of which all is mapped. (It takes a driver with more memory than it
// says.)
func TestGarbageOfWholeExpandableSegment(t *testing.T) {
	a := newAllocator(t, fewerBytes{fakegpu.New(fakegpu.Config{})}, "expandable_segments:True,garbage_collection_threshold:0.5")
	must(t, a.Free(mustMalloc(t, a, 0, 40*mib)))
	must(t, a.SetMemoryFraction(0, 0.9))
	_, err := a.Malloc(spec.Request{Bytes: 60 * mib})
	wantError[*spec.OutOfMemoryError](t, err, "")
}

// TestGarbageCollectionFails: that garbage cannot be returned is the error of the malloc, and the
// garbage stays.
func TestGarbageCollectionFails(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "garbage_collection_threshold:0.00001")
	must(t, a.SetMemoryFraction(0, 0.5))
	must(t, a.Free(mustMalloc(t, a, 0, 20*mib)))
	other := newStream(t, gpu, 0)
	failure := errors.New("failure")
	must(t, gpu.FailCall("Free", 1, failure))
	if _, err := a.Malloc(spec.Request{Stream: other, Bytes: 20 * mib}); !errors.Is(err, failure) {
		t.Errorf("the error is %v", err)
	}
	if n := current(t, a, 0, "reserved_bytes.all.current"); n != 20*mib {
		t.Errorf("%d bytes are reserved", n)
	}
	mustMallocOn(t, a, 0, other, 20*mib)
	if n := current(t, a, 0, "num_device_free"); n != 1 {
		t.Errorf("%d segments were returned", n)
	}
}

// calls is how often a driver call was made.
func calls(gpu *fakegpu.GPU, call string) uint64 {
	for _, c := range gpu.Calls() {
		if c.Call == call {
			return c.Count
		}
	}
	return 0
}

// TestPeerIsAddedOnce: a device that gets access twice is given access to new memory once.
func TestPeerIsAddedOnce(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)})
	a := newAllocator(t, gpu, "expandable_segments:True")
	must(t, a.EnablePeerAccess(1, 0))
	must(t, a.EnablePeerAccess(1, 0))
	mustMalloc(t, a, 0, 20*mib)
	if n := calls(gpu, "SetAccess"); n != 2 {
		t.Errorf("access to the memory was given %d times, want once for each device", n)
	}
}

// TestEmptyPoolRefusedWaitsForNothing: an EmptyPool that is refused, since requests are routed to a
// pool, completes no free.
func TestEmptyPoolRefusedWaitsForNothing(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Waits: fakegpu.WaitsDrain})
	a := newAllocator(t, gpu, "")
	stream := newStream(t, gpu, 0)
	pool, other := spec.PoolID{User: 1}, spec.PoolID{User: 2}
	must(t, a.BeginAllocateToPool(0, pool, spec.ForThread(0)))
	p := mustMalloc(t, a, 0, 512)
	must(t, a.EndAllocateToPool(0, pool))
	must(t, a.RecordStream(p, 0, stream))
	must(t, a.Free(p))
	must(t, a.ReleasePool(0, pool))
	must(t, a.BeginAllocateToPool(0, other, spec.ForThread(0)))
	wantError[*spec.InvalidStateError](t, a.EmptyPool(pool), "routed")
	if n := calls(gpu, "SynchronizeEvent"); n > 0 || current(t, a, 0, "num_sync_all_streams") > 0 {
		t.Errorf("events were waited for %d times", n)
	}
	must(t, a.EndAllocateToPool(0, other))
	must(t, a.ReleasePool(0, other))
	must(t, a.EmptyPool(pool))
	wantNoLeaks(t, a, gpu)
}

// TestTrackerPanicsAtMap: to map pages is a step of its own. A tracker that panics at its trace
// entry ends the malloc before anything is allocated.
func TestTrackerPanicsAtMap(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "expandable_segments:True")
	must(t, a.OnTrace(func(e spec.HistoryEntry) {
		if e.Action == spec.ActionSegmentMap {
			panic(errPanic)
		}
	}))
	if value := panicOf(func() { _, _ = a.Malloc(spec.Request{Bytes: 20 * mib}) }); value != errPanic {
		t.Fatalf("the panic is %v", value)
	}
	if n := current(t, a, 0, "allocation.all.allocated"); n != 0 {
		t.Errorf("%d allocations", n)
	}
	wantNoLeaks(t, a, gpu)
}

// TestMarkersOnce: a node of the graph in which several streams of a block end is one marker of it.
func TestMarkersOnce(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "graph_capture_record_stream_reuse:True")
	first, second, third := newStream(t, gpu, 0), newStream(t, gpu, 0), newStream(t, gpu, 0)
	wait := func(by, on spec.Stream) {
		event, err := gpu.CreateEvent(0)
		must(t, err)
		must(t, gpu.RecordEvent(event, 0, on))
		must(t, gpu.WaitEvent(0, by, event))
	}
	pool := spec.PoolID{User: 1}
	must(t, gpu.BeginCapture(0, first, spec.CaptureGlobal))
	must(t, a.BeginAllocateToPool(0, pool, spec.ForThread(0)))
	p := mustMallocOn(t, a, 0, first, 20*mib)
	must(t, gpu.Launch(spec.Launch{Stream: first}))
	wait(second, first)
	must(t, gpu.Launch(spec.Launch{Stream: first}))
	must(t, gpu.Launch(spec.Launch{Stream: second}))
	wait(third, first)  // third ends in the last node of first
	wait(first, second) // first ends in the last nodes of both
	must(t, a.RecordStream(p, 0, second))
	must(t, a.RecordStream(p, 0, third))
	must(t, a.Free(p))
	markers := 0
	must(t, a.Inspect(0, spec.Visitor{DeferredFree: func(v *spec.DeferredFreeView) { markers = v.Markers }}))
	if markers != 2 {
		t.Errorf("the block has %d markers, want the 2 nodes", markers)
	}
}

// TestNotCalledAgainAfterPanic: a tracker that panics at the first of two entries that wait is not
// called with the second. The clock is, and the history has both.
func TestNotCalledAgainAfterPanic(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	p := mustMalloc(t, a, 0, 512)
	now, calls := int64(0), 0
	must(t, a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 10, Now: func() int64 { now++; return now }}))
	must(t, a.OnTrace(func(e spec.HistoryEntry) {
		if e.Action == spec.ActionSnapshot {
			return
		}
		calls++
		panic(errPanic)
	}))
	if value := panicOf(func() { _ = a.Free(p) }); value != errPanic {
		t.Fatalf("the panic is %v", value)
	}
	if calls != 1 {
		t.Errorf("the tracker was called %d times", calls)
	}
	entries := traces(t, a, 0)
	if len(entries) < 2 || entries[0].TimeNS != 1 || entries[1].TimeNS != 2 {
		t.Errorf("the history is %+v", entries)
	}
}

// TestTrackerPanicsBeforeSegment: a tracker that panics at a free that has completed ends the
// malloc before memory is obtained from the driver.
func TestTrackerPanicsBeforeSegment(t *testing.T) {
	for _, limit := range []float64{1, 0.0001} { // with the limit there is no memory to be obtained
		trackerPanicsBeforeSegment(t, limit)
	}
}

func trackerPanicsBeforeSegment(t *testing.T, limit float64) {
	t.Helper()
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "")
	pool := spec.PoolID{User: 1}
	must(t, a.BeginAllocateToPool(0, pool, spec.ForThread(1)))
	p := mustMalloc(t, a, 0, 512)
	must(t, a.RecordStream(p, 0, newStream(t, gpu, 0)))
	must(t, a.Free(p)) // deferred, and free at the next malloc after the routing
	must(t, a.EndAllocateToPool(0, pool))
	must(t, a.OnTrace(func(e spec.HistoryEntry) {
		if e.Action == spec.ActionFreeCompleted {
			panic(errPanic)
		}
	}))
	before := calls(gpu, "Malloc")
	must(t, a.SetMemoryFraction(0, limit))
	if value := panicOf(func() { _, _ = a.Malloc(spec.Request{Bytes: 30 * mib}) }); value != errPanic {
		t.Fatalf("the panic is %v", value)
	}
	if n, failures := calls(gpu, "Malloc")-before, current(t, a, 0, "num_ooms"); n != 0 || failures != 0 {
		t.Errorf("%d segments were obtained, %d requests have failed", n, failures)
	}
}

// TestTrackerWithoutHistory: a tracker gets the entries after the history has been disabled.
func TestTrackerWithoutHistory(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	entries := 0
	must(t, a.OnTrace(func(spec.HistoryEntry) { entries++ }))
	must(t, a.RecordHistory(spec.HistoryOptions{}))
	must(t, a.Free(mustMalloc(t, a, 0, 512)))
	if entries != 4 {
		t.Errorf("there are %d entries, want those of a segment, an allocation and a free", entries)
	}
}

// TestTrackerPanicsAtUnmap: to unmap the pages of a block is a step of its own. A tracker that
// panics at its trace entry ends EmptyCache before pages of the next block are unmapped.
func TestTrackerPanicsAtUnmap(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "expandable_segments:True")
	var p [4]spec.Ptr
	for i := range p {
		p[i] = mustMalloc(t, a, 0, 20*mib)
	}
	must(t, a.Free(p[0]))
	must(t, a.Free(p[2]))
	must(t, a.OnTrace(func(e spec.HistoryEntry) { panic(errPanic) }))
	if value := panicOf(func() { _ = a.EmptyCache() }); value != errPanic {
		t.Fatalf("the panic is %v", value)
	}
	if n := current(t, a, 0, "reserved_bytes.all.current"); n != 60*mib {
		t.Errorf("%d bytes are mapped, want all but one block of 20 MiB", n)
	}
}

// TestPageIsLostAtTheEnd: the last page of a segment is unmapped, and can be neither released nor
// mapped again. That is the error of EmptyCache, and the next one releases the page.
func TestPageIsLostAtTheEnd(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "expandable_segments:True")
	must(t, a.Free(mustMalloc(t, a, 0, 20*mib)))
	release, again := errors.New("it cannot be released"), errors.New("it cannot be mapped")
	must(t, gpu.FailCall("ReleasePage", 1, release))
	must(t, gpu.FailCall("MapPage", 1, again))
	if err := a.EmptyCache(); !errors.Is(err, release) || !errors.Is(err, again) {
		t.Errorf("the error is %v", err)
	}
	must(t, a.EmptyCache())
	wantNoLeaks(t, a, gpu)
}

// TestFailedReleaseIsNoRetry: a malloc that fails while the cache is released has not tried again.
func TestFailedReleaseIsNoRetry(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, 64*mib)})
	a := newAllocator(t, gpu, "")
	must(t, a.Free(mustMalloc(t, a, 0, 20*mib)))
	failure := errors.New("the driver fails")
	must(t, gpu.FailCall("Free", 1, failure))
	if _, err := a.Malloc(spec.Request{Bytes: 60 * mib}); !errors.Is(err, failure) {
		t.Errorf("the error is %v", err)
	}
	if n := current(t, a, 0, "num_alloc_retries"); n != 0 {
		t.Errorf("%d retries were counted", n)
	}
	must(t, a.Free(mustMalloc(t, a, 0, 60*mib)))
	if n := current(t, a, 0, "num_alloc_retries"); n != 1 {
		t.Errorf("%d retries were counted, want 1", n)
	}
}

// TestGarbageInRounds: garbage collection goes on with what is younger than the average until
// enough has been returned.
func TestGarbageInRounds(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, spec.GiB)})
	a := newAllocator(t, gpu, "garbage_collection_threshold:0.01")
	must(t, a.SetMemoryFraction(0, 0.5))
	stream := newStream(t, gpu, 0)
	old, young := mustMalloc(t, a, 0, 20*mib), mustMalloc(t, a, 0, 20*mib)
	held := mustMallocOn(t, a, 0, stream, 20*mib)
	must(t, a.Free(old))
	for range 10 {
		must(t, a.Free(held))
		held = mustMallocOn(t, a, 0, stream, 20*mib)
	}
	must(t, a.Free(young))
	mustMalloc(t, a, 0, 24*mib)
	if n := current(t, a, 0, "num_device_free"); n != 2 {
		t.Errorf("%d segments were returned, want both", n)
	}
}
