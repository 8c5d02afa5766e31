package alloc_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// Single steps of operations that longer tests go through without a look at them.

// TestHitOfInaccessiblePages: pages that are mapped and could be neither made accessible nor
// unmapped are free memory. A request that gets them, even from the cache, gives access first.
func TestHitOfInaccessiblePages(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "expandable_segments:True")
	mustMalloc(t, a, 0, 20*mib)
	must(t, a.Free(mustMalloc(t, a, 0, 20*mib)))
	must(t, a.EmptyCache()) // unmaps a page that is accessible
	must(t, gpu.FailCall("SetAccess", 1, fakegpu.UnknownError("SetAccess")))
	must(t, gpu.FailCall("UnmapPage", 1, fakegpu.UnknownError("UnmapPage")))
	if _, err := a.Malloc(spec.Request{Bytes: 20 * mib}); err == nil {
		t.Fatal("the malloc succeeded")
	}
	before, mapped := calls(gpu, "SetAccess"), calls(gpu, "MapPage")
	p := mustMalloc(t, a, 0, 20*mib)
	if n := calls(gpu, "SetAccess") - before; n != 1 || calls(gpu, "MapPage") != mapped {
		t.Errorf("access was given %d times, want once, to pages that are mapped", n)
	}
	launch(t, gpu, 0, p)
	wantViolations(t, gpu, 0)
}

// TestAccessPanics: the driver panics while a request gives access to a free block. The block is
// free again.
func TestAccessPanics(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, &panickingDriver{GPU: gpu, hit: func(string) {}}, "expandable_segments:True")
	must(t, gpu.FailCall("SetAccess", 1, fakegpu.UnknownError("SetAccess")))
	must(t, gpu.FailCall("UnmapPage", 1, fakegpu.UnknownError("UnmapPage")))
	if _, err := a.Malloc(spec.Request{Bytes: 20 * mib}); err == nil {
		t.Fatal("the malloc succeeded")
	}
	must(t, gpu.FailCall("SetAccess", 1, errPanic))
	if value := panicOf(func() { _, _ = a.Malloc(spec.Request{Bytes: 20 * mib}) }); value != errPanic {
		t.Fatalf("the panic is %v", value)
	}
	mapped := calls(gpu, "MapPage")
	must(t, a.Free(mustMalloc(t, a, 0, 20*mib)))
	if calls(gpu, "MapPage") != mapped {
		t.Error("the block was not free")
	}
	wantNoLeaks(t, a, gpu)
}

// TestReuseAsks: with graph_capture_record_stream_reuse a malloc in a capture asks the driver about
// its stream. If that fails it fails.
func TestReuseAsks(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "graph_capture_record_stream_reuse:True")
	must(t, a.BeginAllocateToPool(0, spec.PoolID{User: 1}, spec.ForThread(0)))
	failure := errors.New("failure")
	must(t, gpu.FailCall("CaptureStatus", 1, failure))
	if _, err := a.Malloc(spec.Request{Bytes: 512}); !errors.Is(err, failure) {
		t.Errorf("the error is %v", err)
	}
}

// TestNodesAreVisitedOnce: a malloc in a capture asks for the dependencies of each node once, and
// one that follows it only for those of the nodes that are new. If the driver fails so does the
// malloc.
func TestNodesAreVisitedOnce(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "graph_capture_record_stream_reuse:True")
	first, second := newStream(t, gpu, 0), newStream(t, gpu, 0)
	must(t, gpu.BeginCapture(0, first, spec.CaptureGlobal))
	must(t, a.BeginAllocateToPool(0, spec.PoolID{User: 1}, spec.ForThread(0)))
	launchOn := func(s spec.Stream) { must(t, gpu.Launch(spec.Launch{Stream: s})) }
	wait := func(by, on spec.Stream) {
		event, err := gpu.CreateEvent(0)
		must(t, err)
		must(t, gpu.RecordEvent(event, 0, on))
		must(t, gpu.WaitEvent(0, by, event))
	}
	launchOn(first) // two branches from it, which join
	wait(second, first)
	launchOn(first)
	launchOn(second)
	wait(first, second)
	launchOn(first)
	malloc := func(want uint64) {
		t.Helper()
		before := calls(gpu, "NodeDependencies")
		mustMallocOn(t, a, 0, first, 512)
		if n := calls(gpu, "NodeDependencies") - before; n != want {
			t.Errorf("the driver was asked about %d nodes, want %d", n, want)
		}
	}
	malloc(4)
	malloc(0)
	launchOn(first)
	failure := errors.New("failure")
	must(t, gpu.FailCall("NodeDependencies", 1, failure))
	if _, err := a.Malloc(spec.Request{Stream: first, Bytes: 512}); !errors.Is(err, failure) {
		t.Errorf("the error is %v", err)
	}
	malloc(5)
}

