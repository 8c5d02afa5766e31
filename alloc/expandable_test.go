package alloc_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// What the transcripts of expandable segments do not show: how pages are shared, how
// many addresses are reserved on larger devices, and drivers without virtual memory.
// The rules of mapping and unmapping are in testdata/expandable_*.

// pageWatcher records how pages were created and ranges reserved.
type pageWatcher struct {
	*fakegpu.GPU
	shares   []spec.ShareType
	reserved []uint64 // bytes
}

func (w *pageWatcher) CreatePage(dev spec.Device, bytes uint64, share spec.ShareType) (spec.PageHandle, error) {
	w.shares = append(w.shares, share)
	return w.GPU.CreatePage(dev, bytes, share)
}

func (w *pageWatcher) ReserveAddress(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	w.reserved = append(w.reserved, bytes)
	return w.GPU.ReserveAddress(dev, bytes)
}

// TestShareTypeOfPages: the first page that is created decides how all pages of the
// device are shared. Fabric handles are tried first. Running out of memory decides
// nothing about them.
func TestShareTypeOfPages(t *testing.T) {
	const fabric, posix = spec.ShareFabric, spec.SharePOSIX
	for _, test := range []struct {
		name   string
		fabric bool
		oom    []int // which calls of CreatePage are out of memory
		broken bool  // the first call fails in another way
		first  []spec.ShareType
		served bool // the first request
		second []spec.ShareType
	}{
		{"fabric", true, nil, false, []spec.ShareType{fabric}, true, []spec.ShareType{fabric}},
		{"no fabric", false, nil, false, []spec.ShareType{fabric, posix}, true, []spec.ShareType{posix}},
		// A request tries twice, the second time after releasing the cache.
		{"fabric, no memory at first", true, []int{1, 2}, false, []spec.ShareType{fabric, fabric}, false, []spec.ShareType{fabric}},
		{"no fabric, no memory at first", false, []int{1, 2}, false, []spec.ShareType{fabric, fabric}, false, []spec.ShareType{fabric, posix}},
		{"no fabric, then no memory", false, []int{2, 3}, false, []spec.ShareType{fabric, posix, posix}, false, []spec.ShareType{posix}},
		// Any other failure counts as not having fabric handles.
		{"fabric, but not at first", true, nil, true, []spec.ShareType{fabric, posix}, true, []spec.ShareType{posix}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &pageWatcher{GPU: fakegpu.New(fakegpu.Config{Devices: []fakegpu.DeviceConfig{{Fabric: test.fabric}}})}
			a := newAllocator(t, w, "expandable_segments:True")
			for _, nth := range test.oom {
				must(t, w.FailCall("CreatePage", nth, fakegpu.OutOfMemory("CreatePage")))
			}
			if test.broken {
				must(t, w.FailCall("CreatePage", 1, fakegpu.UnknownError("CreatePage")))
			}
			_, err := a.Malloc(spec.Request{Bytes: 20 * mib})
			if served := err == nil; served != test.served {
				t.Fatalf("first request: %v", err)
			}
			if diff := cmp.Diff(test.first, w.shares); diff != "" {
				t.Errorf("first request (-want +got):\n%s", diff)
			}
			w.shares = nil
			mustMalloc(t, a, 0, 20*mib)
			if diff := cmp.Diff(test.second, w.shares); diff != "" {
				t.Errorf("second request (-want +got):\n%s", diff)
			}
		})
	}
}

// TestShareTypeOfEachDevice: each device decides for itself.
func TestShareTypeOfEachDevice(t *testing.T) {
	w := &pageWatcher{GPU: fakegpu.New(fakegpu.Config{Devices: []fakegpu.DeviceConfig{{Fabric: true}, {}}})}
	a := newAllocator(t, w, "expandable_segments:True")
	for _, dev := range []spec.Device{0, 1, 0, 1} {
		mustMalloc(t, a, dev, 20*mib)
	}
	want := []spec.ShareType{spec.ShareFabric, spec.ShareFabric, spec.SharePOSIX, spec.ShareFabric, spec.SharePOSIX}
	if diff := cmp.Diff(want, w.shares); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPageFailsUnderFabric: once a page was created with a fabric handle, a failure to
// create one is the error that it is, not out of memory. Pages that were created before
// it for the same request are released.
func TestPageFailsUnderFabric(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: []fakegpu.DeviceConfig{{Fabric: true}}})
	a := newAllocator(t, gpu, "expandable_segments:True")
	p := mustMalloc(t, a, 0, 20*mib)
	must(t, gpu.FailCall("CreatePage", 2, fakegpu.UnknownError("CreatePage")))
	_, err := a.Malloc(spec.Request{Bytes: 60 * mib})
	wantError[*spec.DriverError](t, err, "creating a page of 20971520 bytes")
	if errors.Is(err, spec.ErrOutOfMemory) {
		t.Error("it counts as out of memory")
	}
	must(t, a.Free(p))
	wantNoLeaks(t, a, gpu)
}

