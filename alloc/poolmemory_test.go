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

// ownMemory is the allocate and free functions of a pool. It records their calls.
type ownMemory struct {
	next   spec.Ptr
	fail   error  // what the next Allocate or Free returns, once
	null   bool   // the next Allocate returns the null pointer, and no error
	during func() // called in Allocate
	asked  []string
}

func (m *ownMemory) Allocate(dev spec.Device, bytes uint64, stream spec.Stream) (spec.Ptr, error) {
	m.asked = append(m.asked, fmt.Sprintf("allocate %d bytes on device %d, stream %v", bytes, dev, stream))
	if m.during != nil {
		m.during()
	}
	if err := m.fail; err != nil {
		m.fail = nil
		return 0, err
	}
	if m.null {
		m.null = false
		return 0, nil
	}
	m.next += 1 << 32
	return m.next, nil
}

func (m *ownMemory) Free(dev spec.Device, ptr spec.Ptr, bytes uint64, stream spec.Stream) error {
	m.asked = append(m.asked, fmt.Sprintf("free %d bytes at %v on device %d, stream %v", bytes, ptr, dev, stream))
	err := m.fail
	m.fail = nil
	return err
}

// wantAsked expects these calls since the last time.
func (m *ownMemory) wantAsked(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, m.asked); diff != "" {
		t.Errorf("what the memory was asked for (-want +got):\n%s", diff)
	}
	m.asked = nil
}

var ownPool = spec.PoolID{User: 1}

// newOwnPool makes an allocator, and a pool with functions of its own, to which the
// requests of one stream are routed.
func newOwnPool(t *testing.T, settings string) (*fakegpu.GPU, *alloc.Allocator, spec.Stream, *ownMemory) {
	t.Helper()
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, settings)
	m := &ownMemory{}
	s := newStream(t, gpu, 0)
	must(t, a.CreatePool(0, ownPool, spec.PoolOptions{Memory: m}))
	must(t, a.BeginAllocateToPool(0, ownPool, spec.ForStream(s)))
	return gpu, a, s, m
}

// TestPoolMemory: the pool's segments come from its own functions and return to them,
// with the sizes that the driver would be asked for. In everything else it is a pool
// like others.
func TestPoolMemory(t *testing.T) {
	gpu, a, s, m := newOwnPool(t, "")
	p := mustMallocOn(t, a, 0, s, 5*mib)
	q := mustMallocOn(t, a, 0, s, 5*mib)
	m.wantAsked(t, fmt.Sprintf("allocate 20971520 bytes on device 0, stream %v", s))
	if p != 1<<32 || q != p+5<<20 {
		t.Errorf("the blocks are at %v and %v", p, q)
	}
	small := mustMallocOn(t, a, 0, s, 512)
	m.wantAsked(t, fmt.Sprintf("allocate 2097152 bytes on device 0, stream %v", s))
	if leaks := gpu.Leaks(); len(leaks) != 1 { // the stream
		t.Errorf("the driver was asked as well: %v", leaks)
	}
	if got := current(t, a, 0, "reserved_bytes.all.current"); got != 22*mib {
		t.Errorf("reserved_bytes is %d", got)
	}
	base, bytes, err := a.BaseAllocation(q)
	if base != p || bytes != 20*mib || err != nil {
		t.Errorf("the base of %v is %v, %d bytes, %v", q, base, bytes, err)
	}

	must(t, a.EndAllocateToPool(0, ownPool))
	must(t, a.ReleasePool(0, ownPool))
	must(t, a.ReleasePool(0, ownPool))
	for _, p := range []spec.Ptr{p, q, small} {
		must(t, a.Free(p))
	}
	m.wantAsked(t)
	must(t, a.EmptyCache())
	m.wantAsked(t,
		fmt.Sprintf("free 2097152 bytes at 0x200000000 on device 0, stream %v", s),
		fmt.Sprintf("free 20971520 bytes at 0x100000000 on device 0, stream %v", s))
	wantNoLeaks(t, a, gpu)
}

