package alloc_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
)

// TestOutOfMemoryObservers: each is called for each request that failed for lack of
// memory, in the order of registration, and may use the allocator.
func TestOutOfMemoryObservers(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, 100*mib)})
	a := newAllocator(t, gpu, "")
	var got []string
	for _, name := range []string{"first", "second"} {
		a.OnOutOfMemory(func(r spec.OutOfMemoryReport) {
			got = append(got, fmt.Sprintf("%s: %+v", name, r))
			must(t, a.EmptyCache()) // takes the device's mutex
			must(t, a.Free(mustMalloc(t, a, r.Device, mib)))
		})
	}
	_, err := a.Malloc(spec.Request{Device: 1, Bytes: 120 * mib})
	wantError[*spec.OutOfMemoryError](t, err, "120.00 MiB")
	must(t, a.SetMemoryFraction(0, 0.5))
	_, err = a.Malloc(spec.Request{Bytes: 60*mib - 1})
	wantError[*spec.OutOfMemoryError](t, err, "50.00 MiB allowed")

	// A request that no device can serve fails before the device is asked.
	_, err = a.Malloc(spec.Request{Bytes: 1 << 60})
	wantError[*spec.OutOfMemoryError](t, err, "more than any device has")
	want := []string{
		"first: {Device:1 SegmentSize:125829120 Allowed:104857600 DeviceFree:104857600}",
		"second: {Device:1 SegmentSize:125829120 Allowed:104857600 DeviceFree:104857600}",
		"first: {Device:0 SegmentSize:62914560 Allowed:52428800 DeviceFree:104857600}",
		"second: {Device:0 SegmentSize:62914560 Allowed:52428800 DeviceFree:104857600}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

// TestMemInfoFails: the driver cannot report the free memory while a request fails. The
// request is still out of memory and is counted. The free memory is reported as 0.
func TestMemInfoFails(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, 100*mib)})
	a := newAllocator(t, gpu, "")
	called := 0
	a.OnOutOfMemory(func(spec.OutOfMemoryReport) { called++ })
	must(t, gpu.FailCall("MemInfo", 1, fakegpu.UnknownError("MemInfo")))
	_, err := a.Malloc(spec.Request{Bytes: 120 * mib})
	wantError[*spec.OutOfMemoryError](t, err, "total capacity of 100.00 MiB of which 0 bytes is free")
	wantError[*spec.DriverError](t, err, "MemInfo")
	if called != 1 || current(t, a, 0, "num_ooms") != 1 {
		t.Errorf("%d observers were called, num_ooms is %d", called, current(t, a, 0, "num_ooms"))
	}
}

// TestNeedMemory: when no free block serves a request, all free-memory callbacks are
// called, in the order of registration, without a mutex held. If one freed memory the
// free blocks are searched again before the driver is asked.
func TestNeedMemory(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "")
	hoard := mustMalloc(t, a, 0, 20*mib)
	var asked []string
	a.OnNeedMemory(func() bool {
		asked = append(asked, "first")
		if hoard == 0 {
			return false
		}
		must(t, a.Free(hoard))
		hoard = 0
		return true
	})
	a.OnNeedMemory(func() bool {
		asked = append(asked, "second")
		_, err := a.Stats(0)
		return err != nil
	})
	want := func(what string, segments int64, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Errorf("%s: asked (-want +got):\n%s", what, diff)
		}
		if got := current(t, a, 0, "segment.all.current"); got != segments {
			t.Errorf("%s: there are %d segments, want %d", what, got, segments)
		}
		asked = nil
	}

	p := mustMalloc(t, a, 0, 15*mib)
	want("what one of them freed serves", 1, "first", "second")
	q := mustMalloc(t, a, 0, 5*mib)
	want("the cache serves", 1)
	mustMalloc(t, a, 0, 15*mib)
	want("no callback has freed anything", 2, "first", "second")
	must(t, a.Free(p))
	must(t, a.Free(q))

	// A callback may be wrong about that. Then the driver is asked, as without it.
	a.OnNeedMemory(func() bool { asked = append(asked, "liar"); return true })
	mustMalloc(t, a, 0, 30*mib)
	want("nothing was freed", 3, "first", "second", "liar")
}