// TestOversizeToTheByte: oversize blocks are returned until their sum is what is needed, and not
// beyond. Then there is no need to release the cache.
func TestOversizeToTheByte(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, 64*mib)})
	a := newAllocator(t, gpu, "max_split_size_mb:20")
	var cached []spec.Ptr
	for range 3 {
		cached = append(cached, mustMalloc(t, a, 0, 20*mib))
	}
	for _, p := range cached {
		must(t, a.Free(p))
	}
	mustMalloc(t, a, 0, 40*mib)
	if n, retries := current(t, a, 0, "num_device_free"), current(t, a, 0, "num_alloc_retries"); n != 2 || retries != 0 {
		t.Errorf("%d blocks were returned, with %d retries; want 2 with none", n, retries)
	}
}

// TestTwoDivisions: sizes are rounded to two divisions also where the cache serves the request.
func TestTwoDivisions(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "roundup_power2_divisions:2")
	mustMalloc(t, a, 0, 1100<<10)
	before := current(t, a, 0, "allocated_bytes.all.current")
	mustMalloc(t, a, 0, 1100<<10)
	if n := current(t, a, 0, "allocated_bytes.all.current") - before; n != 1536<<10 {
		t.Errorf("%d bytes were allocated", n)
	}
}

// TestSnapshotHasSettings: a snapshot has the settings that are in force.
func TestSnapshotHasSettings(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "max_split_size_mb:50")
	s, err := a.Snapshot()
	must(t, err)
	if s.Config.MaxSplitSize != 50*mib {
		t.Errorf("max_split_size is %d bytes", s.Config.MaxSplitSize)
	}
}

// TestAccessOfRuns: a device gets access to each run of mapped pages in one call. After a failure
// in a later segment it is not given again.
func TestAccessOfRuns(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)})
	a := newAllocator(t, gpu, "expandable_segments:True")
	mustMalloc(t, a, 0, 60*mib) // three pages
	mustMallocOn(t, a, 0, newStream(t, gpu, 0), 60*mib)
	failure := errors.New("failure")
	must(t, gpu.FailCall("SetAccess", 2, failure))
	before := calls(gpu, "SetAccess")
	if err := a.EnablePeerAccess(1, 0); !errors.Is(err, failure) {
		t.Errorf("the error is %v", err)
	}
	must(t, a.EnablePeerAccess(1, 0))
	if n := calls(gpu, "SetAccess") - before; n != 3 {
		t.Errorf("access was given %d times, want once to the first segment, and to the second, after a failure", n)
	}
	must(t, gpu.FailCall("SetAccess", 1, failure))
	if _, err := a.Malloc(spec.Request{Bytes: 100 * mib}); err == nil || !strings.Contains(err.Error(), "giving device 0 access") {
		t.Errorf("the device itself does not come first: %v", err)
	}
}

// TestDefaultPoolIsNotFreeable: only private pools are freeable.
func TestDefaultPoolIsNotFreeable(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	must(t, a.Inspect(0, spec.Visitor{Pool: func(v *spec.PoolView) {
		if v.Freeable {
			t.Errorf("pool %v is freeable", v.ID)
		}
	}}))
}

