package alloc_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

// Several devices behind one allocator, and several callers.

// TestDevices: the device of a pointer is found; the other devices do not change.
func TestDevices(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(3, spec.GiB)})
	a := newAllocator(t, gpu, "")
	var out []spec.Ptr
	for dev := range spec.Device(3) {
		out = append(out, mustMalloc(t, a, dev, 5*mib+uint64(dev)))
	}
	for dev := range spec.Device(3) {
		if got, want := current(t, a, dev, "requested_bytes.all.current"), int64(5*mib+dev); got != want {
			t.Errorf("device %d: %d bytes are requested, want %d", dev, got, want)
		}
	}
	s, err := a.Snapshot()
	must(t, err)
	for i, segment := range s.Segments {
		if segment.Device != spec.Device(i) || segment.Address != out[i] {
			t.Errorf("segment %d is at %v of device %d, want %v", i, segment.Address, segment.Device, out[i])
		}
	}
	must(t, a.Free(out[1]))
	for dev, want := range []int64{1, 0, 1} {
		if got := current(t, a, spec.Device(dev), "allocation.all.current"); got != want {
			t.Errorf("device %d: %d allocations, want %d", dev, got, want)
		}
	}
	must(t, a.EmptyCache())
	for dev, want := range []int64{1, 0, 1} {
		if got := current(t, a, spec.Device(dev), "segment.all.current"); got != want {
			t.Errorf("device %d: %d segments, want %d", dev, got, want)
		}
	}
	must(t, a.Free(out[0]))
	must(t, a.Free(out[2]))
	wantNoLeaks(t, a, gpu)
}

// TestNoSuchDevice: every method with a device argument checks that the device exists.
func TestNoSuchDevice(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)}), "")
	pool := spec.PoolID{User: 1}
	for _, dev := range []spec.Device{-1, 2} {
		for _, call := range []struct {
			name string
			err  error
		}{
			{"malloc", second(a.Malloc(spec.Request{Device: dev, Bytes: 1}))},
			{"record_stream", a.RecordStream(0, dev, 0)},
			{"stats", second(a.Stats(dev))},
			{"reset_peak_stats", a.ResetPeakStats(dev)},
			{"reset_accumulated", a.ResetAccumulatedStats(dev)},
			{"set_memory_fraction", a.SetMemoryFraction(dev, 0.5)},
			{"memory_fraction", second(a.MemoryFraction(dev))},
			{"cache_info", second(a.CacheInfo(dev, 0))},
			{"inspect", a.Inspect(dev, spec.Visitor{})},
			{"create_pool", a.CreatePool(dev, pool, spec.PoolOptions{})},
			{"begin", a.BeginAllocateToPool(dev, pool, spec.ForStream(0))},
			{"end", a.EndAllocateToPool(dev, pool)},
			{"release_pool", a.ReleasePool(dev, pool)},
			{"pool_use_count", second(a.PoolUseCount(dev, pool))},
			{"checkpoint", second(a.Checkpoint(dev, pool))},
			{"restore", second(a.Restore(dev, nil))},
			{"check_pool", second(a.CheckPoolLiveAllocations(dev, pool, nil))},
		} {
			t.Run(call.name, func(t *testing.T) { wantError[*spec.InvalidArgumentError](t, call.err, "there is no device") })
		}
	}
	must(t, a.CreatePool(0, pool, spec.PoolOptions{}))
	state, err := a.Checkpoint(0, pool)
	must(t, err)
	wantError[*spec.InvalidArgumentError](t, second(a.Restore(1, state)), "not of a checkpoint of this device's allocator")
}

// TestBeginWithoutFilter: there is no default filter.
func TestBeginWithoutFilter(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	wantError[*spec.InvalidArgumentError](t, a.BeginAllocateToPool(0, spec.PoolID{User: 1}, nil), "no filter")
	if _, err := a.PoolUseCount(0, spec.PoolID{User: 1}); err == nil {
		t.Error("the pool has been made")
	}
}

