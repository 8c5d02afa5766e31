package alloc_test

import (
	"errors"
	"slices"
	"testing"

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

// TestTrackerPanicsBeforeUnlock: a tracker that panics before the mutex is released for a callback leaves no
// reference to the pool, which is erased when it has been released.
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

// TestReleaseAfterReservePanics: pages of another process for which there are no addresses are released, and the
// driver panics: each is released once later.
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

// TestFreeFailsInCapture: with graph_capture_record_stream_reuse a free asks the driver about the streams of the
// block. If that fails nothing has changed.
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

// TestReleasedPoolGetsNoMemory: that a pool was released is the error, whatever else is wrong with a request to make it.
func TestReleasedPoolGetsNoMemory(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	pool := spec.PoolID{User: 1}
	must(t, a.BeginAllocateToPool(0, pool, spec.ForThread(0)))
	mustMalloc(t, a, 0, 512)
	must(t, a.EndAllocateToPool(0, pool))
	must(t, a.ReleasePool(0, pool))
	wantError[*spec.InvalidStateError](t, a.CreatePool(0, pool, spec.PoolOptions{Memory: &ownMemory{}}), "was released")
}

// queryCounter counts the queries of events.
type queryCounter struct {
	*fakegpu.GPU
	queries int
}

func (c *queryCounter) QueryEvent(e spec.EventHandle) (bool, error) {
	c.queries++
	return c.GPU.QueryEvent(e)
}

// TestTrackersBetweenQueries: trackers are called for a completed free before the next event is queried, as upstream
// calls them.
func TestTrackersBetweenQueries(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	driver := &queryCounter{GPU: gpu}
	a := newAllocator(t, driver, "")
	side := newStream(t, gpu, 0)
	var blocks []spec.Ptr
	for range 2 {
		p := mustMalloc(t, a, 0, 20*mib)
		must(t, a.RecordStream(p, 0, side))
		blocks = append(blocks, p)
	}
	for _, p := range blocks {
		must(t, a.Free(p))
	}
	var queries []int
	must(t, a.OnTrace(func(e spec.HistoryEntry) {
		if e.Action == spec.ActionFreeCompleted {
			queries = append(queries, driver.queries)
		}
	}))
	mustMalloc(t, a, 0, 512)
	if !slices.Equal(queries, []int{1, 2}) {
		t.Errorf("when the frees were traced, %v events had been queried", queries)
	}
}

// TestContextOfExpandableSegment: the context of an expandable segment is that of the mapping of its first memory. Later
// mappings behind allocated memory do not change it, nor does mapping the first memory again.
func TestContextOfExpandableSegment(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second any
	}{
		{"without a context", nil, "second"},
		{"with a context", "first", "second"},
	} {
		a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "expandable_segments:True")
		record := func(context any) {
			must(t, a.RecordHistory(spec.HistoryOptions{
				Enabled: context != nil, MaxEntries: 9, Level: spec.ContextAll, Context: func() any { return context },
			}))
		}
		record(c.first)
		p := mustMalloc(t, a, 0, 20*mib)
		record(c.second)
		mustMalloc(t, a, 0, 20*mib)
		if c.first != nil { // with nil the next mapping of the first memory would give one
			must(t, a.Free(p))
			must(t, a.EmptyCache())
			mustMalloc(t, a, 0, 20*mib)
		}
		s, err := a.Snapshot()
		must(t, err)
		if len(s.Segments) != 1 || s.Segments[0].Address != p || s.Segments[0].Context != c.first {
			t.Errorf("%s: %+v", c.name, s.Segments)
		}
	}
}

// TestMappedBetweenFreeBlocks: memory that is mapped between two free blocks makes one free block of that size, also
// if the malloc fails that it was mapped for.
func TestMappedBetweenFreeBlocks(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "expandable_segments:True")
	var blocks []spec.Ptr
	for _, n := range []uint64{20, 20, 20, 20, 20, 50, 10} {
		blocks = append(blocks, mustMalloc(t, a, 0, n*mib))
	}
	must(t, a.Free(blocks[1]))
	must(t, a.Free(blocks[3]))
	must(t, a.EmptyCache()) // unmaps these two
	must(t, a.Free(blocks[0]))
	must(t, a.Free(blocks[2]))
	must(t, gpu.FailCall("CreatePage", 2, fakegpu.UnknownError("CreatePage")))
	if p, err := a.Malloc(spec.Request{Bytes: 80 * mib}); err == nil {
		t.Fatalf("the malloc returned %v", p)
	}
	must(t, a.Free(blocks[5]))
	if p := mustMalloc(t, a, 0, 30*mib); p != blocks[5] {
		t.Errorf("30 MiB are at %v, not in the best fit, the 50 MiB at %v", p, blocks[5])
	}
	if p := mustMalloc(t, a, 0, 60*mib); p != blocks[0] {
		t.Errorf("60 MiB are at %v, not in the 60 MiB at %v", p, blocks[0])
	}
}

// fewerBytes is a driver that says that a device has less memory than it gives.
type fewerBytes struct{ *fakegpu.GPU }

func (d fewerBytes) Properties(dev spec.Device) (spec.DeviceProperties, error) {
	p, err := d.GPU.Properties(dev)
	p.TotalMemory = 20 * mib
	return p, err
}

// TestGarbageOfExpandableSegments: the collection of garbage ends if there is nothing else than a free expandable segment
// of which all is mapped. (It takes a driver with more memory than it says.)
func TestGarbageOfExpandableSegments(t *testing.T) {
	a := newAllocator(t, fewerBytes{fakegpu.New(fakegpu.Config{})}, "expandable_segments:True,garbage_collection_threshold:0.5")
	must(t, a.Free(mustMalloc(t, a, 0, 40*mib)))
	must(t, a.SetMemoryFraction(0, 0.9))
	_, err := a.Malloc(spec.Request{Bytes: 60 * mib})
	wantError[*spec.OutOfMemoryError](t, err, "")
}