// TestOneAnnotation: of annotations as many are kept as of entries.
func TestOneAnnotation(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	must(t, a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 1}))
	a.Annotate(0, []spec.AnnotationField{{Key: "n", Value: "1"}})
	a.Annotate(0, []spec.AnnotationField{{Key: "n", Value: "2"}})
	s, err := a.Snapshot()
	must(t, err)
	if len(s.Annotations) != 1 || s.Annotations[0].Fields[0].Value != "2" {
		t.Errorf("the annotations are %+v", s.Annotations)
	}
}

// TestNothingWithoutHistory: without a history the clock is not called for an annotation, and no
// compile context is popped.
func TestNothingWithoutHistory(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	must(t, a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 10}))
	a.PushCompileContext(0, "first")
	a.PushCompileContext(0, "second")
	must(t, a.RecordHistory(spec.HistoryOptions{Now: func() int64 {
		t.Error("the clock was called")
		return 0
	}}))
	a.Annotate(0, nil)
	a.PopCompileContext(0)
	must(t, a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 10}))
	mustMalloc(t, a, 0, 512)
	entries := traces(t, a, 0)
	if context := entries[len(entries)-1].CompileContext; context != "second" {
		t.Errorf("the compile context is %q", context)
	}
}

// TestAges: a free block is as old as the searches since it became free. The remainder of a split
// is new, and so is what was mapped for a request that failed.
func TestAges(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "garbage_collection_threshold:0.9")
	must(t, a.SetMemoryFraction(0, 0.9))
	stream := newStream(t, gpu, 0)
	want := func(what string, want ...uint64) {
		t.Helper()
		var ages []uint64
		must(t, a.Inspect(0, spec.Visitor{Block: func(v *spec.BlockView) {
			if !v.Allocated && v.Mapped {
				ages = append(ages, v.Age)
			}
		}}))
		if !slices.Equal(ages, want) {
			t.Errorf("%s: the ages are %v, want %v", what, ages, want)
		}
	}
	p := mustMalloc(t, a, 0, 20*mib) // the first search
	must(t, a.Free(p))
	want("it has just been freed", 0)
	mustMallocOn(t, a, 0, stream, 20*mib)
	mustMallocOn(t, a, 0, stream, 20*mib)
	want("two searches later", 2)
	mustMalloc(t, a, 0, 12*mib)
	want("a remainder", 0)

	must(t, a.Configure("expandable_segments:True,garbage_collection_threshold:0.9"))
	mustMallocOn(t, a, 0, stream, 20*mib)
	want("one search later", 1)
	must(t, gpu.FailCall("MapPage", 2, fakegpu.UnknownError("MapPage")))
	must(t, gpu.FailCall("UnmapPage", 1, fakegpu.UnknownError("UnmapPage")))
	if _, err := a.Malloc(spec.Request{Bytes: 40 * mib}); err == nil {
		t.Fatal("the malloc succeeded")
	}
	want("what was mapped for a request that failed", 2, 0)
}

// TestAgeOfTheFirstSearch: what was free before garbage collection was turned on is older than what
// has become free after the first search.
func TestAgeOfTheFirstSearch(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, spec.GiB)})
	a := newAllocator(t, gpu, "")
	must(t, a.Free(mustMalloc(t, a, 0, 20*mib)))
	must(t, a.SetMemoryFraction(0, 0.5))
	must(t, a.Configure("garbage_collection_threshold:0.0586")) // 30 MiB
	must(t, a.Free(mustMallocOn(t, a, 0, newStream(t, gpu, 0), 20*mib)))
	mustMallocOn(t, a, 0, newStream(t, gpu, 0), 20*mib)
	if n := current(t, a, 0, "num_device_free"); n != 1 {
		t.Errorf("%d segments were returned, want the older one", n)
	}
}