func second[T any](_ T, err error) error { return err }

// TestForeignPointers: a pointer that is not allocated is an error: one that never was,
// one inside a block, one of another allocator, one outside of the driver's addresses.
func TestForeignPointers(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)})
	a, b := newAllocator(t, gpu, ""), newAllocator(t, gpu, "")
	p := mustMalloc(t, a, 0, 20*mib)
	for _, wrong := range []spec.Ptr{1, p + 512, mustMalloc(t, b, 0, 512), ^spec.Ptr(0)} {
		wantError[*spec.InvalidPointerError](t, a.Free(wrong), "free")
		wantError[*spec.InvalidPointerError](t, a.RecordStream(wrong, 0, 0), "record_stream")
		_, _, err := a.BaseAllocation(wrong)
		wantError[*spec.InvalidPointerError](t, err, "base_allocation")
	}
	if got := current(t, a, 0, "allocation.all.current"); got != 1 {
		t.Errorf("%d allocations", got)
	}
}

// TestOtherDevicesStreams: a use on a stream of another device is waited for there. The
// default streams of two devices are two streams, though their handles are equal.
func TestOtherDevicesStreams(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)})
	a := newAllocator(t, gpu, "")
	p := mustMalloc(t, a, 0, 20*mib)
	must(t, gpu.Busy(1, 0))
	must(t, a.RecordStream(p, 1, 0))
	must(t, a.Free(p))
	if q := mustMalloc(t, a, 0, 20*mib); q == p {
		t.Errorf("%v is allocated again, and device 1 may still use it", q)
	}
	must(t, gpu.Drain(1, 0))
	if q := mustMalloc(t, a, 0, 20*mib); q != p {
		t.Errorf("device 1 has completed its use of %v, but the cache returned %v", p, q)
	}
	// An event belongs to the device of its stream: device 1's events serve device 0's
	// blocks.
	must(t, a.RecordStream(p, 1, 0))
	must(t, a.RecordStream(p, 1, newStream(t, gpu, 1)))
	must(t, a.Free(p))
	if q := mustMalloc(t, a, 0, 20*mib); q != p {
		t.Errorf("both streams have completed their uses of %v, but the cache returned %v", p, q)
	}
}

// TestEmptyCacheGoesOn: a device whose driver call fails does not keep the others from
// being emptied.
func TestEmptyCacheGoesOn(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(3, spec.GiB)})
	a := newAllocator(t, gpu, "")
	pool := spec.PoolID{User: 1}
	for dev := range spec.Device(3) {
		must(t, a.Free(mustMalloc(t, a, dev, 20*mib)))
		must(t, a.CreatePool(dev, pool, spec.PoolOptions{}))
		must(t, a.BeginAllocateToPool(dev, pool, spec.ForStream(0)))
		must(t, a.Free(mustMalloc(t, a, dev, 30*mib)))
		must(t, a.EndAllocateToPool(dev, pool))
		must(t, a.ReleasePool(dev, pool))
		must(t, a.ReleasePool(dev, pool))
	}
	held := func() (held []int64) {
		for dev := range spec.Device(3) {
			held = append(held, current(t, a, dev, "reserved_bytes.all.current")/mib)
		}
		return held
	}
	must(t, gpu.FailCall("Free", 1, fakegpu.UnknownError("Free")))
	wantError[*spec.DriverError](t, a.EmptyPool(pool), "returning the segment")
	if diff := cmp.Diff([]int64{50, 20, 20}, held()); diff != "" {
		t.Errorf("MiB held after emptying the pool (-want +got):\n%s", diff)
	}
	must(t, gpu.FailCall("Free", 1, fakegpu.UnknownError("Free")))
	wantError[*spec.DriverError](t, a.EmptyCache(), "returning the segment")
	if diff := cmp.Diff([]int64{50, 0, 0}, held()); diff != "" {
		t.Errorf("MiB held after emptying the cache (-want +got):\n%s", diff)
	}
	wantNoLeaks(t, a, gpu)
}

