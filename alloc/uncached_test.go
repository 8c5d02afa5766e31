package alloc_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestUncached: every allocation is one driver call, not rounded. It counts in no
// statistic and leaves no trace entry.
func TestUncached(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)})
	a, err := alloc.New(gpu, alloc.Options{Uncached: true})
	must(t, err)
	a.OnTrace(func(e spec.HistoryEntry) { t.Errorf("there is a trace entry %v", e.Action) })
	before, err := a.Stats(1)
	must(t, err)
	p := mustMalloc(t, a, 1, 777)
	q := mustMalloc(t, a, 1, 777)
	must(t, a.RecordStream(p, 0, 0)) // the driver's free waits for the device
	free, total, err := gpu.MemInfo(1)
	must(t, err)
	if total-free != 2*777 {
		t.Errorf("the device has given %d bytes, want %d", total-free, 2*777)
	}
	after, err := a.Stats(1)
	must(t, err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("statistics have changed (-before +after):\n%s", diff)
	}
	must(t, a.Free(p))
	wantError[*spec.InvalidPointerError](t, a.Free(p), "free")
	wantError[*spec.InvalidPointerError](t, a.RecordStream(p, 0, 0), "record_stream")
	_, _, err = a.BaseAllocation(q)
	wantError[*spec.InvalidPointerError](t, err, "base_allocation")
	must(t, a.Free(q))
	if p := mustMalloc(t, a, 0, 0); p != 0 {
		t.Errorf("no bytes are at %v", p)
	}
	_, err = a.Malloc(spec.Request{Bytes: 1 << 60})
	wantError[*spec.OutOfMemoryError](t, err, "more than any device has")
	wantLeaks(t, gpu)
}

// wantLeaks expects the driver to have allocated exactly this.
func wantLeaks(t *testing.T, gpu *fakegpu.GPU, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, gpu.Leaks()); diff != "" {
		t.Errorf("what the driver has given (-want +got):\n%s", diff)
	}
}

// TestToggleCaching: each pointer is freed in the way it was allocated, whether caching
// is on or off when it is freed.
func TestToggleCaching(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "")
	cached := mustMalloc(t, a, 0, 20*mib)
	also := mustMalloc(t, a, 0, 20*mib)
	a.Enable(false)
	uncached := mustMalloc(t, a, 0, 777)
	must(t, a.Free(cached))
	if a.Enabled() || current(t, a, 0, "segment.all.current") != 2 {
		t.Errorf("enabled is %v; there are %d segments, want the 2 that are cached", a.Enabled(), current(t, a, 0, "segment.all.current"))
	}
	a.Enable(true)
	must(t, a.Free(uncached))
	if p := mustMalloc(t, a, 0, 20*mib); p != cached {
		t.Errorf("the cache returned %v, want %v", p, cached)
	}
	must(t, a.Free(cached))
	must(t, a.Free(also))
	wantNoLeaks(t, a, gpu)
}

// TestUncachedFails: the driver's errors are returned, and what it does not take back
// is still allocated.
func TestUncachedFails(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, 10*mib)})
	a, err := alloc.New(gpu, alloc.Options{Uncached: true})
	must(t, err)
	_, err = a.Malloc(spec.Request{Bytes: 20 * mib})
	wantError[*spec.DriverError](t, err, "malloc of 20971520 bytes, uncached")
	p := mustMalloc(t, a, 0, mib)
	must(t, gpu.FailCall("Free", 1, fakegpu.UnknownError("Free")))
	wantError[*spec.DriverError](t, a.Free(p), "free, uncached")
	must(t, a.Free(p))
	wantLeaks(t, gpu)
}

// oddDriver returns an address of its own choice for memory, uncached or opened.
type oddDriver struct {
	*fakegpu.GPU
	odd spec.Ptr
}

func (d oddDriver) Malloc(spec.Device, uint64) (spec.Ptr, error) { return d.odd, nil }

func (d oddDriver) OpenMemory(spec.Device, []byte) (spec.Ptr, error) { return d.odd, nil }

// TestOddUncachedMemory: what cannot be memory is refused, and is no pointer of the allocator.
func TestOddUncachedMemory(t *testing.T) {
	for _, odd := range []spec.Ptr{0, 1, 255, 512 + 128, math.MaxUint64 - 511} {
		a, err := alloc.New(oddDriver{fakegpu.New(fakegpu.Config{}), odd}, alloc.Options{Uncached: true})
		must(t, err)
		p, err := a.Malloc(spec.Request{Bytes: 1024})
		wantError[*spec.InvalidArgumentError](t, err, "obtained 1024 bytes at "+odd.String())
		if p != 0 {
			t.Errorf("malloc returned %v beside the error", p)
		}
		if odd != 0 {
			wantError[*spec.InvalidPointerError](t, a.Free(odd), "free")
		}
	}
	a, err := alloc.New(oddDriver{fakegpu.New(fakegpu.Config{}), 256}, alloc.Options{Uncached: true})
	must(t, err)
	if p := mustMalloc(t, a, 0, 1024); p != 256 {
		t.Errorf("what is aligned as CUDA promises is at %v, want 256", p)
	}
}

// TestOddOpenedMemory: an address at which another process's segment cannot be is refused.
func TestOddOpenedMemory(t *testing.T) {
	machine := fakegpu.NewMachine(fakegpu.Config{})
	sender := newAllocator(t, machine.NewProcess(), "")
	h := share(t, sender, mustMalloc(t, sender, 0, mib))
	for _, odd := range []spec.Ptr{0, 1, 255, 512 + 128} {
		receiver := newAllocator(t, oddDriver{machine.NewProcess(), odd}, "")
		_, err := receiver.OpenHandle(0, h.Handle)
		wantError[*spec.InvalidArgumentError](t, err, "open_handle: obtained 0 bytes at "+odd.String())
	}
}
