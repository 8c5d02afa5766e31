package alloc_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
)

// What the functions of the program may do; spec.Allocator has the rules. panics_test.go has
// panics.

// TestNilFunctions: they are refused, and nothing changes.
func TestNilFunctions(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	wantError[*spec.InvalidArgumentError](t, a.OnTrace(nil), "on_trace: there is no function")
	wantError[*spec.InvalidArgumentError](t, a.OnNeedMemory(nil), "on_need_memory: there is no function")
	wantError[*spec.InvalidArgumentError](t, a.OnOutOfMemory(nil), "on_out_of_memory: there is no function")
	wantError[*spec.InvalidArgumentError](t, a.BeginAllocateToPool(0, spec.PoolID{User: 1}, nil), "there is no filter")
	if _, err := a.Malloc(spec.Request{Bytes: 1 << 45}); err == nil {
		t.Error("32 TiB were allocated")
	}
	must(t, a.Free(mustMalloc(t, a, 0, 1000)))
}

// TestFunctionsThatCallBack: a free-memory callback, an observer of failed requests, the
// recorder of contexts, and the clock during an annotation run without a mutex: they may call
// what they like, on their own device as well.
func TestFunctionsThatCallBack(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, 100*spec.MiB)}), "")
	pool := spec.PoolID{User: 1}
	everything := func() {
		must(t, a.CreatePool(0, pool, spec.PoolOptions{}))
		must(t, a.ReleasePool(0, pool))
		must(t, a.EmptyPool(pool))
		must(t, a.EmptyCache())
		must(t, a.Configure("garbage_collection_threshold:0.5"))
		must(t, a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 10}))
		must(t, a.OnTrace(func(spec.HistoryEntry) {}))
		p, err := a.Malloc(spec.Request{Bytes: 512})
		must(t, err)
		must(t, a.Free(p))
		_, err = a.Snapshot()
		must(t, err)
	}
	needed, failed := 0, 0
	must(t, a.OnNeedMemory(func() bool {
		if needed++; needed > 1 {
			return false
		}
		everything()
		return true
	}))
	must(t, a.OnOutOfMemory(func(spec.OutOfMemoryReport) {
		if failed++; failed == 1 {
			everything()
		}
	}))
	must(t, a.BeginAllocateToPool(0, pool, spec.ForThread(1)))
	if _, err := a.Malloc(spec.Request{Bytes: spec.GiB, Thread: 1}); err == nil {
		t.Error("1 GiB was allocated")
	}
	if needed < 2 || failed != 1 {
		t.Errorf("the callback ran %d times, the observer %d times", needed, failed)
	}

	contexts := 0
	context := func() any {
		if contexts++; contexts == 1 {
			everything()
		}
		return nil
	}
	must(t, a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 10, Level: spec.ContextAll, Context: context}))
	must(t, a.Free(mustMalloc(t, a, 0, 1000)))
	if contexts == 0 {
		t.Error("no context was recorded")
	}
	clock := func() int64 {
		if !a.HistoryEnabled() {
			t.Error("the history is off")
		}
		return 7
	}
	must(t, a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 10, Now: clock}))
	a.Annotate(0, nil)
	must(t, a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 10}))
	s, err := a.Snapshot()
	must(t, err)
	if len(s.Annotations) != 1 || s.Annotations[0].TimeNS != 7 {
		t.Errorf("the annotations are %v", s.Annotations)
	}
}

// oddMemory returns these addresses, one after the other.
type oddMemory struct{ next []spec.Ptr }

func (m *oddMemory) Allocate(spec.Device, uint64, spec.Stream) (spec.Ptr, error) {
	p := m.next[0]
	m.next = m.next[1:]
	return p, nil
}

func (m *oddMemory) Free(spec.Device, spec.Ptr, uint64, spec.Stream) error { return nil }

// TestOddMemory: memory that cannot be a segment is refused, and the next request is served.
func TestOddMemory(t *testing.T) {
	const base, size = spec.Ptr(1 << 45), spec.Ptr(10 * spec.MiB) // a request of 10 MiB gets a segment of that size
	for _, test := range []struct {
		what string
		odd  spec.Ptr
		want string
	}{
		{"the same address", base, "the segment at"},
		{"in the middle", base + size/2, "the segment at"},
		{"overlapping from below", base - size/2, "the segment at"},
		{"up to the last byte", base + size - 512, "the segment at"},
		{"from the first byte", base - size + 512, "the segment at"},
		{"not aligned", base + 8*size + 7, "not a multiple of 512"},
		{"half aligned", base + 8*size + 256, "not a multiple of 512"},
		{"the highest", math.MaxUint64 - 511, "the end is above the highest address"},
	} {
		t.Run(test.what, func(t *testing.T) {
			a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
			pool := spec.PoolID{User: 1}
			must(t, a.CreatePool(0, pool, spec.PoolOptions{Memory: &oddMemory{next: []spec.Ptr{base, test.odd, base + size, base - size}}}))
			must(t, a.BeginAllocateToPool(0, pool, spec.ForThread(1)))
			malloc := func() (spec.Ptr, error) { return a.Malloc(spec.Request{Bytes: uint64(size), Thread: 1}) }
			for call, want := range []spec.Ptr{base, 0, base + size, base - size} {
				p, err := malloc()
				if p != want {
					t.Errorf("malloc %d returned %v, want %v: %v", call, p, want, err)
				}
				if want == 0 {
					wantError[*spec.InvalidArgumentError](t, err, test.want)
				} else {
					must(t, err)
				}
			}
			o, err := invariant.Observe(a, spec.DefaultGeometry(), 1)
			must(t, err)
			if v, err := invariant.CheckAll(o); err != nil || len(v) > 0 {
				t.Error(v, err)
			}
		})
	}
}