// TestSettingsOfDevices: settings apply to all devices, the limit to one.
func TestSettingsOfDevices(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)})
	a := newAllocator(t, gpu, "per_process_memory_fraction:0.25")
	must(t, a.Configure("expandable_segments:True"))
	must(t, a.SetMemoryFraction(1, 0.5))
	for dev, want := range []float64{0.25, 0.5} {
		if got, err := a.MemoryFraction(spec.Device(dev)); got != want || err != nil {
			t.Errorf("device %d: the fraction is %v, %v, want %v", dev, got, err, want)
		}
		mustMalloc(t, a, spec.Device(dev), 512)
	}
	s, err := a.Snapshot()
	must(t, err)
	for _, segment := range s.Segments {
		if !segment.Expandable {
			t.Errorf("device %d has a segment that is not expandable", segment.Device)
		}
	}
	for _, fraction := range []float64{-0.1, 1.1} {
		wantError[*spec.InvalidArgumentError](t, a.SetMemoryFraction(0, fraction), "not in [0, 1]")
	}
	must(t, a.SetMemoryFraction(0, 1))
	if got, err := a.MemoryFraction(0); got != 1 || err != nil {
		t.Errorf("without a limit the fraction is %v, %v", got, err)
	}
}

// TestConfigureRefused: a string that is refused changes nothing, for no device.
func TestConfigureRefused(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)})
	a := newAllocator(t, gpu, "max_split_size_mb:40")
	before := a.Config()
	wantError[*settings.Error](t, a.Configure("expandable_segments:True,max_split_size_mb:5"), "must be at least 20")
	if diff := cmp.Diff(before, a.Config()); diff != "" {
		t.Errorf("refused, but changed (-before +after):\n%s", diff)
	}
	mustMalloc(t, a, 1, 512)
	s, err := a.Snapshot()
	must(t, err)
	if s.Segments[0].Expandable {
		t.Error("device 1 has taken a part of what was refused")
	}
}

// TestBaseAllocation: the segment around a pointer.
func TestBaseAllocation(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	first := mustMalloc(t, a, 0, 5*mib)
	for _, p := range []spec.Ptr{first, mustMalloc(t, a, 0, 5*mib)} {
		base, bytes, err := a.BaseAllocation(p)
		if base != first || bytes != 20*mib || err != nil {
			t.Errorf("the base of %v is %v, %d bytes, %v", p, base, bytes, err)
		}
	}
	must(t, a.Configure("expandable_segments:True"))
	_, _, err := a.BaseAllocation(mustMalloc(t, a, 0, 30*mib))
	wantError[*spec.InvalidArgumentError](t, err, "expandable")
}

// TestCacheInfo: the largest free block of any pool, or the given size if that is
// larger; without one, the free memory of the device.
func TestCacheInfo(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, 100*mib)})
	a := newAllocator(t, gpu, "")
	want := func(atLeast, want uint64) {
		t.Helper()
		if got, err := a.CacheInfo(0, atLeast); got != want || err != nil {
			t.Errorf("cache info of at least %d: %d, %v, want %d", atLeast, got, err, want)
		}
	}
	want(0, 100*mib)
	want(1, 1)
	mustMalloc(t, a, 0, 512)
	want(1, 2*mib-512)
	mustMalloc(t, a, 0, 5*mib)
	want(1, 15*mib)
	must(t, a.BeginAllocateToPool(0, spec.PoolID{User: 1}, spec.ForStream(0)))
	must(t, a.Free(mustMalloc(t, a, 0, 30*mib)))
	want(1, 30*mib)
	want(31*mib, 31*mib)
	gpu.SetFreeMemory(0, mib)
	want(0, 30*mib)
	must(t, gpu.FailCall("MemInfo", 1, fakegpu.UnknownError("MemInfo")))
	_, err := a.CacheInfo(0, 0)
	wantError[*spec.DriverError](t, err, "MemInfo")
}

