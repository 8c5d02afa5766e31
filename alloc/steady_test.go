package alloc_test

import (
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestSteadyStateAllocatesNothing: once the caches are filled, no operation of a running
// program allocates on the Go heap, so the garbage collector has no part in its time.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, settings := range []string{"", "expandable_segments:True", "max_split_size_mb:100,roundup_power2_divisions:4"} {
		t.Run(settings, func(t *testing.T) {
			gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, 80*spec.GiB)})
			a := newAllocator(t, gpu, settings)
			stream, err := gpu.CreateStream(0)
			must(t, err)
			operations := map[string]func(){
				"pair of 512 B":   func() { must(t, a.Free(mustMalloc(t, a, 0, 512))) },
				"pair of 2 MiB":   func() { must(t, a.Free(mustMalloc(t, a, 0, 2*spec.MiB))) },
				"pair of 200 MiB": func() { must(t, a.Free(mustMalloc(t, a, 0, 200*spec.MiB))) },
				"churn":           churn(t, a, stream),
				"stats": func() {
					_, err := a.Stats(0)
					must(t, err)
				},
			}
			for name, operation := range operations {
				for range 20_000 {
					operation()
				}
				if n := testing.AllocsPerRun(1000, operation); n != 0 {
					t.Errorf("%s: %v allocations each", name, n)
				}
			}
		})
	}
}

// churn frees one of some live blocks of a stream and allocates another.
func churn(t *testing.T, a *alloc.Allocator, stream spec.Stream) func() {
	live := make([]spec.Ptr, 300)
	state := uint64(1)
	return func() {
		state = state*6364136223846793005 + 1442695040888963407
		at := state >> 33 % uint64(len(live))
		must(t, a.Free(live[at]))
		live[at] = mustMallocOn(t, a, 0, stream, 512<<(state>>45%14)+state>>53)
	}
}