// TestGarbageRoundsAverage: the average of each round is that of the blocks that are left.
func TestGarbageRoundsAverage(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, spec.GiB)})
	a := newAllocator(t, gpu, "garbage_collection_threshold:0.156") // 80 MiB less a bit
	must(t, a.SetMemoryFraction(0, 0.5))
	stream := newStream(t, gpu, 0)
	var cached []spec.Ptr
	for range 3 {
		cached = append(cached, mustMalloc(t, a, 0, 20*mib))
	}
	held := mustMallocOn(t, a, 0, stream, 20*mib)
	search := func(times int) {
		for range times {
			must(t, a.Free(held))
			held = mustMallocOn(t, a, 0, stream, 20*mib)
		}
	}
	must(t, a.Free(cached[0]))
	search(40)
	must(t, a.Free(cached[1]))
	search(5)
	must(t, a.Free(cached[2]))
	must(t, a.Configure("garbage_collection_threshold:0.1")) // 51 MiB: two of the 80 are too much
	mustMalloc(t, a, 0, 24*mib)
	if n := current(t, a, 0, "num_device_free"); n != 2 {
		t.Errorf("%d segments were returned, want the two older ones", n)
	}
}

// TestTrackerPanicsAtSegmentFree: to return a segment is a step of its own. A tracker that panics
// at its trace entry ends EmptyCache before the next one is returned.
func TestTrackerPanicsAtSegmentFree(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	p, q := mustMalloc(t, a, 0, 20*mib), mustMalloc(t, a, 0, 20*mib)
	must(t, a.Free(p))
	must(t, a.Free(q))
	must(t, a.OnTrace(func(e spec.HistoryEntry) { panic(errPanic) }))
	if value := panicOf(func() { _ = a.EmptyCache() }); value != errPanic {
		t.Fatalf("the panic is %v", value)
	}
	if n := current(t, a, 0, "num_device_free"); n != 1 {
		t.Errorf("%d segments were returned", n)
	}
}

// TestRefusals: of several reasons to refuse a call the first that the contract names is told, and
// nothing has changed.
func TestRefusals(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "")
	if _, err := a.Malloc(spec.Request{Device: 9}); err == nil {
		t.Error("a device that is not there allocates 0 bytes")
	}
	if err := a.EnablePeerAccess(9, 9); err == nil || strings.Contains(err.Error(), "itself") {
		t.Errorf("the device is not there: %v", err)
	}

	// A checkpoint of no pool leaves the deferred blocks alone.
	pool := spec.PoolID{User: 1}
	must(t, a.BeginAllocateToPool(0, pool, spec.ForThread(0)))
	p := mustMalloc(t, a, 0, 512)
	must(t, a.RecordStream(p, 0, newStream(t, gpu, 0)))
	must(t, a.Free(p))
	if _, err := a.Checkpoint(0, spec.PoolID{User: 7}); err == nil {
		t.Error("there is no such pool")
	}
	deferred := 0
	must(t, a.Inspect(0, spec.Visitor{DeferredFree: func(*spec.DeferredFreeView) { deferred++ }}))
	if deferred != 1 {
		t.Errorf("%d blocks are deferred", deferred)
	}

	// A pool that cannot be given other memory is not changed in other ways.
	if err := a.CreatePool(0, pool, spec.PoolOptions{Memory: &oddMemory{}, UseOnOOM: true}); err == nil {
		t.Error("a pool was given other memory")
	}
	must(t, a.Inspect(0, spec.Visitor{Pool: func(v *spec.PoolView) {
		if v.UseOnOOM {
			t.Errorf("pool %v is used if memory runs out", v.ID)
		}
	}}))
}

// TestEmptyPoolWaitsForItsOwn: EmptyPool waits for no events of blocks of other pools.
func TestEmptyPoolWaitsForItsOwn(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Waits: fakegpu.WaitsDrain})
	a := newAllocator(t, gpu, "")
	stream := newStream(t, gpu, 0)
	other := mustMalloc(t, a, 0, 512)
	pool := spec.PoolID{User: 1}
	must(t, a.BeginAllocateToPool(0, pool, spec.ForThread(0)))
	own := mustMalloc(t, a, 0, 512)
	must(t, a.EndAllocateToPool(0, pool))
	for _, p := range []spec.Ptr{other, own} {
		must(t, a.RecordStream(p, 0, stream))
		must(t, a.Free(p))
	}
	must(t, a.ReleasePool(0, pool))
	must(t, a.EmptyPool(pool))
	if n := calls(gpu, "SynchronizeEvent"); n != 1 {
		t.Errorf("%d events were waited for", n)
	}
}