// TestReservedRange: a segment reserves addresses for 9/8 of the device's memory,
// rounded up to whole pages.
func TestReservedRange(t *testing.T) {
	for _, test := range []struct {
		memory       uint64
		small, large uint64
	}{
		{80 * spec.GiB, 90 * spec.GiB, 90 * spec.GiB}, // 4,608 pages of 20 MiB
		{1 * spec.GiB, 1152 * mib, 1160 * mib},
		{16 * mib, 18 * mib, 20 * mib},
		{160*mib + 1, 182 * mib, 200 * mib},              // a byte more than whole pages
		{150109880320, 80526 * 2 * mib, 8053 * 20 * mib}, // an H200
	} {
		w := &pageWatcher{GPU: fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, test.memory)})}
		a := newAllocator(t, w, "expandable_segments:True")
		for _, bytes := range []uint64{512, 2 * mib} {
			_, _ = a.Malloc(spec.Request{Bytes: bytes}) // there may be no memory for a page
		}
		if diff := cmp.Diff([]uint64{test.small, test.large}, w.reserved); diff != "" {
			t.Errorf("of %d bytes (-want +got):\n%s", test.memory, diff)
		}
	}
}

// TestExpandableSegmentSizes: every segment is listed, those of the default stream
// too, in the order in which they were made.
func TestExpandableSegmentSizes(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)})
	a := newAllocator(t, gpu, "expandable_segments:True")
	s := newStream(t, gpu, 0)
	p := mustMallocOn(t, a, 0, s, 30*mib)
	mustMalloc(t, a, 0, 512)
	mustMallocOn(t, a, 0, s, 512)
	want := []spec.StreamSegmentSize{
		{Stream: s, PoolKind: spec.LargePool, Mapped: 40 * mib},
		{Stream: 0, PoolKind: spec.SmallPool, Mapped: 2 * mib},
		{Stream: s, PoolKind: spec.SmallPool, Mapped: 2 * mib},
	}
	wantSizes := func(dev spec.Device, want []spec.StreamSegmentSize) {
		t.Helper()
		sizes, err := a.ExpandableSegmentSizes(dev)
		must(t, err)
		if diff := cmp.Diff(want, sizes); diff != "" {
			t.Errorf("device %d (-want +got):\n%s", dev, diff)
		}
	}
	wantSizes(0, want)
	wantSizes(1, nil)
	must(t, a.Free(p))
	must(t, a.EmptyCache())
	wantSizes(0, want[1:])
	_, err := a.ExpandableSegmentSizes(2)
	wantError[*spec.InvalidArgumentError](t, err, "there is no device 2")
}

// TestBareDriver: a driver with the mandatory methods only. What needs more is not
// supported; the rest works.
func TestBareDriver(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)})
	a := newAllocator(t, struct{ spec.Driver }{gpu}, "expandable_segments:True")
	_, err := a.Malloc(spec.Request{Bytes: 512})
	wantError[*spec.NotSupportedError](t, err, "virtual memory")
	must(t, a.Configure("expandable_segments:False"))
	p := mustMalloc(t, a, 0, 512)
	_, err = a.ShareHandle(p)
	wantError[*spec.NotSupportedError](t, err, "share memory")
	_, err = a.OpenHandle(0, []byte("?"))
	wantError[*spec.NotSupportedError](t, err, "share memory")
	wantError[*spec.NotSupportedError](t, a.EnablePeerAccess(1, 0), "peer access")
	must(t, a.Free(p))
	wantNoLeaks(t, a, gpu)
}

