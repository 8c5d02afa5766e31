package alloc_test

import (
	"errors"
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