// TestPoolMemoryOnlyForNewPools: functions cannot be given to a pool that exists.
func TestPoolMemoryOnlyForNewPools(t *testing.T) {
	_, a, _, _ := newOwnPool(t, "")
	err := a.CreatePool(0, ownPool, spec.PoolOptions{Memory: &ownMemory{}, NoSplit: true})
	wantError[*spec.InvalidStateError](t, err, "cannot be given other memory")
	if count, err := a.PoolUseCount(0, ownPool); count != 2 || err != nil {
		t.Errorf("the use count is %d, %v", count, err)
	}
	must(t, a.CreatePool(0, ownPool, spec.PoolOptions{}))
}

// TestPoolMemoryIsNotExpandable: such a pool has no expandable segments, whatever the
// settings. Its large blocks are then split by the usual rule.
func TestPoolMemoryIsNotExpandable(t *testing.T) {
	_, a, s, m := newOwnPool(t, "expandable_segments:True")
	p := mustMallocOn(t, a, 0, s, 19*mib)
	m.wantAsked(t, fmt.Sprintf("allocate 20971520 bytes on device 0, stream %v", s))
	snapshot, err := a.SnapshotPool(ownPool)
	must(t, err)
	got := snapshot.Segments[0]
	if got.Address != p || got.Expandable || len(got.Blocks) != 1 {
		t.Errorf("the segment is %+v", got)
	}
}

// TestPoolMemoryFails: an out-of-memory error, or a null pointer, is a lack of memory.
// Every other error is returned as it is.
func TestPoolMemoryFails(t *testing.T) {
	_, a, s, m := newOwnPool(t, "")
	request := spec.Request{Stream: s, Bytes: 30 * mib}

	m.fail = fmt.Errorf("the arena is full: %w", spec.ErrDriverOutOfMemory)
	_, err := a.Malloc(request)
	wantError[*spec.OutOfMemoryError](t, err, "30.00 MiB")

	m.null = true
	_, err = a.Malloc(request)
	wantError[*spec.OutOfMemoryError](t, err, "30.00 MiB")

	broken := errors.New("the arena is broken")
	m.fail = broken
	if _, err = a.Malloc(request); !errors.Is(err, broken) {
		t.Errorf("the error is %v, want %v", err, broken)
	}
	if got := current(t, a, 0, "num_ooms"); got != 2 {
		t.Errorf("num_ooms is %d", got)
	}

	// A segment that is not taken back stays.
	p := mustMallocOn(t, a, 0, s, 30*mib)
	must(t, a.Free(p))
	must(t, a.EndAllocateToPool(0, ownPool))
	must(t, a.ReleasePool(0, ownPool))
	must(t, a.ReleasePool(0, ownPool))
	m.fail = broken
	if err := a.EmptyCache(); !errors.Is(err, broken) {
		t.Errorf("the error is %v, want %v", err, broken)
	}
	if got := current(t, a, 0, "reserved_bytes.all.current"); got != 30*mib {
		t.Errorf("reserved_bytes is %d", got)
	}
	must(t, a.EmptyCache())
	if got := current(t, a, 0, "reserved_bytes.all.current"); got != 0 {
		t.Errorf("reserved_bytes is %d", got)
	}
}

// TestPoolGoneDuringMalloc: with release_lock_on_cudamalloc other callers can come
// between while memory is obtained. Here they release the pool and empty the cache. The
// pool stays until the request has its segment, and is erased when that is free.
func TestPoolGoneDuringMalloc(t *testing.T) {
	gpu, a, s, m := newOwnPool(t, "release_lock_on_cudamalloc:True")
	m.during = func() {
		must(t, a.EndAllocateToPool(0, ownPool))
		must(t, a.ReleasePool(0, ownPool))
		must(t, a.ReleasePool(0, ownPool))
		must(t, a.EmptyCache())
	}
	p := mustMallocOn(t, a, 0, s, 30*mib)
	snapshot, err := a.SnapshotPool(ownPool)
	must(t, err)
	if len(snapshot.Segments) != 1 || snapshot.Segments[0].Pool != ownPool {
		t.Errorf("the pool has %+v", snapshot.Segments)
	}
	must(t, a.Free(p))
	must(t, a.EmptyCache())
	if _, err := a.PoolUseCount(0, ownPool); err == nil {
		t.Error("the pool has not been forgotten")
	}
	wantNoLeaks(t, a, gpu)
}