// TestSettersAreSerialized: what sets something on every device takes effect as a whole. While
// one call waits for the mutex of device 1, another has no effect on device 0. So in the end all
// devices are as the last call says.
func TestSettersAreSerialized(t *testing.T) {
	for _, test := range []struct {
		name          string
		first, second func(a *alloc.Allocator) error
		firstOn0      func(a *alloc.Allocator) bool // the first call has reached device 0
		secondOn0     func(a *alloc.Allocator) bool
	}{
		{
			name: "RecordHistory",
			first: func(a *alloc.Allocator) error {
				return a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 10})
			},
			second:    func(a *alloc.Allocator) error { return a.RecordHistory(spec.HistoryOptions{MaxEntries: 10}) },
			firstOn0:  func(a *alloc.Allocator) bool { return a.HistoryEnabled() },
			secondOn0: func(a *alloc.Allocator) bool { return !a.HistoryEnabled() },
		},
		{
			name:      "Configure",
			first:     func(a *alloc.Allocator) error { return a.Configure("garbage_collection_threshold:0.5") },
			second:    func(a *alloc.Allocator) error { return a.Configure("max_split_size_mb:50") },
			firstOn0:  func(a *alloc.Allocator) bool { return a.Config().GarbageCollectionThreshold == 0.5 },
			secondOn0: func(a *alloc.Allocator) bool { return a.Config().MaxSplitSize != spec.Unlimited },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newAllocator(t, fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(3, spec.GiB)}), "")
			testSerialized(t, a, test.first, test.second, test.firstOn0, test.secondOn0)
			if !test.secondOn0(a) {
				t.Error("the second call had no effect")
			}
		})
	}
	t.Run("OnTrace", func(t *testing.T) {
		a := newAllocator(t, fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(3, spec.GiB)}), "")
		var heard [2]atomic.Int32
		on := func(i int) func(*alloc.Allocator) error {
			return func(a *alloc.Allocator) error { return a.OnTrace(func(spec.HistoryEntry) { heard[i].Add(1) }) }
		}
		hears := func(i int) func(*alloc.Allocator) bool {
			return func(a *alloc.Allocator) bool {
				must(t, a.Free(mustMalloc(t, a, 0, 512)))
				return heard[i].Load() > 0
			}
		}
		testSerialized(t, a, on(0), on(1), hears(0), hears(1))
	})
}

func testSerialized(t *testing.T, a *alloc.Allocator, first, second func(*alloc.Allocator) error, firstOn0, secondOn0 func(*alloc.Allocator) bool) {
	t.Helper()
	var threads sync.WaitGroup
	inspect := spec.Visitor{Pool: func(*spec.PoolView) { // once, with the device's mutex held
		threads.Go(func() { must(t, first(a)) })
		for !firstOn0(a) {
			runtime.Gosched()
		}
		threads.Go(func() { must(t, second(a)) })
		for start := time.Now(); time.Since(start) < 50*time.Millisecond; {
			if secondOn0(a) {
				t.Error("the second call did not wait for the first")
				break
			}
			runtime.Gosched()
		}
	}}
	must(t, a.Inspect(1, inspect))
	threads.Wait()
}

// TestEntriesBeforeCallbacks: what a malloc has done is in the trace when it calls a free-memory
// callback, since others may run then.
func TestEntriesBeforeCallbacks(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "")
	stream, err := gpu.CreateStream(0)
	must(t, err)
	pool := spec.PoolID{User: 1}
	must(t, a.BeginAllocateToPool(0, pool, spec.ForThread(1)))
	p := mustMalloc(t, a, 0, 512)
	must(t, a.RecordStream(p, 0, stream))
	must(t, a.Free(p)) // deferred, and free at the next malloc after the routing
	must(t, a.EndAllocateToPool(0, pool))
	var entries []spec.Action
	must(t, a.OnTrace(func(e spec.HistoryEntry) { entries = append(entries, e.Action) }))
	called := false
	must(t, a.OnNeedMemory(func() bool {
		called = true
		if !slices.Equal(entries, []spec.Action{spec.ActionFreeCompleted}) {
			t.Errorf("the trace has %v", entries)
		}
		return false
	}))
	mustMalloc(t, a, 0, 30*spec.MiB)
	if !called {
		t.Error("the callback was not called")
	}
}

// TestCloseReportsEveryFailure: the errors of all steps are in the error of Close.
func TestCloseReportsEveryFailure(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "expandable_segments:True")
	stream, err := gpu.CreateStream(0)
	must(t, err)
	p := mustMalloc(t, a, 0, 512)
	must(t, a.RecordStream(p, 0, stream))
	must(t, a.Free(p))
	must(t, gpu.FailCall("CreatePage", 1, spec.ErrDriverOutOfMemory)) // leaves a segment without pages
	must(t, gpu.FailCall("CreatePage", 2, spec.ErrDriverOutOfMemory))
	if _, err := a.Malloc(spec.Request{Bytes: 30 * spec.MiB}); err == nil {
		t.Fatal("the malloc succeeded")
	}
	must(t, a.Free(mustMalloc(t, a, 0, 512))) // completes the free: its event is unused
	must(t, a.EmptyCache())
	p = mustMalloc(t, a, 0, 512)
	must(t, a.Free(p))
	var failures [3]error
	for i, call := range []string{"UnmapPage", "FreeAddress", "DestroyEvent"} {
		failures[i] = fmt.Errorf("%s fails", call)
		must(t, gpu.FailCall(call, 1, failures[i]))
	}
	err = a.Close()
	for _, failure := range failures {
		if !errors.Is(err, failure) {
			t.Errorf("%v is not in %v", failure, err)
		}
	}
	wantNoLeaks(t, a, gpu)
}