// TestNeedMemoryIsBelieved: the cache is searched again just if a callback says that it has freed
// memory.
func TestNeedMemoryIsBelieved(t *testing.T) {
	for _, says := range []bool{true, false} {
		a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
		hoard := mustMalloc(t, a, 0, 20*mib)
		must(t, a.OnNeedMemory(func() bool {
			must(t, a.Free(hoard))
			return says
		}))
		if p := mustMalloc(t, a, 0, 20*mib); (p == hoard) != says {
			t.Errorf("a callback has freed memory and says %v: the request got the same memory: %v", says, p == hoard)
		}
	}
}

// TestNeedMemoryTakenAway: what the callbacks of one request free may be allocated by
// another request before the first has the mutex again. Here the other request is made
// by a callback.
func TestNeedMemoryTakenAway(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "")
	hoard := mustMalloc(t, a, 0, 20*mib)
	taken := spec.Ptr(0)
	a.OnNeedMemory(func() bool {
		if taken == 0 {
			must(t, a.Free(hoard))
			taken = mustMalloc(t, a, 0, 20*mib)
		}
		return true
	})
	if p := mustMalloc(t, a, 0, 20*mib); p == taken || taken != hoard {
		t.Errorf("the request has %v, the callback took %v of what was at %v", p, taken, hoard)
	}
}

// TestNeedMemoryAndPools: the mutex is released for the callbacks, so others may
// release the request's pool. The pool stays until the request is served.
func TestNeedMemoryAndPools(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "")
	pool := spec.PoolID{User: 5}
	must(t, a.BeginAllocateToPool(0, pool, spec.ForStream(0)))
	a.OnNeedMemory(func() bool {
		must(t, a.EndAllocateToPool(0, pool))
		must(t, a.ReleasePool(0, pool))
		must(t, a.EmptyCache())
		return true
	})
	p := mustMalloc(t, a, 0, 20*mib)
	must(t, a.Free(p))
	must(t, a.EmptyCache())
	if _, err := a.PoolUseCount(0, pool); err == nil {
		t.Error("the pool has not been forgotten")
	}
	wantNoLeaks(t, a, gpu)
}

// TestRequestsDuringCallbacks: while the mutex is released another request may find,
// and map, what the first was about to. Both are served, from different memory.
func TestRequestsDuringCallbacks(t *testing.T) {
	for _, settings := range []string{"", "expandable_segments:True"} {
		gpu := fakegpu.New(fakegpu.Config{})
		a := newAllocator(t, gpu, settings)
		var inner []spec.Ptr
		a.OnNeedMemory(func() bool {
			if len(inner) == 0 {
				inner = append(inner, 0) // not again
				inner = append(inner, mustMalloc(t, a, 0, 30*mib), mustMalloc(t, a, 0, 512))
			}
			return false
		})
		outer := mustMalloc(t, a, 0, 30*mib)
		wantDisjoint(t, a, append(inner[1:], outer))
	}
}

// TestConfigureDuringCallbacks: settings that change while a request has released the
// mutex apply to what the request has not decided yet. Whether an expandable segment
// serves it was decided at its beginning, as was its pool.
func TestConfigureDuringCallbacks(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "expandable_segments:True")
	a.OnNeedMemory(func() bool {
		must(t, a.Configure("expandable_segments:False,max_split_size_mb:20"))
		return false
	})
	mustMalloc(t, a, 0, 30*mib)
	mustMalloc(t, a, 0, 30*mib)
	snapshot, err := a.Snapshot()
	must(t, err)
	var got []string
	for _, s := range snapshot.Segments {
		got = append(got, fmt.Sprintf("%d MiB, expandable %v", s.TotalSize/mib, s.Expandable))
	}
	if diff := cmp.Diff([]string{"30 MiB, expandable false", "40 MiB, expandable true"}, got); diff != "" {
		t.Errorf("segments (-want +got):\n%s", diff)
	}
	if got := current(t, a, 0, "oversize_allocations.current"); got != 2 {
		t.Errorf("%d oversize allocations, want 2", got)
	}
}

// wantDisjoint expects the pointers to be allocated, each once.
func wantDisjoint(t *testing.T, a *alloc.Allocator, out []spec.Ptr) {
	t.Helper()
	seen := map[spec.Ptr]bool{}
	for _, p := range out {
		if seen[p] {
			t.Errorf("%v is allocated twice", p)
		}
		seen[p] = true
	}
	stats, err := a.Stats(0)
	must(t, err)
	violations, err := invariant.CheckInspector(0, a, spec.DefaultGeometry(), &stats)
	must(t, err)
	if len(violations) > 0 {
		t.Error(violations)
	}
}