// TestRaw: the raw entry points have the same bounds as Malloc.
func TestRaw(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)})
	a := newAllocator(t, gpu, "")
	s := newStream(t, gpu, 1)
	p, err := a.RawAlloc(1, 20*mib)
	must(t, err)
	q, err := a.RawAllocWithStream(1, 20*mib, s)
	must(t, err)
	snapshot, err := a.Snapshot()
	must(t, err)
	var got []spec.Stream
	for _, segment := range snapshot.Segments {
		got = append(got, segment.Stream)
	}
	if diff := cmp.Diff([]spec.Stream{0, s}, got); diff != "" {
		t.Errorf("streams (-want +got):\n%s", diff)
	}
	must(t, a.RawDelete(p))
	must(t, a.RawDelete(q))
	must(t, a.RawDelete(0))
	wantError[*spec.InvalidPointerError](t, a.RawDelete(q), "free")
	for _, bytes := range []uint64{1 << 60, 1<<64 - 1} {
		_, err := a.RawAlloc(1, bytes)
		wantError[*spec.OutOfMemoryError](t, err, "more than any device has")
	}
	if p, err := a.RawAlloc(1, 0); p != 0 || err != nil {
		t.Errorf("no bytes are at %v, %v", p, err)
	}
	wantNoLeaks(t, a, gpu)
}

// TestNewRefuses: arguments of which no allocator can be made.
func TestNewRefuses(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	must(t, gpu.FailCall("Properties", 1, fakegpu.UnknownError("Properties")))
	wantError[*spec.DriverError](t, second(alloc.New(gpu, alloc.Options{})), "device 0")
	wantError[*settings.Error](t, second(alloc.New(gpu, alloc.Options{Settings: "x"})), "unknown key")
	if err := second(alloc.New(gpu, alloc.Options{Geometry: spec.Geometry{MinBlock: 3}})); err == nil {
		t.Error("a geometry that makes no sense was taken")
	}
	wantError[*spec.InvalidArgumentError](t, second(alloc.New(noDevices{gpu}, alloc.Options{})), "no device")
	wantError[*spec.InvalidArgumentError](t, second(alloc.New(nil, alloc.Options{})), "no driver")
}

type noDevices struct{ spec.Driver }

func (noDevices) DeviceCount() int { return 0 }

// TestDoubleFreeAtOnce: of several callers that free the same pointer at once, one
// succeeds and the others get an error.
func TestDoubleFreeAtOnce(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	for range 200 {
		p := mustMalloc(t, a, 0, 512)
		var freed atomic.Int64
		var callers sync.WaitGroup
		for range 4 {
			callers.Go(func() {
				if a.Free(p) == nil {
					freed.Add(1)
				}
			})
		}
		callers.Wait()
		if freed.Load() != 1 {
			t.Fatalf("%v was freed %d times", p, freed.Load())
		}
	}
	if got := current(t, a, 0, "allocation.all.freed"); got != 200 {
		t.Errorf("%d frees are counted", got)
	}
}

// TestFreeDuringRestore: a pointer stops being allocated at one moment. Here another
// caller finds q still allocated while a restore, which holds the mutex, is about to
// free it. When the caller gets the mutex there is nothing left to free.
func TestFreeDuringRestore(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	pool := spec.PoolID{User: 1}
	must(t, a.BeginAllocateToPool(0, pool, spec.ForStream(0)))
	state, err := a.Checkpoint(0, pool)
	must(t, err)
	p, q := mustMalloc(t, a, 0, 512), mustMalloc(t, a, 0, 512)
	answer := make(chan error, 1)
	a.OnTrace(func(e spec.HistoryEntry) {
		if e.Action != spec.ActionFreeRequested || e.Addr != p {
			return
		}
		started := make(chan bool)
		go func() {
			close(started)
			answer <- a.Free(q)
		}()
		<-started
		for range 1000 {
			runtime.Gosched() // most likely it waits for the mutex by then; the result is the same if not
		}
	})
	delta, err := a.Restore(0, state)
	must(t, err)
	wantError[*spec.InvalidPointerError](t, <-answer, "free")
	if diff := cmp.Diff(spec.RestoreDelta{Freed: []spec.Ptr{p, q}}, delta); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
}