// TestPagesAreReleasedFirst: pages that the driver has not taken back are released before anything
// else is, and not while a capture forbids it. A failure ends EmptyCache.
func TestPagesAreReleasedFirst(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "expandable_segments:True")
	must(t, gpu.FailCall("MapPage", 1, fakegpu.UnknownError("MapPage")))
	must(t, gpu.FailCall("ReleasePage", 1, fakegpu.UnknownError("ReleasePage")))
	if _, err := a.Malloc(spec.Request{Bytes: 20 * mib}); err == nil {
		t.Fatal("the malloc succeeded")
	}
	stream := newStream(t, gpu, 0)
	must(t, gpu.BeginCapture(0, stream, spec.CaptureGlobal))
	before := calls(gpu, "ReleasePage")
	must(t, a.EmptyCache())
	if n := calls(gpu, "ReleasePage") - before; n != 0 {
		t.Errorf("%d pages were released during a capture", n)
	}
	second(gpu.EndCapture(0, stream))
	failure := errors.New("failure")
	must(t, gpu.FailCall("ReleasePage", 1, failure))
	waits := current(t, a, 0, "num_sync_all_streams")
	if err := a.EmptyCache(); !errors.Is(err, failure) {
		t.Errorf("the error is %v", err)
	}
	if n := current(t, a, 0, "num_sync_all_streams"); n != waits {
		t.Error("EmptyCache went on after the failure")
	}
	must(t, a.EmptyCache())
	for _, leak := range gpu.Leaks() {
		if strings.HasPrefix(leak, "page") {
			t.Error(leak)
		}
	}
}

// TestRangeIsKept: addresses for pages of another process that cannot be freed are an error of each
// EmptyCache until they can.
func TestRangeIsKept(t *testing.T) {
	machine := fakegpu.NewMachine(fakegpu.Config{})
	owner, gpu := machine.NewProcess(), machine.NewProcess()
	a, b := newAllocator(t, owner, "expandable_segments:True"), newAllocator(t, gpu, "")
	h := share(t, a, mustMalloc(t, a, 0, 20*mib))
	failure := errors.New("failure")
	must(t, gpu.FailCall("MapPage", 1, failure))
	must(t, gpu.FailCall("FreeAddress", 1, failure))
	if _, err := b.OpenHandle(0, h.Handle); !errors.Is(err, failure) {
		t.Errorf("the error is %v", err)
	}
	must(t, gpu.FailCall("FreeAddress", 1, failure))
	if err := b.EmptyCache(); !errors.Is(err, failure) {
		t.Errorf("the error is %v", err)
	}
	must(t, b.EmptyCache())
	wantNoLeaks(t, b, gpu)
}

// TestOpenAfterFailedClose: memory that could not be closed is still open, and is not opened a
// second time.
func TestOpenAfterFailedClose(t *testing.T) {
	machine := fakegpu.NewMachine(fakegpu.Config{})
	owner, gpu := machine.NewProcess(), machine.NewProcess()
	a, b := newAllocator(t, owner, ""), newAllocator(t, gpu, "")
	h := share(t, a, mustMalloc(t, a, 0, 20*mib)).Handle
	m := open(t, b, 0, h)
	must(t, gpu.FailCall("CloseMemory", 1, fakegpu.UnknownError("CloseMemory")))
	wantError[*spec.DriverError](t, m.Close(), "CloseMemory")
	again := open(t, b, 0, h)
	if n := calls(gpu, "OpenMemory"); n != 1 || again.Base() != m.Base() {
		t.Errorf("the memory was opened %d times", n)
	}
	must(t, m.Close())
	must(t, again.Close())
	wantNoLeaks(t, b, gpu)
}