// reusing is an address policy that returns the same address for everything of a kind,
// so that new memory has the addresses of old memory.
type reusing struct{ base spec.Ptr }

func (r reusing) Place(uint64) spec.Ptr        { return r.base }
func (r reusing) Vacate(spec.Ptr, uint64)      {}
func (r reusing) PlaceRange(uint64) spec.Ptr   { return r.base }
func (r reusing) VacateRange(spec.Ptr, uint64) {}

// TestRestoreOntoOtherMemory: the pool of a checkpoint is erased. Another pool has its
// id, and segments at the same addresses that are not the same.
func TestRestoreOntoOtherMemory(t *testing.T) {
	const expandable = "expandable_segments:True"
	for _, test := range []struct {
		name, before, after     string // settings
		bytesBefore, bytesAfter uint64
		elsewhere               bool   // the memory is another pool's now
		streamAfter             int    // of the memory: the number of the stream
		want                    string // "" if it can be restored, since it is as good as the same
	}{
		{"the same", "", "", 30 * mib, 30 * mib, false, 0, ""},
		{"larger", "", "", 30 * mib, 32 * mib, false, 0, "another one"},
		{"of another pool", "", "", 30 * mib, 30 * mib, true, 0, "no longer exists"},
		{"expandable now", "", expandable, 30 * mib, 30 * mib, false, 0, "another one"},
		{"not expandable now", expandable, "expandable_segments:False", 40 * mib, 40 * mib, false, 0, "another one"},
		{"longer", expandable, expandable, 30 * mib, 50 * mib, false, 0, ""},
		{"shorter", expandable, expandable, 50 * mib, 30 * mib, false, 0, "unmapped"},
		{"of the small pool", expandable, expandable, 2 * mib, 512, false, 0, "another one"},
		{"of another stream", "", "", 30 * mib, 30 * mib, false, 1, "another stream"},
		{"of another stream, expandable", expandable, expandable, 30 * mib, 30 * mib, false, 1, "another stream"},
	} {
		t.Run(test.name, func(t *testing.T) {
			gpu := fakegpu.New(fakegpu.Config{Addresses: func(spec.Device) fakegpu.AddressPolicy { return reusing{1 << 40} }})
			streams := []spec.Stream{0, newStream(t, gpu, 0)}
			a := newAllocator(t, gpu, test.before)
			pool := spec.PoolID{Capture: 7}
			must(t, a.BeginAllocateToPool(0, pool, spec.ForStream(0)))
			p := mustMalloc(t, a, 0, test.bytesBefore)
			state, err := a.Checkpoint(0, pool)
			must(t, err)
			must(t, a.Free(p))
			must(t, a.EndAllocateToPool(0, pool))
			must(t, a.ReleasePool(0, pool))
			must(t, a.EmptyCache())

			must(t, a.Configure(test.after))
			must(t, a.BeginAllocateToPool(0, pool, spec.ForStream(streams[test.streamAfter])))
			if test.elsewhere {
				must(t, a.EndAllocateToPool(0, pool))
			}
			q := mustMallocOn(t, a, 0, streams[test.streamAfter], test.bytesAfter)
			before, err := a.Snapshot()
			must(t, err)
			_, err = a.Restore(0, state)
			if test.want == "" {
				must(t, err)
				return
			}
			wantError[*spec.InvalidStateError](t, err, test.want)
			after, err := a.Snapshot()
			must(t, err)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("refused, but changed (-before +after):\n%s", diff)
			}
			must(t, a.Free(q))
		})
	}
}