// doubling is a driver under which another request is made while one obtains memory.
type doubling struct {
	*fakegpu.GPU
	during func()
}

func (d *doubling) Malloc(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	if during := d.during; during != nil {
		d.during = nil
		during()
	}
	return d.GPU.Malloc(dev, bytes)
}

// TestLimitWithoutLock: with release_lock_on_cudamalloc two requests can both find that
// a segment is within the limit, and both obtain one.
func TestLimitWithoutLock(t *testing.T) {
	driver := &doubling{GPU: fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, 100*mib)})}
	a := newAllocator(t, driver, "release_lock_on_cudamalloc:True")
	must(t, a.SetMemoryFraction(0, 0.5))
	var other spec.Ptr
	driver.during = func() { other = mustMalloc(t, a, 0, 40*mib) }
	p := mustMalloc(t, a, 0, 40*mib)
	if got := current(t, a, 0, "reserved_bytes.all.current"); got != 80*mib || p == other {
		t.Errorf("%d bytes are held, at %v and %v", got, p, other)
	}
	must(t, a.Free(p))
	must(t, a.Free(other))
	wantNoLeaks(t, a, driver.GPU)
}

// TestRefusedRestoreFreesNothing: a restore that is refused leaves the pool as it is.
func TestRefusedRestoreFreesNothing(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "")
	pool, side := spec.PoolID{User: 1}, newStream(t, gpu, 0)
	must(t, a.BeginAllocateToPool(0, pool, spec.ForStream(0)))
	state, err := a.Checkpoint(0, pool)
	must(t, err)
	p, q := mustMalloc(t, a, 0, 512), mustMalloc(t, a, 0, 512)
	must(t, a.RecordStream(q, 0, side))
	delta, err := a.Restore(0, state)
	wantError[*spec.InvalidStateError](t, err, "streams may still use")
	if len(delta.Freed) > 0 {
		t.Errorf("%+v", delta)
	}
	must(t, a.Free(p))
	must(t, a.Free(q))
}

// TestFractionOfNoDevice: that there is no such device comes before what is wrong with the
// fraction.
func TestFractionOfNoDevice(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	wantError[*spec.InvalidArgumentError](t, a.SetMemoryFraction(9, 2), "device 9")
	wantError[*spec.InvalidArgumentError](t, a.SetMemoryFraction(0, 2), "2 is not")
}

// TestFailedWaitIsCounted: num_sync_all_streams counts a release that does not come to waiting.
func TestFailedWaitIsCounted(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "")
	capturing, side := newStream(t, gpu, 0), newStream(t, gpu, 0)
	p := mustMalloc(t, a, 0, 512)
	must(t, a.RecordStream(p, 0, side))
	pool := spec.PoolID{Capture: 1}
	must(t, a.BeginAllocateToPool(0, pool, spec.ForStream(capturing)))
	must(t, gpu.BeginCapture(0, capturing, spec.CaptureRelaxed))
	must(t, a.Free(p))
	_, err := gpu.EndCapture(0, capturing)
	must(t, err)
	must(t, a.EndAllocateToPool(0, pool))
	must(t, gpu.FailCall("RecordEvent", 1, fakegpu.UnknownError("RecordEvent")))
	wantError[*spec.DriverError](t, a.EmptyCache(), "RecordEvent")
	stats, err := a.Stats(0)
	must(t, err)
	if stats.NumSyncAllStreams != 1 {
		t.Errorf("%d", stats.NumSyncAllStreams)
	}
}