// TestManyEntriesAtOnce: a restore makes more trace entries than the space is kept for. The history
// and the trackers get all.
func TestManyEntriesAtOnce(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	pool := spec.PoolID{User: 1}
	must(t, a.BeginAllocateToPool(0, pool, spec.ForThread(0)))
	for range 400 {
		mustMalloc(t, a, 0, 512)
	}
	state, err := a.Checkpoint(0, pool)
	must(t, err)
	must(t, a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: math.MaxInt}))
	tracked := 0
	must(t, a.OnTrace(func(spec.HistoryEntry) { tracked++ }))
	_, err = a.Restore(0, state)
	must(t, err)
	seen := tracked
	if n := len(traces(t, a, 0)); n < 1200 || seen != n {
		t.Errorf("the history has %d entries, and the tracker %d", n, seen)
	}
}

// TestNoFreeMemory: without a free block, and without free memory of the device, nothing is free.
func TestNoFreeMemory(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, 20*mib)}), "")
	mustMalloc(t, a, 0, 20*mib)
	if n, err := a.CacheInfo(0, 0); n != 0 || err != nil {
		t.Errorf("the largest is %d bytes: %v", n, err)
	}
}

// TestContextsOfCheckpoints: the context of a checkpoint and of a restore is that of the call, on
// the first device too.
func TestContextsOfCheckpoints(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	pool := spec.PoolID{User: 1}
	must(t, a.BeginAllocateToPool(0, pool, spec.ForThread(0)))
	mustMalloc(t, a, 0, 512)
	asked := 0
	must(t, a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 10, Level: spec.ContextAll, Context: func() any {
		asked++
		return asked
	}}))
	state, err := a.Checkpoint(0, pool)
	must(t, err)
	if asked != 1 {
		t.Errorf("the context was asked for %d times", asked)
	}
	_, err = a.Restore(0, state)
	must(t, err)
	if asked != 2 {
		t.Errorf("the context was asked for %d times", asked)
	}
}

// TestPagesOfTheWholeDevice: handles of as many pages as there may be, and of pages as large as the
// device, are refused for other reasons only.
func TestPagesOfTheWholeDevice(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, 64*mib)})
	b := newAllocator(t, gpu, "")
	handle := func(size, pages uint64) []byte {
		h := []byte{2, 'e'}
		for _, word := range []uint64{77, size, pages} {
			for range 8 {
				h = append(h, byte(word))
				word >>= 8
			}
		}
		return append(h, make([]byte, 8*pages)...)
	}
	for _, h := range [][]byte{handle(64*mib, 1), handle(2*mib, 1<<20)} {
		_, err := b.OpenHandle(0, h)
		wantError[*spec.DriverError](t, err, "process 77")
	}
}

// nowhere is a driver that says that it has memory at address 0.
type nowhere struct{ *fakegpu.GPU }

func (nowhere) Malloc(spec.Device, uint64) (spec.Ptr, error) { return 0, nil }

// TestMemoryNowhere: memory at address 0 is no memory.
func TestMemoryNowhere(t *testing.T) {
	a := newAllocator(t, nowhere{fakegpu.New(fakegpu.Config{})}, "")
	_, err := a.Malloc(spec.Request{Bytes: 512})
	wantError[*spec.InvalidArgumentError](t, err, "not a multiple of 512")
}

// TestCloseMemoryDuringCapture: to close memory that is no pages is left to the driver, also during
// a capture.
func TestCloseMemoryDuringCapture(t *testing.T) {
	machine := fakegpu.NewMachine(fakegpu.Config{})
	owner, gpu := machine.NewProcess(), machine.NewProcess()
	a, b := newAllocator(t, owner, ""), newAllocator(t, gpu, "")
	m := open(t, b, 0, share(t, a, mustMalloc(t, a, 0, 20*mib)).Handle)
	must(t, gpu.BeginCapture(0, newStream(t, gpu, 0), spec.CaptureGlobal))
	_ = m.Close()
	if n := calls(gpu, "CloseMemory"); n != 1 {
		t.Errorf("the driver was asked %d times", n)
	}
}
