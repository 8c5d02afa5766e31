package upstream

import (
	"fmt"
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// aten/src/ATen/test: the allocator as C++ code sees it.

// matching are a pool's own functions that hold the allocator to the sizes it asked
// for.
type matching struct {
	ownMemory
	sizes map[spec.Ptr]uint64
}

func (m *matching) Allocate(dev spec.Device, bytes uint64, s spec.Stream) (spec.Ptr, error) {
	ptr, err := m.ownMemory.Allocate(dev, bytes, s)
	m.sizes[ptr] = bytes
	return ptr, err
}

func (m *matching) Free(dev spec.Device, ptr spec.Ptr, bytes uint64, s spec.Stream) error {
	if m.sizes[ptr] != bytes {
		return fmt.Errorf("%d bytes at %v are freed, %d were allocated", bytes, ptr, m.sizes[ptr])
	}
	delete(m.sizes, ptr)
	return m.ownMemory.Free(dev, ptr, bytes, s)
}

// Upstream: a pluggable allocator is told at each free the size that it was asked
// for, though the tensor was made smaller in between. Ours has the functions of a
// pool for that, which are told the same size of a segment both times.
func TestTorchUnique_UniqueComparisonTest(t *testing.T) {
	p := newProgram(t, setup{})
	memory := &matching{ownMemory{p: p}, map[spec.Ptr]uint64{}}
	pool := p.newMemPool(spec.PoolOptions{Memory: memory})
	pool.use(p, func() {
		for range 3 {
			sorted := p.empty(mainStream, floats(11))
			values, counts := p.empty(mainStream, floats(5)), p.empty(mainStream, 8*5)
			large := p.empty(mainStream, 11*spec.MiB)
			p.free(sorted, values, large, counts)
		}
	})
	pool.delete()
	memory.called(2, 2)
}

// Upstream: the clone of an allocation holds the same.
func TestAllocatorTestCUDA_TestClone(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		a := p.full(mainStream, floats(13*4*5), 77)
		b := p.clone(mainStream, a)
		p.holds(b, 77)
		if a.Overlaps(b.Range) {
			t.Error("the clone is the same memory")
		}
	})
}

// Upstream: two listeners count segments. One is obtained for a request of 500 MiB
// and one is returned when the cache is emptied.
func TestAllocatorTraceTracker_TrackMallocFree(t *testing.T) {
	p := newProgram(t, setup{})
	obtained, returned := 0, 0
	p.allocator.OnTrace(func(e spec.HistoryEntry) { obtained += btoi(e.Action == spec.ActionSegmentAlloc) })
	p.allocator.OnTrace(func(e spec.HistoryEntry) { returned += btoi(e.Action == spec.ActionSegmentFree) })
	p.free(p.empty(mainStream, 500*spec.MiB))
	if obtained != 1 || returned != 0 {
		t.Errorf("%d segments obtained, %d returned", obtained, returned)
	}
	p.emptyCache()
	if obtained != 1 || returned != 1 {
		t.Errorf("%d segments obtained, %d returned", obtained, returned)
	}
}

// Upstream: after every allocation and free a profiler hears the address, the size,
// and how much is allocated and reserved then. Ours has listeners for the first two
// and figures for the others.
func TestDeviceCachingAllocator_CheckReporter(t *testing.T) {
	p := newProgram(t, setup{})
	var latest spec.HistoryEntry
	p.allocator.OnTrace(func(e spec.HistoryEntry) {
		if e.Action == spec.ActionAlloc || e.Action == spec.ActionFreeRequested {
			latest = e
		}
	})
	report := func(x tensor, action spec.Action, allocated, reserved uint64) {
		t.Helper()
		want := spec.TraceEntry{Action: action, Addr: x.Ptr, Size: x.Bytes}
		if latest.TraceEntry != want {
			t.Errorf("heard %+v, want %+v", latest.TraceEntry, want)
		}
		if stats := p.stats(); stats["allocated_bytes.all.current"] != int64(allocated) || stats["reserved_bytes.all.current"] != int64(reserved) {
			t.Errorf("%d bytes are allocated, %d reserved; want %d and %d",
				stats["allocated_bytes.all.current"], stats["reserved_bytes.all.current"], allocated, reserved)
		}
	}
	const small, large = 200 * spec.KiB, 500 * spec.MiB
	x := p.empty(mainStream, small)
	report(x, spec.ActionAlloc, small, smallBuffer)
	y := p.empty(mainStream, large)
	report(y, spec.ActionAlloc, small+large, smallBuffer+large)
	p.free(x)
	report(x, spec.ActionFreeRequested, large, smallBuffer+large)
	p.free(y)
	report(y, spec.ActionFreeRequested, 0, smallBuffer+large)
}

// shareables are the two kinds of device: pages can be shared by fabric handles, or
// by file descriptors.
var shareables = []struct {
	name   string
	device fakegpu.DeviceConfig
	share  spec.ShareType
}{
	{"fabric", fakegpu.DeviceConfig{Fabric: true}, spec.ShareFabric},
	{"file descriptor", fakegpu.DeviceConfig{}, spec.SharePOSIX},
}

// sharing is a GPU that notes how pages are made to be shared.
type sharing struct {
	*fakegpu.GPU
	made map[spec.ShareType]int
}

func (g *sharing) CreatePage(dev spec.Device, bytes uint64, share spec.ShareType) (spec.PageHandle, error) {
	page, err := g.GPU.CreatePage(dev, bytes, share)
	if err == nil {
		g.made[share]++
	}
	return page, err
}

// Upstream: pages of expandable segments are made to be shared by fabric handles
// where the device has them, else by file descriptors, never not at all.
func TestExpandableSegmentsIPCTest_AllocationHasValidIPCHandleType(t *testing.T) {
	for _, c := range shareables {
		t.Run(c.name, func(t *testing.T) {
			gpu := &sharing{fakegpu.New(fakegpu.Config{Devices: []fakegpu.DeviceConfig{c.device}}), map[spec.ShareType]int{}}
			a := newAllocator(t, gpu, "expandable_segments:True")
			ptr, err := a.RawAlloc(0, spec.MiB)
			if err != nil {
				t.Fatal(err)
			}
			if gpu.made[c.share] != 1 || len(gpu.made) != 1 {
				t.Errorf("pages by kind: %v, want one to be shared by %v", gpu.made, c.share)
			}
			if err := a.RawDelete(ptr); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Upstream: such a page can be exported. Ours imports it in another process as well,
// and looks at what is in it.
func TestExpandableSegmentsIPCTest_AllocationCanBeExported(t *testing.T) {
	for _, c := range shareables {
		t.Run(c.name, func(t *testing.T) {
			machine := fakegpu.NewMachine(fakegpu.Config{Devices: []fakegpu.DeviceConfig{c.device}})
			sender := newProcess(t, machine, "expandable_segments:True")
			receiver := newProcess(t, machine, "")
			x := sender.full(mainStream, spec.MiB, 1)
			y := sender.full(mainStream, spec.MiB, 2)

			shared, err := sender.allocator.ShareHandle(y.Ptr)
			sender.must(err)
			opened, err := receiver.allocator.OpenHandle(0, shared.Handle)
			receiver.must(err)
			there := tensor{Range: spec.Range{Ptr: opened.Base() + spec.Ptr(shared.Offset), Bytes: y.Bytes}}
			receiver.holds(there, 2)
			receiver.fill(mainStream, there, 3)
			sender.holds(y, 3)
			sender.holds(x, 1)
			receiver.must(opened.Close())
		})
	}
}