// TestRestoreOfMappedRange: a segment that is mapped up to the end of its range of addresses is
// restored, like any. The device says that it has half the memory that it grants: otherwise its
// range would be longer than all its memory.
func TestRestoreOfMappedRange(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{
		Devices: fakegpu.Devices(1, 52*mib),
		Charge:  func(bytes uint64) uint64 { return bytes / 2 },
	})
	a := newAllocator(t, gpu, "expandable_segments:True")
	pool := spec.PoolID{Capture: 7}
	must(t, a.BeginAllocateToPool(0, pool, spec.ForStream(0)))
	kept, freed, later := mustMalloc(t, a, 0, 20*mib), mustMalloc(t, a, 0, 20*mib), mustMalloc(t, a, 0, 20*mib)
	if unmapped := unmappedBlocks(t, a); unmapped != 0 {
		t.Fatalf("%d blocks of the segment are not mapped", unmapped)
	}
	must(t, a.Free(freed))
	state, err := a.Checkpoint(0, pool)
	must(t, err)
	must(t, a.Free(kept))
	delta, err := a.Restore(0, state)
	must(t, err)
	want := spec.RestoreDelta{Freed: []spec.Ptr{later}, Created: []spec.Ptr{kept, later}}
	if diff := cmp.Diff(want, delta); diff != "" {
		t.Errorf("the restore (+) does not do what was expected (-):\n%s", diff)
	}
	if again := mustMalloc(t, a, 0, 20*mib); again != freed {
		t.Errorf("the memory that was free at the checkpoint is at %v, not at %v", freed, again)
	}
}

// unmappedBlocks is the number of blocks without pages.
func unmappedBlocks(t *testing.T, a *alloc.Allocator) (n int) {
	must(t, a.Inspect(0, spec.Visitor{Block: func(b *spec.BlockView) {
		if !b.Mapped {
			n++
		}
	}}))
	return n
}

// TestRestoreGivesAccess: the pool of a checkpoint was erased, and another has its id. A page of
// its segment is mapped and not accessible, since a capture forbids to unmap it. A restore that
// allocates memory there gives access first; if that fails nothing has changed.
func TestRestoreGivesAccess(t *testing.T) {
	for _, sizes := range [][]uint64{{40 * mib}, {20 * mib, 20 * mib}} {
		t.Run(fmt.Sprintf("%d blocks", len(sizes)), func(t *testing.T) { restoreGivesAccess(t, sizes) })
	}
}

// restoreGivesAccess restores blocks of the given sizes, 40 MiB in all.
func restoreGivesAccess(t *testing.T, sizes []uint64) {
	gpu := fakegpu.New(fakegpu.Config{Addresses: func(spec.Device) fakegpu.AddressPolicy { return reusing{1 << 40} }})
	captured := newStream(t, gpu, 0)
	a := newAllocator(t, gpu, "expandable_segments:True")
	pool := spec.PoolID{Capture: 7}
	must(t, a.BeginAllocateToPool(0, pool, spec.ForStream(0)))
	must(t, a.Free(mustMalloc(t, a, 0, 40*mib))) // the pool is erased if it has mapped as often as it unmaps: once
	var saved []spec.Ptr
	for _, bytes := range sizes {
		saved = append(saved, mustMalloc(t, a, 0, bytes))
	}
	state, err := a.Checkpoint(0, pool)
	must(t, err)
	for _, p := range saved {
		must(t, a.Free(p))
	}
	must(t, a.EndAllocateToPool(0, pool))
	must(t, a.ReleasePool(0, pool))
	must(t, a.EmptyCache())

	must(t, a.BeginAllocateToPool(0, pool, spec.ForStream(0)))
	q := mustMalloc(t, a, 0, 20*mib)
	must(t, gpu.BeginCapture(0, captured, spec.CaptureGlobal))
	must(t, gpu.FailCall("SetAccess", 1, fakegpu.UnknownError("SetAccess")))
	_, err = a.Malloc(spec.Request{Bytes: 20 * mib})
	wantError[*spec.DriverError](t, err, "SetAccess")
	_, err = gpu.EndCapture(0, captured)
	must(t, err)
	whole := spec.Range{Ptr: saved[0], Bytes: 40 * mib}
	if saved[0] != q || gpu.Fill(0, 0, whole, 1) == nil {
		t.Fatal("the second page is accessible")
	}

	before, err := a.Snapshot()
	must(t, err)
	must(t, gpu.FailCall("SetAccess", 1, fakegpu.UnknownError("SetAccess")))
	_, err = a.Restore(0, state)
	wantError[*spec.DriverError](t, err, "SetAccess")
	after, err := a.Snapshot()
	must(t, err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the restore failed, and has changed:\n%s", diff)
	}
	_, err = a.Restore(0, state)
	must(t, err)
	must(t, gpu.Fill(0, 0, whole, 1))
}
