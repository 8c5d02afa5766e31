package alloc

import (
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// What the structures inside a device are like between two operations, where it cannot be seen from
// outside.

// newForTest makes an allocator for the fake GPU, and returns what must succeed.
func newForTest(t *testing.T, devices int) (*Allocator, *fakegpu.GPU, func(error)) {
	t.Helper()
	gpu := fakegpu.New(fakegpu.Config{Waits: fakegpu.WaitsDrain, Devices: fakegpu.Devices(devices, spec.GiB)})
	a, err := New(gpu, Options{})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	return a, gpu, must
}

// TestLessStream: streams are ordered by handle, and those of the same handle by device.
func TestLessStream(t *testing.T) {
	order := []spec.DeviceStream{{Device: 0, Stream: 1}, {Device: 1, Stream: 1}, {Device: 0, Stream: 2}, {Device: 1, Stream: 2}, {Device: 0, Stream: 3}}
	for i, s := range order {
		for j, o := range order {
			if lessStream(s, o) != (i < j) {
				t.Errorf("%v before %v: %v", s, o, lessStream(s, o))
			}
		}
	}
}

// TestNoEmptyQueues: no queue of events is empty between two operations, not after a failure
// either.
func TestNoEmptyQueues(t *testing.T) {
	a, gpu, must := newForTest(t, 1)
	release := map[string]func() error{
		"QueryEvent": func() error {
			p, err := a.Malloc(spec.Request{Bytes: 512})
			return errors.Join(err, a.Free(p))
		},
		"SynchronizeEvent": a.EmptyCache,
	}
	for _, call := range []string{"QueryEvent", "SynchronizeEvent"} {
		first, err := a.Malloc(spec.Request{Bytes: 512})
		must(err)
		second, err := a.Malloc(spec.Request{Bytes: 512})
		must(err)
		for _, p := range []spec.Ptr{first, second} {
			stream, err := gpu.CreateStream(0)
			must(err)
			must(a.RecordStream(p, 0, stream))
			must(a.Free(p))
		}
		must(gpu.FailCall(call, 2, errors.New("failure")))
		queues := &a.devices[0].cudaEvents
		if err := release[call](); err == nil || len(*queues) != 1 {
			t.Errorf("%s: there are %d queues after a failure in the second, want 1: %v", call, len(*queues), err)
		}
		must(release[call]())
		if len(*queues) != 0 {
			t.Errorf("%s: there are %d queues, want none", call, len(*queues))
		}
	}
}

// TestHasAllocatedDuringChange: while the table changes a pointer is looked up with the mutex.
func TestHasAllocatedDuringChange(t *testing.T) {
	a, _, must := newForTest(t, 2)
	p, err := a.Malloc(spec.Request{Bytes: 512})
	must(err)
	d := a.devices[0]
	table := &d.allocatedBlocks
	i := 0
	for table.keys[i].Load() != uint64(p) {
		i++
	}
	table.changes.Add(1)
	table.keys[i].Store(0)
	if !d.hasAllocated(p) {
		t.Error("the pointer was not found")
	}
	table.keys[i].Store(uint64(p))
	table.changes.Add(1)
}

// TestReadersOfGrowingTable: a reader finds a pointer that stays allocated, or is not certain,
// while the table grows. Here it is copied last, after many free slots.
func TestReadersOfGrowingTable(t *testing.T) {
	for range 15 {
		table := pointerTable{shared: true}
		for len(table.groups) < 1<<13 {
			table.growLocked()
		}
		fixed := spec.Ptr(512)
		for table.home(uint64(fixed)) < len(table.groups)*9/10 {
			fixed += 512
		}
		table.insertLocked(fixed, new(block))
		var begun, done atomic.Bool
		read := make(chan bool)
		go func() {
			lost := false
			for !done.Load() {
				found, certain := table.has(fixed)
				lost = lost || certain && !found
				begun.Store(true)
			}
			read <- lost
		}()
		for !begun.Load() {
			runtime.Gosched()
		}
		for range 3 {
			table.growLocked()
		}
		done.Store(true)
		if <-read {
			t.Fatal("a pointer that is allocated was not found")
		}
	}
}

// TestUncachedIsThere: of two callers that free uncached memory at once the second finds nothing to
// free.
func TestUncachedIsThere(t *testing.T) {
	var invalid *spec.InvalidPointerError
	if err := new(uncached).free(4096); !errors.As(err, &invalid) {
		t.Errorf("the error is %v", err)
	}
}

// TestNeighboursInOneClass walks over many blocks of one size, also if few are left of the first
// chunk.
func TestNeighboursInOneClass(t *testing.T) {
	var classes sizeClasses
	two := new(sizeClasses)
	last := freeBlock(512, 2)
	first := freeBlock(512, 1)
	two.insert(first)
	two.insert(last)
	if two.after(first) != last {
		t.Error("the second of two blocks was not found")
	}

	const n = 5 * chunkLimit
	var blocks []*block
	for i := range n {
		blocks = append(blocks, freeBlock(512, spec.Ptr(i+1)))
		classes.insert(blocks[i])
	}
	o, c := classOf(512)
	list := &classes.byOctave[o].classes[c]
	for {
		forward, backward := walkBothWays(&classes)
		if !slices.Equal(forward, blocks) || !slices.Equal(backward, blocks) {
			t.Fatalf("walking forward gives %d blocks, backward %d, there are %d", len(forward), len(backward), len(blocks))
		}
		if len(list.front) == 1 {
			return
		}
		classes.remove(blocks[0])
		blocks = blocks[1:]
	}
}

// TestInsertedTwice: whatever else is in the class, a block that is there is not inserted again.
func TestInsertedTwice(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 10, 40, 3 * chunkLimit} {
		for again := 1; again <= n; again++ {
			var classes sizeClasses
			for i := range n {
				classes.insert(freeBlock(512, spec.Ptr(i+1)))
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("block %d of %d was inserted again", again, n)
					}
				}()
				classes.insert(freeBlock(512, spec.Ptr(again)))
			}()
		}
	}
}
